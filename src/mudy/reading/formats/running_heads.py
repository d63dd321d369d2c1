"""Running heads, footers and page numbers: lines at the edges of pages that come again from page to page.

Such a line has the same words, place and size on at least three pages, none further than two pages from the next (left
and right pages may have heads of their own), and its numbers stay the same or count the pages. It is among the first or
last three lines of its page, in the margin, and only lines of this kind stand between it and the edge of the text.
Where more than three lines in a row come again, the text itself does, and stays.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

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
