"""F1 at k in the manner of PromptRank, so that our numbers can stand beside published ones.

A prediction hits if its stems equal those of a gold phrase, or if it equals one as written. Gold phrases that do not
stand in the text count, and so do doubles. Counts are added up over all documents before precision and recall are taken
(micro).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mudy.stems import stems


@dataclass(frozen=True, slots=True)
class Counts:
    """Hits, predictions and gold phrases, of one document or of many."""

    hits: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.hits + other.hits, self.predicted + other.predicted, self.gold + other.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in per cent."""
        return 200 * self.hits / (self.predicted + self.gold) if self.hits else 0.0


def counts(predictions: Sequence[str], gold: Sequence[str], k: int, occurrences: int) -> Counts:
    """One document at k. Predictions are counted by candidate occurrences, not by phrases, as published."""
    raw, stemmed = set(gold), {stems(phrase) for phrase in gold}
    hits = sum(phrase in raw or stems(phrase) in stemmed for phrase in predictions[:k])
    return Counts(hits, min(k, occurrences), len(gold))


def micro_f1(documents: Iterable[Counts]) -> float:
    """F1 over all documents together."""
    return sum(documents, Counts()).f1
