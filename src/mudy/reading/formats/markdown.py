"""Markdown and Jupyter notebooks: their text without mark-up, pictures, the addresses of links, and outputs."""

import json
import re
from collections.abc import Sequence
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.token import Token

from mudy.errors import InputError
from mudy.reading.document import BlockKind
from mudy.reading.formats import Reading, TextBuilder, without

_LONGEST = 1_000_000  # characters; a longer file is taken as plain text
FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n")
_TITLE = re.compile(r"title\s{0,5}[:=]\s{0,5}(.*)", re.I)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,50}\]:?")
_FORMULA = re.compile(r"(?<![\w$])(?:\$\$[^$]{1,2000}\$\$|\$(?!\s)([^$\n]{1,300})(?<!\s)\$(?!\w))")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")
_PARAGRAPHS = re.compile(r"</?(?:p|div|h\d|br|tr|li|td|table|summary|details)\b[^<>]{0,2000}>", re.I)


def read_markdown(builder: TextBuilder, text: str) -> Reading:
    if len(text) > _LONGEST:
        return Reading(text)
    title, text = _front_matter(text)
    builder.add(title, "title")
    add_markdown(builder, text)
    return builder.reading()


def read_notebook(builder: TextBuilder, data: bytes) -> None:
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is a broken notebook: not JSON ({error})") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise InputError("is a broken notebook, or one of before 2014: its JSON is not an object with cells")
    for cell in filter(lambda cell: isinstance(cell, dict), cells):
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell.get("cell_type") == "code":
            builder.add(text, "code")
        else:
            add_markdown(builder, text)


def add_markdown(builder: TextBuilder, text: str) -> None:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inside: list[str] = []  # the blocks around a token
    row: list[str] = []
    for number, token in enumerate(tokens):
        name = token.type.removesuffix("_open").removesuffix("_close")
        if token.nesting:
            inside.append(name) if token.nesting > 0 else inside.pop()
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            builder.add(" | ".join(cell for cell in row if cell), "table")
        elif token.type in ("fence", "code_block"):
            builder.add(token.content, "code")
        elif token.type == "html_block":
            for part in _PARAGRAPHS.split(without(token.content, "<!--", "-->")):
                builder.add(_plain(_TAG.sub("", part)))
        elif token.type == "inline":
            words = _plain(_inline(token.children or ()))
            if "table" in inside:
                row.append(words)
            elif inside and inside[-1] == "heading":
                builder.add(words, "heading", int(tokens[number - 1].tag[1]))
            else:
                builder.add(words, _kind(inside, token.children or ()))


def _kind(inside: Sequence[str], children: Sequence[Token]) -> BlockKind:
    """What a paragraph is, by the blocks around it."""
    if "list_item" not in inside:
        return "prose"
    links = [child for child in children if child.type == "link_open"]
    written = [child for child in children if child.type == "text" and child.level == 0 and child.content.strip()]
    contents = links and not written and all(str(link.attrs.get("href", "")).startswith("#") for link in links)
    return "boilerplate" if contents else "list"  # a table of contents


def _inline(children: Sequence[Token]) -> str:
    """The words of a paragraph; inline code is one of them."""
    words = []
    for child in children:
        if child.type in ("text", "code_inline", "text_special"):
            words.append(child.content)
        elif child.type == "softbreak":
            words.append(" ")
        elif child.type == "hardbreak" or (child.type == "html_inline" and child.content.lower().startswith("<br")):
            words.append("\n")
    return "".join(words)


def _plain(text: str) -> str:
    """The text without the marks of footnotes; a formula stays if it is but a name."""
    text = _FORMULA.sub(lambda match: match[1] if match[1] and match[1].isalnum() else "", text)
    return unescape(_FOOTNOTE.sub("", text)).strip()


def _front_matter(text: str) -> tuple[str, str]:
    opening = FRONT_MATTER.match(text)
    closing = text.find(f"\n{opening[1]}", opening.end() - 1) if opening else -1
    if opening is None or closing < 0:
        return "", text
    lines = text[opening.end() : closing].splitlines()
    titles = [match[1].strip(" \"'") for line in lines if (match := _TITLE.match(line))]
    rest = text[closing + 1 :].partition("\n")[2]
    return (titles[0] if titles else ""), rest
