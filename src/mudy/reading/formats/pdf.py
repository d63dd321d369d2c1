"""PDF: the text of every page as PDFium finds it, without running heads, and with words made whole at line ends.

A running head, a footer or a page number is a line that has the same words, place and size on at least three pages,
none further than two pages from the next (left and right pages may have heads of their own), and whose numbers stay the
same or count the pages. It is among the first or last three lines of its page, in the margin, and only lines of this
kind stand between it and the edge of the text. Where more than three lines in a row come again, the text itself does,
and stays.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

import pypdfium2
import pypdfium2.raw as pdfium

from mudy.errors import InputError
from mudy.reading.formats import Limits, Reading, TextBuilder
from mudy.reading.formats.pdf_headings import LIGATURES, Look, blocks, clean, looks
from mudy.reading.structure import cut_to, finished

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
        raise InputError(
            f"holds no text on {len(pages):,} pages: perhaps scans, which an OCR program can make readable"
        )
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
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
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


def _page(document: pypdfium2.PdfDocument, number: int) -> _Page:
    """The text of one page, the lines at its edges, and how all lines look; none of a page that is broken."""
    try:
        page = document[number]
        textpage = page.get_textpage()
        text = str(textpage.get_text_range())
    except (pypdfium2.PdfiumError, RecursionError, AssertionError):
        return "", ([], []), []
    filled = [match.span() for match in LINE.finditer(text) if not match[0].isspace()]
    first, last = filled[:EDGE_LINES], filled[: -EDGE_LINES - 1 : -1]  # each from the edge inwards
    lines = {span: _line(page, textpage, number, text, *span) for span in (*first, *last)}
    edges = [lines[span] for span in first], [lines[span] for span in last]
    return text, edges, list(looks(textpage, text, LINE.finditer(text)))


def _line(
    page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, number: int, text: str, start: int, end: int
) -> Line:
    """A line with its place on the page, which is that of its first letter."""
    letter = start + len(text[start:end]) - len(text[start:end].lstrip())
    units = len(text[:letter].encode("utf-16-le", "surrogatepass")) // 2
    try:
        _, bottom, _, top = textpage.get_charbox(
            pdfium.FPDFText_GetCharIndexFromTextIndex(textpage.raw, units), loose=True
        )
        _, lowest, _, highest = page.get_bbox()
    except pypdfium2.PdfiumError:
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


# -- Running heads ----------------------------------------------------------------------------------------------------


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
