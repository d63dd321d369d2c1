"""A long text -> the sentences of it that hold what was found."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from mudy.extraction.results import Result
from mudy.reading.document import Span

# An explanation knows no tagger, so sentences are cut plainly here: it is for the eye, and no score depends on it.
GAP = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+|(?<=[。！？])|\n\s*\n")
REACH = 300  # characters at most on each side of a phrase, where no sentence ends


def passages(text: str, spans: Iterable[Span]) -> list[Span]:
    """The sentences around some spans, in order, joined where nothing but white space lies between them."""
    gaps = [match.span() for match in GAP.finditer(text)]
    starts, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(text)]
    joined: list[Span] = []
    for found in sorted(_around(text, span, starts, ends) for span in spans):
        if joined and not text[joined[-1].end : found.start].strip():
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, found.end))
        else:
            joined.append(found)
    return joined


def _around(text: str, span: Span, starts: list[int], ends: list[int]) -> Span:
    start = starts[bisect_right(starts, span.start) - 1]
    end = max(span.end, ends[min(bisect_left(ends, span.end), len(ends) - 1)])
    if span.start - start > REACH:
        start = _word_after(text, span.start - REACH, span.start)
    if end - span.end > REACH:
        end = _word_before(text, span.end + REACH, span.end)
    return Span(start, end)


def _word_after(text: str, position: int, limit: int) -> int:
    """Where the next word begins, but not beyond a limit."""
    blank = re.compile(r"\s+").search(text, position, limit)
    return blank.end() if blank else position


def _word_before(text: str, position: int, limit: int) -> int:
    """Where the last word ends, but not before a limit."""
    kept = text[limit:position].rstrip()
    end = max(kept.rfind(" "), kept.rfind("\n"))
    return limit + end if end > 0 else position


def shown(text: str, results: Iterable[Result], top_n: int | None, longest: int) -> list[Span]:
    """All of a text; of one that is longer, the sentences where a method's best phrases have their best places."""
    if len(text) <= longest:
        return [Span(0, len(text))]
    best = [phrase.occurrences[0] for result in results for phrase in result.keyphrases[:top_n]]
    return passages(text, [Span(occurrence.start, occurrence.end) for occurrence in best]) or [Span(0, 0)]


def beginning(text: str, longest: int) -> Span:
    """All of a text, or of a long one as many sentences as fit; where they are very long, as many words."""
    if len(text) <= longest:
        return Span(0, len(text))
    ends = [match.start() for match in GAP.finditer(text, 0, longest)]
    if ends and ends[-1] > longest // 2:
        return Span(0, ends[-1])
    return Span(0, _word_before(text, longest, 0))
