"""The ranked list of a method as a table: the best occurrence of each phrase, and its rank under other methods."""

from collections.abc import Sequence
from dataclasses import dataclass

from mudy.extraction.explanation import Explanation
from mudy.extraction.ranking import stem_key
from mudy.extraction.results import Keyphrase

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
