"""Web pages: headings, text, lists, tables and code of the article, whose words trafilatura tells, without menus."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import trafilatura
from lxml import etree  # type: ignore[import-untyped]
from trafilatura.utils import load_html

from mudy.reading.document import BlockKind
from mudy.reading.formats import Reading, TextBuilder
from mudy.reading.formats.elements import ElementWalker, Piece

_SKIPPED_TAGS = "script style nav noscript template svg math iframe select button form footer head"
_BREAK_TAGS = """
address article blockquote body br center dd details div dl dt fieldset figcaption figure h1 h2 h3 h4 h5 h6 header
hr html li main ol p pre section summary table tbody td tfoot th thead tr ul
"""
_KINDS: dict[str, BlockKind] = {"li": "list", "dd": "list", "dt": "list", "td": "table", "th": "table", "pre": "code"}
_ANCHOR = re.compile("[¶#§\uf0c1\u200b\\s]{1,9}$")  # the sign at the end of a heading that links to it
_WORD = re.compile(r"[^\W\d_]+|\d+")
_KNOWN_SHARE = 0.6  # of the three words in a row of a block that are in the article
_MOSTLY_CODE = 0.7  # share of a page in <pre> from which the page is plain text
_SENTENCE = 12  # words
_FIRST_PIECES = 5  # of an article, among which its title may be once more


def read_html(builder: TextBuilder, data: bytes) -> Reading:
    pieces = add_html(builder, data)
    reading = builder.reading()
    code = sum(len(piece.text) for piece in pieces if piece.kind == "code")
    return Reading(reading.text) if code > _MOSTLY_CODE * len(reading.text) else reading


def add_html(builder: TextBuilder, data: bytes) -> list[Piece]:
    """Add the blocks of a page; these are returned."""
    page = trafilatura.bare_extraction(data, include_comments=False, favor_recall=True, with_metadata=True)
    tree = load_html(data)
    pieces = _pieces(tree) if tree is not None else []
    article = [*_of_article(pieces, page)] if page is not None else []
    if not article:
        article = [Piece(text, "prose", 0) for text in trafilatura.html2txt(data).split("\n")]
    title = _ANCHOR.sub("", getattr(page, "title", None) or "")
    headings = [piece for piece in article if piece.kind == "heading"]
    named = any(_words(title) == _words(heading.text) for heading in headings)
    if title and not named and sum(heading.level == 1 for heading in headings) != 1:
        builder.add(title, "title")
    for number, piece in enumerate(article):
        if number < _FIRST_PIECES and piece.text == title and piece.kind != "heading":
            continue
        builder.add(piece.text, piece.kind, piece.level)
    return article


def _of_article(pieces: list[Piece], page: Any) -> Iterator[Piece]:
    """Pieces with words of the article, what else is between them, and sentences right after them; with headings."""
    words = _words(page.text or "")
    known = {*zip(words, strict=True), *pairwise(words), *zip(words, words[1:], words[2:], strict=False)}
    numbers = [n for n, piece in enumerate(pieces) if piece.kind != "heading" and _is_known(piece, known)]
    first, last = (numbers[0], numbers[-1]) if numbers else (len(pieces), 0)
    headings: list[Piece] = []
    for number, piece in enumerate(pieces):
        if number > last and (piece.kind == "heading" or piece.menu):
            return
        if piece.kind == "heading":
            headings = [heading for heading in headings if heading.level < piece.level] + [piece]
        elif number >= first and not piece.menu and len(piece.text.split()) >= (1 if number <= last else _SENTENCE):
            yield from headings
            headings = []
            yield piece


def _is_known(piece: Piece, known: set[tuple[str, ...]]) -> bool:
    words = _words(piece.text)
    size = min(3, len(words))
    grams = [tuple(words[i : i + size]) for i in range(len(words) - size + 1)] if words else []
    return not piece.menu and sum(gram in known for gram in grams) >= max(1, _KNOWN_SHARE * len(grams))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


class PageWalker(ElementWalker):
    breaks = frozenset(_BREAK_TAGS.split())
    skipped = frozenset(_SKIPPED_TAGS.split())

    def is_skipped(self, tag: str, attributes: Mapping[str, str]) -> bool:
        return tag in self.skipped or attributes.get("role") == "navigation"

    def kind(self, tag: str, attributes: Mapping[str, str]) -> tuple[BlockKind | None, int]:
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            return "heading", int(tag[1])
        cited = attributes.get("type") == "cite" or "quote" in attributes.get("class", "").lower()
        if tag == "blockquote" and cited:  # another message, as mail programs mark it; many pages only indent with it
            return "quotation", 0
        return _KINDS.get(tag), 0


def _pieces(tree: Any) -> list[Piece]:
    walker = PageWalker()
    for event, element in etree.iterwalk(tree, events=("start", "end", "comment", "pi")):
        if event == "start":
            walker.start(element.tag, element.attrib)
            walker.text(element.text or "")
            continue
        if event == "end":
            walker.end(element.tag)
        walker.text(element.tail or "")
    walker.flush()
    return [p._replace(text=_ANCHOR.sub("", p.text)) if p.kind == "heading" else p for p in walker.pieces]
