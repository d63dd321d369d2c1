"""Wikitext of MediaWiki: its text without templates, references, pictures and categories."""

import re
from html import unescape

from mudy.reading.formats import TextBuilder, without

_HEADING = re.compile(r"(={1,6})([^=].{0,300})\1")
_REFERENCE = re.compile(r"<ref\b[^<>]{0,300}/>")
_CODE = re.compile(r"</?(?:source|syntaxhighlight|pre)\b[^<>]{0,300}>")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
_LINK = re.compile(r"\[\[(?:[^\[\]|]{0,300}\|)?([^\[\]|]{0,300})\]\]")
_OUTSIDE = re.compile(r"\[(?:https?:)?//[^\s\[\]]{1,2000} ?([^\[\]]{0,300})\]")
_QUOTES = re.compile(r"'{2,5}")
_KEPT = re.compile(
    r"\{\{(?:lang(?:-\w{2,3})?|nowrap|nobr|em|strong|abbr|transl)\|(?:[^{}|]{0,100}\|)?([^{}|]{1,200})\}\}"
)
_MARKS = re.compile(r"\{\{|\}\}|\{\||\|\}|\[\[(?:File|Image|Category|Datei|Bild|Kategorie|Fichier|Archivo):|\[\[|\]\]")
_ITEM = re.compile(r"[*#:;]{1,9}\s*")


def read_wikitext(builder: TextBuilder, text: str) -> None:
    text = without(text, "<!--", "-->")
    text = _KEPT.sub(r"\1", _REFERENCE.sub("", text))
    text = without(without(text, "<ref>", "</ref>"), "<ref ", "</ref>")
    for number, part in enumerate(_CODE.split(_without_templates(text))):
        if number % 2:
            builder.add(part, "code")
            continue
        for line in part.splitlines():
            if heading := _HEADING.fullmatch(line.strip()):
                builder.add(_plain(heading[2]), "heading", max(len(heading[1]) - 1, 1))
            elif item := _ITEM.match(line):
                builder.add(_plain(line[item.end() :]), "list")
            else:
                builder.add(_plain(line))


def _plain(line: str) -> str:
    line = _OUTSIDE.sub(r"\1", _LINK.sub(r"\1", _LINK.sub(r"\1", line)))
    return unescape(_TAG.sub("", _QUOTES.sub("", line)))


def _without_templates(text: str) -> str:
    """The text outside templates, tables, pictures and categories, which may hold one another; open ones stay."""
    opened: list[tuple[int, bool]] = []  # where each begins in the output, and whether it is left out
    parts: list[str] = []
    end = 0
    for mark in _MARKS.finditer(text):
        parts.append(text[end : mark.start()])
        end = mark.end()
        if mark[0] in ("}}", "|}", "]]") and opened:
            start, left_out = opened.pop()
            if left_out:
                del parts[start:]
                continue
        elif mark[0] not in ("}}", "|}", "]]"):
            opened.append((len(parts), mark[0] != "[["))
        parts.append(mark[0])
    return "".join(parts) + text[end:]
