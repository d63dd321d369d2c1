"""PDF: the text of every page as PDFium finds it, without running heads, and with words made whole at line ends.

A running head, a footer or a page number is a line that has the same words, place and size on at least three pages,
none further than two pages from the next (left and right pages may have heads of their own), and whose numbers stay the
same or count the pages. It is in the margin, with at most two other such lines between it and the edge of the text.
"""

import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile
from math import hypot

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage

from mudy.errors import InputError
from mudy.reading.document import Block, Span
from mudy.reading.formats import Limits, Reading, TextBuilder
from mudy.reading.structure import NUMBERED, cut_to, finished

_MIN_PAGES = 3  # on which a line must stand
_MAX_GAP = 2  # pages from one to the next
_MAX_LINES = 3  # lines of this kind at each edge of a page's text
EDGE_LINES = _MAX_LINES + 1
MARGIN = 0.15  # of a page's height at its top and bottom, where such lines stand
_PLACE, _SIZE = 3.0, 1.0  # points by which a line may be off in place and size
_NUMBER = re.compile(r"\d+")
LONGEST_NUMBER = 9  # digits; a longer one counts no pages


@dataclass(frozen=True, slots=True)
class Line:
    """A line near the edge of a page's text."""

    page: int
    start: int  # in the page's text
    end: int
    text: str
    bottom: float  # points from the bottom of the page
    size: float  # of its letters, in points
    in_margin: bool

    @property
    def key(self) -> str:
        """Its words, with numbers as one sign."""
        return _NUMBER.sub("#", " ".join(self.text.split())).casefold()

    @property
    def numbers(self) -> list[int]:
        return [int(number[:LONGEST_NUMBER]) for number in _NUMBER.findall(self.text)]


@dataclass(frozen=True, slots=True)
class Look:
    text: str
    size: float  # points
    bold: bool
    fixed: bool  # whether its font is one of code


Edges = tuple[Sequence[Line], Sequence[Line]]  # the first and the last lines of a page, each from the edge inwards
_Page = tuple[str, Edges, list[Look]]  # its text, the lines at its edges, and how all its lines look

BETWEEN_PAGES = "\n\n"
LINE = re.compile(r"[^\r\n]+")
# A hyphen at a line's end: written out before the break, or as the mark that PDFium leaves in the place of both.
CUT = r"(?:[-\u2010\u00ad]\n|[\ufffe\x02])(?=[a-zà-ÿ])"
_WORD = r"\w+(?:-\w+)*"
WORDS, CUTS = re.compile(_WORD), re.compile(CUT)
CUT_WORD = re.compile(rf"{_WORD}(?:{CUT}{_WORD})*")  # any word, cut or not: so no letter is looked at twice


def read_pdf(builder: TextBuilder, data: bytes) -> Reading:
    read = _pages(data, builder.limits)
    pages = [text for text, _, _ in read]
    if not any(page.strip() for page in pages):
        raise InputError(f"holds no text on {len(read):,} pages: perhaps scans, which an OCR program can make readable")
    body = _without(pages, repeated([edges for _, edges, _ in read]))
    pages = body if any(page.strip() for page in body) else _without(pages, ())
    known = {word.lower() for page in pages for word in WORDS.findall(page)}
    whole = [clean(mended(page, known)) + BETWEEN_PAGES for page in pages]
    starts = tuple(accumulate(map(len, whole[:-1]), initial=0))
    text = "".join(whole).rstrip()
    marked = blocks(whole, starts, [lines for _, _, lines in read])
    return Reading(text, starts, finished(text, cut_to(len(text), marked)))


def _pages(data: bytes, limits: Limits) -> list[_Page]:
    pages: list[_Page] = []
    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        locked = "password" in str(error).lower()
        reason = "is an encrypted PDF; take its password off first" if locked else "is a broken PDF, or none"
        raise InputError(reason) from None
    characters = 0
    with closing(document):
        for number in range(len(document)):
            pages.append(_page(document, number))
            characters += len(pages[-1][0]) + len(BETWEEN_PAGES)
            if characters > limits.characters:
                raise InputError(limits.too_long())
    return pages


def _page(document: PdfDocument, number: int) -> _Page:
    """The text of one page, the lines at its edges, and how all lines look; none of a page that is broken."""
    try:
        page = document[number]
        textpage = page.get_textpage()
        text = str(textpage.get_text_range())
    except (PdfiumError, RecursionError, AssertionError):
        return "", ([], []), []
    filled = [match.span() for match in LINE.finditer(text) if not match[0].isspace()]
    first, last = filled[:EDGE_LINES], filled[: -EDGE_LINES - 1 : -1]  # each from the edge inwards
    lines = {span: _line(page, textpage, number, text, *span) for span in (*first, *last)}
    edges = [lines[span] for span in first], [lines[span] for span in last]
    return text, edges, list(looks(textpage, text, LINE.finditer(text)))


