"""TextRank (Mihalcea and Tarau, EMNLP 2004): PageRank over words that stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mudy.candidates import Candidate
from mudy.methods.graphs import check_damping, check_window, word_scores
from mudy.methods.method import Method, OccurrenceScore, same_at_each, setting
from mudy.reading.document import Document


@dataclass(frozen=True)
class TextRank(Method):
    """The sum of a phrase's word scores, by PageRank on an unweighted graph of neighbouring words.

    Every phrase is scored, where the paper keeps those made of the best third of the words. Words are compared in lower
    case, not by stems. Of phrases with equal scores the earlier comes first.
    """

    title = "TextRank"
    citation = "Mihalcea and Tarau, EMNLP 2004"

    window: int = setting(2, "Words that stand within so many of each other are linked; 2 is side by side.")
    damping: float = setting(0.85, "Damping factor of PageRank.")

    def __post_init__(self) -> None:
        check_window(self.window)
        check_damping(self.damping)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        scores = word_scores(document, candidates, window=self.window, weighted=False, damping=self.damping)
        return same_at_each(candidates, scores)
