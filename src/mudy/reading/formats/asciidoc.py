"""AsciiDoc: its text without mark-up, attributes, macros and the addresses of links."""

import re

from mudy.reading.document import BlockKind
from mudy.reading.formats import TextBuilder

_HEADING = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
_ATTRIBUTE = re.compile(r":!?([\w-]{1,60})!?:(?:\s(.*))?")
_DROPPED = re.compile(
    r"//(?!/).*|(?:ifdef|ifndef|ifeval|endif|include|image|toc|video)::.*|\[[^\[\]]{0,300}\]|<<<|'''|\+|\.{2,3}$"
)
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,}|\|={3,}|={4,}|\*{4,}|_{4,}|--)(?:\w{0,20})?\s*")
_ITEM = re.compile(r"\s*(?:[*.-]{1,5}|\d{1,2}\.|<\d{1,2}>)\s+(.*)")
_TERM = re.compile(r"(\S.{0,200}?):{2,4}(?:\s(.*))?")
_MACRO = re.compile(r"(?:https?:|link:|xref:|mailto:|kbd:|btn:|footnote:)[^\s\[\]]{0,500}\[([^\[\]]{0,300})\]")
_PICTURE = re.compile(r"(?:image|icon):[^\s\[\]]{1,500}\[[^\[\]]{0,500}\]")
_REFERENCE = re.compile(r"<<[^<>,]{1,200}(?:,([^<>]{1,200}))?>>|\[\[[^\[\]]{1,200}\]\]")
_USED = re.compile(r"\{([\w-]{1,60})\}")
_MARKS = re.compile(r"(?<!\w)([*_`+#]{1,2})(\S(?:[^*_`+#\n]{0,300}\S)?)\1(?!\w)")
_KINDS: dict[str, BlockKind | None] = {"-": "code", ".": "code", "+": "code", "`": "code", "|": "table", "/": None}


def read_asciidoc(builder: TextBuilder, text: str) -> None:
    attributes: dict[str, str] = {}
    lines: list[str] = []  # of a paragraph or block
    fence = ""

    def flush(kind: BlockKind | None = "prose") -> None:
        text = "\n".join(lines) if kind == "code" else _inline(" ".join(lines), attributes)
        lines.clear()
        if kind is not None:
            builder.add(text, kind)

    for line in text.splitlines():
        delimiter = _DELIMITER.fullmatch(line)
        if fence:
            if delimiter and line.strip() == fence:
                flush(_KINDS[fence[0]])
                fence = ""
            elif fence[0] == "|":
                builder.add(_inline(line.lstrip("|"), attributes).replace("|", " | "), "table")
            else:
                lines.append(line)
        elif delimiter and delimiter[1][0] in _KINDS and delimiter[1] != "--":
            flush()
            fence = delimiter[1]
        elif match := _ATTRIBUTE.fullmatch(line):
            attributes[match[1]] = match[2] or ""
        elif delimiter or _DROPPED.fullmatch(line) or not line.strip():
            flush()
        elif match := _HEADING.fullmatch(line):
            flush()
            builder.add(_inline(match[2], attributes), "heading", len(match[1]))
        elif match := _ITEM.fullmatch(line) or _TERM.fullmatch(line):
            flush()
            builder.add(_inline(" ".join(filter(None, match.groups())), attributes), "list")
        elif line[0] == " " and not lines:
            builder.add(line, "code")
        else:
            lines.append(line.strip().removesuffix(" +").lstrip("."))
    flush(_KINDS[fence[0]] if fence else "prose")


def _inline(text: str, attributes: dict[str, str]) -> str:
    """A paragraph without mark-up; an attribute stands for its value unless that is an address."""
    for _ in range(5):  # values have attributes of their own
        text = _USED.sub(lambda match: attributes.get(match[1], match[1])[:500], text)
    text = _PICTURE.sub("", text)
    text = _REFERENCE.sub(lambda match: match[1] or "", _MACRO.sub(lambda match: match[1].rstrip("^"), text))
    return _MARKS.sub(r"\2", _MARKS.sub(r"\2", text))