def _line(page: PdfPage, textpage: PdfTextPage, number: int, text: str, start: int, end: int) -> Line:
    """A line with its place on the page, which is that of its first letter."""
    letter = start + len(text[start:end]) - len(text[start:end].lstrip())
    units = len(text[:letter].encode("utf-16-le", "surrogatepass")) // 2
    index = pdfium.FPDFText_GetCharIndexFromTextIndex(textpage.raw, units)
    try:
        _, bottom, _, top = textpage.get_charbox(index, loose=True)
        _, lowest, _, highest = page.get_bbox()
    except PdfiumError:
        return Line(number, start, end, text[start:end], 0, 0, in_margin=False)
    margin = MARGIN * (highest - lowest)
    in_margin = bottom < lowest + margin or top > highest - margin
    return Line(number, start, end, text[start:end], bottom, top - bottom, in_margin)


def _without(pages: Sequence[str], lines: Iterable[Line]) -> list[str]:
    spans: dict[int, set[tuple[int, int]]] = {}
    for line in lines:
        spans.setdefault(line.page, set()).add((line.start, line.end))
    whole = []
    for number, page in enumerate(pages):
        cut = sorted(spans.get(number, ()))
        starts, ends = [0, *(end for _, end in cut)], [*(start for start, _ in cut), len(page)]
        kept = (page[start:end].strip("\r\n") if cut else page for start, end in zip(starts, ends, strict=True))
        text = "\n".join(part for part in kept if part)
        whole.append(text.replace("\r\n", "\n").replace("\r", "\n").translate(LIGATURES))
    return whole


def mended(page: str, known: set[str]) -> str:
    """A page with its cut words whole: with their hyphen if the document writes them so elsewhere, else without."""
    return CUT_WORD.sub(lambda match: _whole(CUTS.split(match[0]), known), page)


def _whole(pieces: Sequence[str], known: set[str]) -> str:
    word = list(pieces[:1])
    for left, right in pairwise(pieces):
        joined, hyphened = (left + right).lower(), f"{left}-{right}".lower()
        word.append(f"-{right}" if hyphened in known and joined not in known else right)
    return "".join(word)


def repeated(pages: Sequence[Edges]) -> list[Line]:
    """The lines that come again from page to page, in the order of pages."""
    again = {
        line
        for edge in zip(*pages, strict=True)
        for chain in _chains(line for lines in edge for line in lines)
        if len(chain) >= _MIN_PAGES
        for line in chain
    }
    rows = [list(takewhile(again.__contains__, lines)) for edges in pages for lines in edges]
    heads = (row for row in rows if len(row) <= _MAX_LINES)
    return [line for row in heads for line in takewhile(lambda line: line.in_margin, row)]


def _chains(lines: Iterable[Line]) -> list[list[Line]]:
    chains: list[list[Line]] = []
    recent: dict[str, list[list[Line]]] = {}  # by key, those that may go on
    for line in lines:
        going_on = [chain for chain in recent.get(line.key, ()) if line.page - chain[-1].page <= _MAX_GAP]
        chain = next((chain for chain in going_on if _follows(chain[-1], line)), None)
        if chain is None:
            chain = []
            chains.append(chain)
            going_on.append(chain)
        chain.append(line)
        recent[line.key] = going_on
    return chains


def _follows(before: Line, line: Line) -> bool:
    """Whether a line is the same as one of an earlier page, but for a number that counts the pages."""
    pages = line.page - before.page
    return (
        pages > 0
        and abs(line.bottom - before.bottom) <= _PLACE
        and abs(line.size - before.size) <= _SIZE
        and all(new - old in (0, pages) for old, new in zip(before.numbers, line.numbers, strict=True))
    )


# -- Headings and code, told by the size and the font of lines --------------------------------------------------------

_LARGER = 1.12  # than the text: the size of a heading
_SLIGHTLY = 0.97  # the least size of a bold heading with a number or in capitals
_TITLE, _NEARLY = 1.25, 0.85  # than the text, and of the largest line on the first page: the size of a title
_LONGEST = 150  # characters of a line of a heading
_MOST_HEADINGS = 0.5  # of a text; more is no text with headings
_WINDOW = 2000  # characters in which a line is looked for
_FIXED_PITCH, _NAME_BYTES = 1, 100
_BOLD, _FIXED = re.compile(rb"bold|black|bx\d|heavy", re.I), re.compile(rb"courier|mono|typewriter|cmtt|consol", re.I)
_LETTERS = re.compile(r"[^\W\d_]{3}|[\u2e80-\uffdc]{2}")
_SERIES = re.compile(r"\bjournal\b|\bproceedings\b|\bvol\.|\bissn\b|preprint", re.I)  # above a title
LIGATURES = str.maketrans(  # also where a font of LaTeX does not say what its signs are
    dict(
        zip("ﬀﬁﬂﬃﬄ\x1b\x1c\x1d\x1e\x1f\x10\x11\x15\x16", (*("ff", "fi", "fl", "ffi", "ffl") * 2, *"“”–—"), strict=True)
    )
)
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
LEADERS = re.compile(r"(?:\. ?){5}")


def looks(textpage: PdfTextPage, text: str, lines: Iterator[re.Match[str]]) -> Iterator[Look]:
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


def _look(textpage: PdfTextPage, at: int) -> tuple[float, bool, bool]:
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
    if len(look.text) > _LONGEST or not _LETTERS.search(look.text) or look.text.endswith((",", ";")):
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
