"""The ranked list of a method as a table: the best occurrence of each phrase, and its rank under other methods."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from statistics import pstdev

from mudy.extraction.explanation import Explanation
from mudy.extraction.ranking import stem_key
from mudy.extraction.results import Keyphrase, Result

HIDDEN = ("lambda", "m", "weighted")  # parts that are the same for most phrases
ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Row:
    """One phrase of a ranked list."""

    phrase: Keyphrase
    gold: bool
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best phrases of one method."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]
    left: int  # how many more phrases there are
    parts: tuple[str, ...]  # the columns that are parts of the score

    def telling_parts(self) -> list[str]:
        """The parts; those that differ most among the listed phrases first."""

        def spread(name: str) -> float:
            values = [row.phrase.parts.get(name, 0.0) for row in self.rows]
            return pstdev(values) if values else 0.0

        return sorted(self.parts, key=spread, reverse=True)

    def without(self, names: Collection[str]) -> Ranked:
        """The list without some of its parts."""
        kept = [index for index, name in enumerate(self.head) if name not in names or name not in self.parts]
        rows = tuple(replace(row, cells=tuple(row.cells[index] for index in kept)) for row in self.rows)
        return replace(self, head=tuple(self.head[index] for index in kept), rows=rows)


def ranked(explanation: Explanation, index: int, top_n: int | None) -> Ranked:
    """The list of one of the methods of an explanation."""
    result = explanation.methods[index].result
    others = [other.result for number, other in enumerate(explanation.methods) if number != index]
    names = part_names(result)
    ranks = [_ranks(other) for other in others]
    language = result.language or "en"
    gold = {stem_key(phrase.text, language) for phrase in explanation.gold}
    rows = tuple(
        Row(phrase, stem_key(phrase.text, language) in gold, _cells(phrase, names, ranks))
        for phrase in result.keyphrases[:top_n]
    )
    head = ("#", "Keyphrase", "Score", *names, "Count", *(other.method for other in others))
    return Ranked(head, rows, len(result.keyphrases) - len(rows), names)


def part_names(result: Result) -> tuple[str, ...]:
    """The parts of the scores that a list shows."""
    parts = next((phrase.parts for phrase in result.keyphrases if phrase.occurrences), {})
    return tuple(name for name in parts if name not in HIDDEN)


def _cells(phrase: Keyphrase, names: Sequence[str], others: Sequence[dict[tuple[int, int], int]]) -> tuple[str, ...]:
    parts = phrase.parts
    numbers = [number(parts[name], 2) if name in parts else ABSENT for name in names]
    elsewhere = [change(phrase.rank, rank_in(other, phrase)) for other in others]
    return (str(phrase.rank), phrase.text, number(phrase.score), *numbers, str(len(phrase.occurrences)), *elsewhere)


def _ranks(result: Result) -> dict[tuple[int, int], int]:
    """The rank of the phrase that occurs at a span."""
    return {(o.start, o.end): phrase.rank for phrase in reversed(result.keyphrases) for o in phrase.occurrences}


def rank_in(ranks: dict[tuple[int, int], int], phrase: Keyphrase) -> int | None:
    """The rank that another method gave a phrase, recognised by its occurrences; None if it did not find it."""
    return min((ranks[at] for o in phrase.occurrences if (at := (o.start, o.end)) in ranks), default=None)


def change(rank: int, before: int | None) -> str:
    """Another method's rank, and how far above or below it a phrase ranks here: "12 ▲9"."""
    if before is None:
        return ABSENT
    if before == rank:
        return f"{before} ="
    return f"{before} ▲{before - rank}" if before > rank else f"{before} ▼{rank - before}"


def number(value: float, digits: int = 3) -> str:
    """A number short enough for a table."""
    value += 0.0  # no -0.00
    return f"{value:.{digits}f}" if value == 0 or 10**-digits <= abs(value) < 1000 else f"{value:.1e}"
