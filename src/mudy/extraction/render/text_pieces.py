"""What every view of an explanation shows: the text in pieces of one colour, its best passages, and the ranked list."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from mudy.extraction.explanation import Explanation, heat
from mudy.extraction.ranking import stem_key
from mudy.extraction.results import Keyphrase, Result, ScoredOccurrence
from mudy.reading.document import Span

STEPS = 8  # colours, from pale to glowing, that every view shares

# Explanations have no tagger, so sentences are split by a regular expression: for display only, no score depends on it.
GAP = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+|(?<=[。！？])|\n\s*\n")
REACH = 300  # characters at most on each side of a phrase, where no sentence ends
JOINERS = "\u200c\u200d"  # hold letters and emoji together or apart
REPLACED = "\ufffd"


def sanitized(text: str) -> str:
    """The text, character for character, with nothing that moves a cursor, changes colours or reverses the direction.

    Line feeds and tabs stay; other white space becomes a space, and so does a carriage return before a line feed.
    """
    return "".join(map(_plain, text, text[1:] + " "))


def _plain(character: str, following: str) -> str:
    if character.isprintable() or character in "\n\t" or character in JOINERS:
        return character
    if character == "\r":
        return " " if following == "\n" else "\n"
    return " " if character.isspace() and character >= " " else REPLACED


@dataclass(frozen=True, slots=True)
class Mark:
    """One occurrence of a phrase, and its heat: the share of the method's occurrences that score lower."""

    phrase: Keyphrase
    occurrence: ScoredOccurrence
    heat: float  # 0 to 1

    @property
    def span(self) -> Span:
        return Span(self.occurrence.start, self.occurrence.end)

    @property
    def step(self) -> int:
        return min(STEPS - 1, int(self.heat * STEPS))


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that looks the same throughout."""

    span: Span
    mark: Mark | None  # the hottest that covers it
    gold: bool


def marks(result: Result) -> list[Mark]:
    """Every occurrence of every phrase; those of the best phrase first."""
    pairs = [(phrase, occurrence) for phrase in result.keyphrases for occurrence in phrase.occurrences]
    shares = heat([occurrence.score for _, occurrence in pairs])
    return [Mark(*pair, share) for pair, share in zip(pairs, shares, strict=True)]


def coloured_pieces(explanation: Explanation, result: Result, top_n: int | None = None) -> list[Piece]:
    """The whole text; only occurrences of the first `top_n` phrases have a colour, by their heat among all."""
    gold = [span for phrase in explanation.gold for span in phrase.spans]
    listed = [mark for mark in marks(result) if top_n is None or mark.phrase.rank <= top_n]
    return pieces(len(explanation.text), listed, gold)


def pieces(length: int, marks: Sequence[Mark], gold: Iterable[Span] = ()) -> list[Piece]:
    """A text of some length, cut where an occurrence or a gold phrase begins or ends: nothing twice, nothing left out.

    Where occurrences overlap the hottest is on top, and of equals the one of the better rank.
    """
    gold = list(gold)
    spans = [*(mark.span for mark in marks), *gold]
    borders = sorted({0, length, *(border for span in spans for border in (span.start, span.end))})
    top: list[Mark | None] = [None] * len(borders)  # of what lies between a border and the next
    in_gold = [False] * len(borders)
    for mark in sorted(marks, key=lambda mark: (-mark.heat, mark.phrase.rank)):
        for index in _between(borders, mark.span):
            top[index] = top[index] or mark
    for span in gold:
        for index in _between(borders, span):
            in_gold[index] = True
    alike = groupby(range(len(borders) - 1), key=lambda index: (id(top[index]), in_gold[index]))
    runs = [list(run) for _, run in alike]
    return [Piece(Span(borders[run[0]], borders[run[-1] + 1]), top[run[0]], in_gold[run[0]]) for run in runs]


def _between(borders: list[int], span: Span) -> range:
    return range(bisect_left(borders, span.start), bisect_left(borders, span.end))


def within(cut: Sequence[Piece], span: Span) -> list[Piece]:
    first = max(0, bisect_right(cut, span.start, key=lambda piece: piece.span.start) - 1)
    some = cut[first : bisect_left(cut, span.end, key=lambda piece: piece.span.start)]
    clipped = [replace(p, span=Span(max(p.span.start, span.start), min(p.span.end, span.end))) for p in some]
    return [piece for piece in clipped if piece.span.start < piece.span.end]


def shown(text: str, results: Iterable[Result], top_n: int | None, longest: int) -> list[Span]:
    """The whole text; if it is longer than `longest`, the sentences around the best occurrences of the best phrases."""
    if len(text) <= longest:
        return [Span(0, len(text))]
    best = [phrase.best for result in results for phrase in result.keyphrases[:top_n]]
    return passages(text, [Span(occurrence.start, occurrence.end) for occurrence in best if occurrence]) or [Span(0, 0)]


def passages(text: str, spans: Iterable[Span]) -> list[Span]:
    """The sentences around some spans, in order, merged where only white space lies between them."""
    gaps = [match.span() for match in GAP.finditer(text)]
    starts, ends = [0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(text)]
    merged: list[Span] = []
    for passage in sorted(_around(text, span, starts, ends) for span in spans):
        if merged and not text[merged[-1].end : passage.start].strip():
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, passage.end))
        else:
            merged.append(passage)
    return merged


def ellipses(text: str, spans: Sequence[Span]) -> list[str]:
    """What is written before each passage, and after the last one, where text is left out."""
    before = "...\n" if text[: spans[0].start].strip() else ""
    after = "\n..." if text[spans[-1].end :].strip() else ""
    return [before, *["\n...\n"] * (len(spans) - 1), after]


def _around(text: str, span: Span, starts: list[int], ends: list[int]) -> Span:
    """The sentence around a span; where it is very long, REACH characters on each side, cut between words."""
    start = starts[bisect_right(starts, span.start) - 1]
    end = max(span.end, ends[min(bisect_left(ends, span.end), len(ends) - 1)])
    if span.start - start > REACH:
        start = span.start - REACH
        blank = re.compile(r"\s+").search(text, start, span.start)
        start = blank.end() if blank else start
    if end - span.end > REACH:
        kept = text[span.end : span.end + REACH].rstrip()
        blank_at = max(kept.rfind(" "), kept.rfind("\n"))
        end = span.end + (blank_at if blank_at > 0 else REACH)
    return Span(start, end)


# -- The ranked list: the best occurrence of each phrase, and its rank under other methods ----------------------------

HIDDEN = ("lambda", "m", "weighted")  # parts that are the same for most phrases
ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Row:
    phrase: Keyphrase
    gold: bool
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    left: int  # how many more phrases there are
    parts: tuple[str, ...]  # the columns that are parts of the score


def ranked(explanation: Explanation, index: int, top_n: int | None) -> Ranked:
    result = explanation.methods[index].result
    others = [other.result for number, other in enumerate(explanation.methods) if number != index]
    parts = next((phrase.parts for phrase in result.keyphrases if phrase.occurrences), {})
    names = tuple(name for name in parts if name not in HIDDEN)
    ranks = [{(o.start, o.end): k.rank for k in reversed(r.keyphrases) for o in k.occurrences} for r in others]
    language = result.language or "en"
    gold = {stem_key(phrase.text, language) for phrase in explanation.gold}
    rows = tuple(
        Row(phrase, stem_key(phrase.text, language) in gold, _cells(phrase, names, ranks))
        for phrase in result.keyphrases[:top_n]
    )
    head = ("#", "Keyphrase", "Score", *names, "Count", *(other.method for other in others))
    return Ranked(head, rows, len(result.keyphrases) - len(rows), names)


def _cells(phrase: Keyphrase, names: Sequence[str], others: Sequence[dict[tuple[int, int], int]]) -> tuple[str, ...]:
    parts = phrase.parts
    numbers = [number(parts[name], 2) if name in parts else ABSENT for name in names]
    places = [(occurrence.start, occurrence.end) for occurrence in phrase.occurrences]
    before = (min((ranks[at] for at in places if at in ranks), default=None) for ranks in others)
    elsewhere = [change(phrase.rank, rank) for rank in before]
    return (str(phrase.rank), phrase.text, number(phrase.score), *numbers, str(len(phrase.occurrences)), *elsewhere)


def change(rank: int, before: int | None) -> str:
    """Another method's rank, and how far above or below it a phrase ranks here: "12 ▲9"."""
    if before is None:
        return ABSENT
    if before == rank:
        return f"{before} ="
    return f"{before} ▲{before - rank}" if before > rank else f"{before} ▼{rank - before}"


def number(value: float, digits: int = 3) -> str:
    value += 0.0  # no -0.00
    return f"{value:.{digits}f}" if value == 0 or 10**-digits <= abs(value) < 1000 else f"{value:.1e}"
