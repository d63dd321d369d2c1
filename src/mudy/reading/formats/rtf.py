"""RTF: the text of its paragraphs; headings by their outline level."""

import re

from mudy.reading.document import BlockKind
from mudy.reading.formats import TextBuilder

_TOKEN = re.compile(
    rb"\\(?P<word>[a-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<sign>[^a-z'])|(?P<brace>[{}])"
    rb"|[\r\n]+|(?P<text>[^\\{}\r\n]{1,10000})"
)
_SKIPPED = b"fonttbl colortbl stylesheet info pict object fldinst themedata".split()
_SIGNS = {b"tab": "\t", b"line": "\n", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”"}
_SIGNS |= {b"emdash": "—", b"endash": "–", b"bullet": "•", b"cell": " | ", b"~": " ", b"-": "", b"_": "-"}


def read_rtf(builder: TextBuilder, data: bytes) -> None:
    """The text of a document, without fonts, styles, pictures, headers and footers."""
    page = re.search(rb"\\ansicpg(\d{3,5})", data[:2000])
    encoding = f"cp{page[1].decode()}" if page else "cp1252"
    groups: list[tuple[bool, int]] = []  # of those around this place: whether skipped, and characters after \u
    skipped, fallback, left_out, level = False, 1, 0, 0
    paragraph: list[str] = []
    for token in _TOKEN.finditer(data):
        word, sign = token["word"], token["sign"]
        text = ""
        if token["brace"] == b"{":
            groups.append((skipped, fallback))
        elif token["brace"] == b"}":
            skipped, fallback = groups.pop() if groups else (False, 1)
        elif sign == b"*" or word in _SKIPPED or (word or b"").startswith((b"header", b"footer")):
            skipped = True
        elif word == b"uc":
            fallback = int(token["number"] or 1)
        elif word == b"u":
            text, left_out = chr(int(token["number"] or 63) % 65536), fallback
        elif word == b"outlinelevel":
            level = min(int(token["number"] or 0) + 1, 6)
        elif word == b"pard":
            level = 0
        elif word in (b"par", b"sect", b"page", b"row"):
            kind: BlockKind = "heading" if level in range(1, 7) else "prose"
            builder.add("".join(paragraph), kind, level if kind == "heading" else 0)
            paragraph = []
        elif token["hex"] or token["text"]:
            raw = bytes.fromhex(token["hex"].decode()) if token["hex"] else token["text"]
            text, left_out = raw[left_out:].decode(encoding, "replace"), max(left_out - len(raw), 0)
        else:
            text = _SIGNS.get(word or sign or b"", "" if word else (sign or b"").decode("latin-1"))
        if text and not skipped:
            paragraph.append(text)
    builder.add("".join(paragraph))
