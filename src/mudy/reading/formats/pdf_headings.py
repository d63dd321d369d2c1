"""Headings and code in a PDF, told by the size and the font of lines: a PDF has no other structure."""

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot

import pypdfium2
import pypdfium2.raw as pdfium

from mudy.reading.document import Block, Span
from mudy.reading.structure import NUMBERED

_LARGER = 1.12  # than the text: the size of a heading
_SLIGHTLY = 0.97  # the least size of a bold heading with a number or in capitals
_TITLE, _NEARLY = 1.25, 0.85  # than the text, and of the largest line on the first page: the size of a title
_LONGEST = 150  # characters of a line of a heading
_MOST_HEADINGS = 0.5  # of a text; more is no text with headings
_WINDOW = 2000  # characters in which a line is looked for
_FIXED_PITCH, _NAME_BYTES = 1, 100
_BOLD, _FIXED = re.compile(rb"bold|black|bx\d|heavy", re.I), re.compile(rb"courier|mono|typewriter|cmtt|consol", re.I)
_WORD = re.compile(r"[^\W\d_]{3}|[\u2e80-\uffdc]{2}")
_SERIES = re.compile(r"\bjournal\b|\bproceedings\b|\bvol\.|\bissn\b|preprint", re.I)  # above a title
LIGATURES = str.maketrans(  # also where a font of LaTeX does not say what its signs are
    dict(
        zip("ﬀﬁﬂﬃﬄ\x1b\x1c\x1d\x1e\x1f\x10\x11\x15\x16", (*("ff", "fi", "fl", "ffi", "ffl") * 2, *"“”–—"), strict=True)
    )
)
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
LEADERS = re.compile(r"(?:\. ?){5}")


@dataclass(frozen=True, slots=True)
class Look:
    text: str
    size: float  # points
    bold: bool
    fixed: bool  # whether its font is one of code


def looks(textpage: pypdfium2.PdfTextPage, text: str, lines: Iterator[re.Match[str]]) -> Iterator[Look]:
    """The lines of a page with letters, as their first, middle and last characters look."""
    if len(text.encode("utf-16-le", "surrogatepass")) != 2 * len(text):
        return  # PDFium counts other units, and no heading is worth the detour
    for line in lines:
        words = line[0].strip()
        if words:
            first = line.start() + line[0].index(words[0])
            middle = words.find(" ", len(words) // 2) + 1  # 0 if there is none
            seen = [_look(textpage, first + at) for at in (0, middle, len(words) - 1)]
            sizes = sorted(size for size, _, _ in seen)
            text = clean(words.translate(LIGATURES))
            yield Look(text, sizes[1], all(bold for _, bold, _ in seen), all(fixed for _, _, fixed in seen))


def clean(text: str) -> str:
    return UNWANTED.sub(" ", text).rstrip()


def _look(textpage: pypdfium2.PdfTextPage, at: int) -> tuple[float, bool, bool]:
    index = pdfium.FPDFText_GetCharIndexFromTextIndex(textpage.raw, at)
    flags, name, matrix = ctypes.c_int(), ctypes.create_string_buffer(_NAME_BYTES), pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(textpage.raw, index, matrix)
    pdfium.FPDFText_GetFontInfo(textpage.raw, index, name, _NAME_BYTES, ctypes.byref(flags))
    size = pdfium.FPDFText_GetFontSize(textpage.raw, index) * hypot(matrix.c, matrix.d)
    return size, bool(_BOLD.search(name.value)), bool(flags.value & _FIXED_PITCH or _FIXED.search(name.value))


def blocks(pages: Sequence[str], starts: Sequence[int], lines: Sequence[Sequence[Look]]) -> list[Block]:
    """The headings, the code and the tables of contents of pages, at their places in the whole text."""
    sizes = Counter[float]()
    for look in (look for page in lines for look in page if not look.fixed):
        sizes[round(look.size, 0)] += len(look.text)
    if not sizes:
        return []
    body = sizes.most_common(1)[0][0]
    found: list[tuple[Block, Look]] = []
    for page, start, page_lines in zip(pages, starts, lines, strict=True):
        found += _on_page(page, start, page_lines, body)
    headings = [(block, look) for block, look in found if block.kind == "heading"]
    if sum(len(look.text) for _, look in headings) > _MOST_HEADINGS * sum(map(len, pages)):
        found = [(block, look) for block, look in found if block.kind != "heading"]
    return _merged(found, body)


def _on_page(page: str, start: int, lines: Sequence[Look], body: float) -> Iterator[tuple[Block, Look]]:
    position = 0
    for look in lines:
        at = page.find(look.text, position, position + len(look.text) + _WINDOW)
        if at < 0:
            continue
        position = at + len(look.text)
        span = Span(start + at, start + position)
        if LEADERS.search(look.text):
            yield Block(span, "boilerplate"), look
        elif look.fixed:
            yield Block(span, "code"), look
        elif _is_heading(look, body):
            yield Block(span, "heading"), look


def _is_heading(look: Look, body: float) -> bool:
    if len(look.text) > _LONGEST or not _WORD.search(look.text) or look.text.endswith((",", ";")):
        return False
    marked = bool(NUMBERED.fullmatch(look.text)) or (look.text.isupper() and len(look.text) > 4)
    larger = look.size >= _LARGER * body
    bold = look.size >= _SLIGHTLY * body and marked and (look.bold or look.size > 1.05 * body)
    return larger or (bold and not look.text.endswith("."))


def _merged(found: list[tuple[Block, Look]], body: float) -> list[Block]:
    """Blocks with the lines of one heading or of one program joined; the largest on the first page is the title."""
    sizes = sorted({round(look.size) for block, look in found if block.kind == "heading"}, reverse=True)
    merged: list[tuple[Block, Look]] = []
    for block, look in found:
        last, above = merged[-1] if merged else (None, look)
        level = min(sizes.index(round(look.size)) + 1, 6) if block.kind == "heading" else 0
        near = last is not None and block.span.start - last.span.end <= 2 and block.kind == last.kind
        near = near and not NUMBERED.fullmatch(look.text)
        if near and last is not None and (level == last.level or abs(above.size - look.size) < 0.5):
            merged[-1] = (Block(Span(last.span.start, block.span.end), last.kind, last.level), above)
        else:
            merged.append((Block(block.span, block.kind, level), look))
    first = [
        (block, look)
        for block, look in merged[:20]
        if block.kind == "heading" and block.span.start < _WINDOW and not _SERIES.search(look.text)
    ]
    largest = max((look.size for _, look in first), default=0)
    title = next((b for b, look in first if look.size >= max(_NEARLY * largest, _TITLE * body)), None)
    return [Block(b.span, "title", b.level) if b is title else b for b, _ in merged]
