"""Semantic precision, recall and F1: how close the predictions and the gold are in meaning, not in form.

The semantic matching of KPEval (Wu et al., Findings of ACL 2024) with a sentence encoder of the user's choice: each
prediction is worth its highest cosine with a gold phrase (precision), each gold phrase its highest cosine with a
prediction (recall). Values depend on the encoder, so only those of one encoder are comparable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mudy.evaluation.measures.averaging import Averaging
from mudy.evaluation.measures.measure import FloatArray, MeasureKind, percentage
from mudy.evaluation.measures.outcome import Depth, Outcome, predictions_counted

SEMANTIC_NAMES = ("SemP", "SemR", "SemF1")


@dataclass(frozen=True, eq=False)
class PhraseVectors:
    """The vectors of phrases, each phrase embedded once.

    `embed` gives a vector of length 1 for each text, as `SentenceEncoder.embed` does. It is not called before a measure
    needs it.
    """

    embed: Callable[[Sequence[str]], Any]
    _known: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    def embed_new(self, phrases: Iterable[str]) -> None:
        """Embed, together, those phrases that are not known yet."""
        new = [phrase for phrase in dict.fromkeys(phrases) if phrase not in self._known]
        if new:
            self._known.update(zip(new, np.asarray(self.embed(new), dtype=np.float64), strict=True))

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> FloatArray:
        """The cosine of every pair, 0 where it is negative; (first, second)."""
        self.embed_new([*first, *second])
        a, b = (np.array([self._known[phrase] for phrase in phrases]) for phrases in (first, second))
        cosines: FloatArray = np.clip(a @ b.T, 0, 1)
        return cosines


@dataclass(frozen=True, slots=True)
class SemanticKind(MeasureKind):
    """A share of the best cosines of a document's predictions and gold phrases."""

    name: str
    share: Callable[[FloatArray, FloatArray], FloatArray]  # of precision and recall
    vectors: PhraseVectors

    def table(self, outcomes: Sequence[Outcome], depth: int | Depth, averaging: Averaging) -> FloatArray:  # noqa: ARG002
        pairs = [_distinct(outcome, depth) for outcome in outcomes]
        self.vectors.embed_new(phrase for pair in pairs for phrases in pair for phrase in phrases)
        return np.array([self._row(*pair) for pair in pairs], dtype=np.float64)  # (documents, 4)

    def _row(self, predictions: Sequence[str], gold: Sequence[str]) -> tuple[float, int, float, int]:
        """The best cosines of predictions, summed, how many these are, and both for gold phrases."""
        if not predictions:
            return 0.0, 0, 0.0, len(gold)
        cosines = self.vectors.cosines(predictions, gold)
        return float(cosines.max(1).sum()), len(predictions), float(cosines.max(0).sum()), len(gold)

    def values(self, table: FloatArray) -> FloatArray:
        return self.share(percentage(table[:, 0], table[:, 1]), percentage(table[:, 2], table[:, 3]))


def _distinct(outcome: Outcome, depth: int | Depth) -> tuple[list[str], list[str]]:
    """The first predictions and the gold, in lower case, each phrase once."""
    predictions = list(dict.fromkeys(map(str.lower, outcome.predictions)))
    gold = list(dict.fromkeys(map(str.lower, outcome.gold)))
    return predictions[: predictions_counted(depth, len(predictions), len(gold))], gold


def semantic_kinds(vectors: PhraseVectors) -> dict[str, SemanticKind]:
    """SemP, SemR and SemF1 by one encoder; phrases are embedded once for all of them."""
    shares = (lambda precision, recall: precision, lambda precision, recall: recall, _harmonic_mean)  # noqa: ARG005
    named = zip(SEMANTIC_NAMES, shares, strict=True)
    return {name: SemanticKind(name, share, vectors) for name, share in named}


def _harmonic_mean(precision: FloatArray, recall: FloatArray) -> FloatArray:
    return percentage(2 * precision * recall / 100, precision + recall)
