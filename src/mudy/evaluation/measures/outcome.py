"""What was predicted for a document and what should have been, and how many predictions count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mudy._support.validation import checked, phrases, seen, several
from mudy.candidates.stemming import stems_of
from mudy.errors import InputError

Stems = tuple[str, ...]  # of the words of a phrase


@dataclass(frozen=True, slots=True)
class Outcome:
    """The predictions for one document, best first, and its gold keyphrases.

    `occurrences` is how often all candidates together occur in the text; None where there are no candidates, and the
    phrases themselves are counted. Phrases are compared by the stems of their language.
    """

    id: str
    predictions: Sequence[str]
    gold: Sequence[str]
    occurrences: int | None = None
    language: str = "en"

    def __post_init__(self) -> None:
        for name in ("predictions", "gold"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise InputError(f"Document {self.id!r}: {name} is the single text {given!r}; a list is needed.")
            object.__setattr__(self, name, tuple(phrases(name, given)))
        if not self.gold:
            raise InputError(f"Document {self.id!r} has no gold keyphrases, so nothing can be measured on it.")
        checked("occurrences", self.occurrences, int | None, least=0)
        if self.occurrences is not None and self.occurrences < len(set(self.predictions)):
            raise InputError(
                f"Document {self.id!r}: {len(set(self.predictions))} phrases were predicted of candidates that occur "
                f"{self.occurrences} times. Count every occurrence of every candidate, or pass None."
            )
        checked("language", self.language, str)

    @property
    def gold_stems(self) -> frozenset[Stems]:
        """The gold, forms with equal stems once."""
        return frozenset(stems_of(phrase, self.language) for phrase in self.gold)

    @property
    def predicted_stems(self) -> list[Stems]:
        """Every prediction, best first."""
        return [stems_of(phrase, self.language) for phrase in self.predictions]


class Depth(StrEnum):
    """A number of predictions that depends on the document."""

    RETURNED = "M"  # all that were returned: F1@M
    GOLD = "O"  # as many as there are gold keyphrases: F1@O


def predictions_counted(depth: int | Depth, returned: int, gold: int) -> int:
    """How many predictions a depth stands for in one document."""
    if isinstance(depth, Depth):
        return returned if depth is Depth.RETURNED else gold
    return depth


def checked_outcomes(given: Iterable[Outcome]) -> Iterator[Outcome]:
    """The outcomes; InputError where one is something else."""
    for outcome in several("outcomes", given, "outcomes"):
        if not isinstance(outcome, Outcome):
            raise InputError(f"outcomes holds {seen(outcome)}, but each must be an Outcome.")
        yield outcome
