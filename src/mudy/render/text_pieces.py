"""A text with what was found in it -> flat pieces, one after another, as every picture draws them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise

from mudy.extraction.explanation import Explanation, heat
from mudy.extraction.results import Keyphrase, Result, ScoredOccurrence
from mudy.reading.document import Span


@dataclass(frozen=True, slots=True)
class Place:
    """One occurrence of one phrase, and how hot it is among all of its method."""

    phrase: Keyphrase
    occurrence: ScoredOccurrence
    heat: float  # 0 to 1

    @property
    def span(self) -> Span:
        return Span(self.occurrence.start, self.occurrence.end)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that looks the same throughout."""

    span: Span
    place: Place | None  # the hottest that covers it
    gold: bool


def places(result: Result) -> list[Place]:
    """Every occurrence of every phrase; those of the best phrase first."""
    pairs = [(phrase, occurrence) for phrase in result.keyphrases for occurrence in phrase.occurrences]
    shares = heat([occurrence.score for _, occurrence in pairs])
    return [Place(*pair, share) for pair, share in zip(pairs, shares, strict=True)]


def coloured_pieces(explanation: Explanation, result: Result) -> list[Piece]:
    """The whole text as one of its methods sees it."""
    gold = [span for phrase in explanation.gold for span in phrase.spans]
    return pieces(len(explanation.text), places(result), gold)


def pieces(length: int, found: Sequence[Place], gold: Iterable[Span] = ()) -> list[Piece]:
    """A text of some length, cut where an occurrence or a gold phrase begins or ends: nothing twice, nothing left out.

    Where occurrences overlap the hottest is on top, and of equals the one of the better rank.
    """
    right = sorted(gold)
    coming = sorted(range(len(found)), key=lambda i: found[i].span, reverse=True)  # the next one last
    borders = {0, length, *_borders(place.span for place in found), *_borders(right)}
    covering: list[tuple[float, int, int]] = []  # a heap, the hottest first; what has ended leaves when it is on top
    cut: list[Piece] = []
    golden = 0  # where the gold phrases that have begun end
    right.reverse()
    for start, end in pairwise(sorted(borders)):
        while coming and found[coming[-1]].span.start <= start:
            index = coming.pop()
            heappush(covering, (-found[index].heat, found[index].phrase.rank, index))
        while covering and found[covering[0][-1]].span.end <= start:
            heappop(covering)
        while right and right[-1].start <= start:
            golden = max(golden, right.pop().end)
        _add(cut, Piece(Span(start, end), found[covering[0][-1]] if covering else None, start < golden))
    return cut


def _borders(spans: Iterable[Span]) -> Iterable[int]:
    return (border for span in spans for border in (span.start, span.end))


def _add(cut: list[Piece], piece: Piece) -> None:
    """A piece that looks like the one before it makes that one longer."""
    if cut and cut[-1].place is piece.place and cut[-1].gold == piece.gold:
        cut[-1] = replace(cut[-1], span=Span(cut[-1].span.start, piece.span.end))
    else:
        cut.append(piece)


def within(cut: Sequence[Piece], span: Span) -> list[Piece]:
    """The pieces of one part of a text."""
    first = max(0, bisect_right(cut, span.start, key=_start) - 1)
    some = cut[first : bisect_left(cut, span.end, key=_start)]
    inside = [Span(max(piece.span.start, span.start), min(piece.span.end, span.end)) for piece in some]
    return [replace(p, span=own) for p, own in zip(some, inside, strict=True) if own.start < own.end]


def _start(piece: Piece) -> int:
    return piece.span.start
