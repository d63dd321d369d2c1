"""SingleRank (Wan and Xiao, AAAI 2008): PageRank over words, weighted by how often they stand near one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mudy.candidates import Candidate
from mudy.methods.graphs import check_damping, check_window, word_scores
from mudy.methods.method import Method, OccurrenceScore, same_at_each, setting
from mudy.reading.document import Document


@dataclass(frozen=True)
class SingleRank(Method):
    """The sum of a phrase's word scores, by PageRank on a graph weighted by co-occurrence.

    Words are compared in lower case, not by stems. Of phrases with equal scores the earlier comes first.
    """

    title = "SingleRank"
    citation = "Wan and Xiao, AAAI 2008"

    window: int = setting(10, "Words that stand within so many of each other are linked.")
    damping: float = setting(0.85, "Damping factor of PageRank.")

    def __post_init__(self) -> None:
        check_window(self.window)
        check_damping(self.damping)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        scores = word_scores(document, candidates, window=self.window, weighted=True, damping=self.damping)
        return same_at_each(candidates, scores)
