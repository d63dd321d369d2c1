"""Measures that depend on the order of the predictions: mean average precision and nDCG.

Phrases with equal stems are one, among the gold and among the predictions, so a gold phrase is hit at most once. Both
are means over documents, whatever the averaging.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2
from typing import ClassVar

import numpy as np

from mudy.evaluation.measures.averaging import Averaging
from mudy.evaluation.measures.measure import FloatArray, MeasureKind
from mudy.evaluation.measures.outcome import Depth, Outcome, predictions_counted


@dataclass(frozen=True, slots=True)
class RankKind(MeasureKind):
    """A value of the hits of one document in the order of its predictions."""

    poolable: ClassVar[bool] = False

    name: str
    value: Callable[[Sequence[bool], int, int], float]  # of hits, number of gold phrases, and how many can be hit

    def table(self, outcomes: Sequence[Outcome], depth: int | Depth, averaging: Averaging) -> FloatArray:  # noqa: ARG002
        return np.array([[self._of(outcome, depth)] for outcome in outcomes], dtype=np.float64)  # (documents, 1)

    def values(self, table: FloatArray) -> FloatArray:
        return table[:, 0]

    def _of(self, outcome: Outcome, depth: int | Depth) -> float:
        gold = outcome.gold_stems
        predicted = list(dict.fromkeys(outcome.predicted_stems))
        hits = [phrase in gold for phrase in predicted[: predictions_counted(depth, len(predicted), len(gold))]]
        reachable = len(gold) if isinstance(depth, Depth) else min(depth, len(gold))
        return 100 * self.value(hits, len(gold), reachable)


def average_precision(hits: Sequence[bool], gold: int, reachable: int) -> float:  # noqa: ARG001
    """The precision at each hit, summed and divided by the number of gold phrases, as trec_eval does at any depth."""
    found = 0
    total = 0.0
    for rank, hit in enumerate(hits, start=1):
        found += hit
        total += found / rank if hit else 0.0
    return total / gold


def normalised_gain(hits: Sequence[bool], gold: int, reachable: int) -> float:  # noqa: ARG001
    """Hits discounted by 1 / log2(rank + 1), divided by what the best possible order would give."""
    ideal = sum(1 / log2(rank + 1) for rank in range(1, reachable + 1))
    return sum(1 / log2(rank + 1) for rank, hit in enumerate(hits, start=1) if hit) / ideal


MAP = RankKind("MAP", average_precision)
nDCG = RankKind("nDCG", normalised_gain)  # noqa: N816  # as it is written
