"""TextRank (Mihalcea and Tarau, EMNLP 2004) and SingleRank (Wan and Xiao, AAAI 2008): PageRank over words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mudy.candidates import Candidate
from mudy.methods.graphs import check_damping, word_scores
from mudy.methods.method import Method, OccurrenceScore, require, same_at_each, setting
from mudy.reading.document import Document


@dataclass(frozen=True)
class TextRank(Method):
    """The sum of a phrase's word scores, by PageRank on an unweighted graph of neighbouring words.

    Every phrase is scored, where the paper keeps those made of the best third of the words. Words are compared in lower
    case, not by stems. Of phrases with equal scores the earlier comes first.
    """

    title: ClassVar = "TextRank"
    citation: ClassVar = "Mihalcea and Tarau, EMNLP 2004"
    weighted: ClassVar = False  # whether an edge counts how often its words are neighbours

    window: int = setting(2, "Words within a window of so many words are linked; 2: adjacent words.")
    damping: float = setting(0.85, "Damping factor of PageRank.")

    def __post_init__(self) -> None:
        require("window", self.window, self.window >= 2, "2 or more")
        check_damping(self.damping)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        scores = word_scores(document, candidates, window=self.window, weighted=self.weighted, damping=self.damping)
        return same_at_each(candidates, scores)


@dataclass(frozen=True)
class SingleRank(TextRank):
    """The sum of a phrase's word scores, by PageRank on a graph weighted by co-occurrence.

    Words are compared in lower case, not by stems. Of phrases with equal scores the earlier comes first.
    """

    title: ClassVar = "SingleRank"
    citation: ClassVar = "Wan and Xiao, AAAI 2008"
    weighted: ClassVar = True

    window: int = setting(10, "Words within a window of so many words are linked.")
