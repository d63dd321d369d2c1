"""Precision, recall and F1 of the first k predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mudy.evaluation.measures.averaging import Averaging
from mudy.evaluation.measures.measure import FloatArray, MeasureKind, percentage
from mudy.evaluation.measures.outcome import Depth, Outcome


@dataclass(frozen=True, slots=True)
class CountKind(MeasureKind):
    """A share of counts. In micro averaging a document's recall may exceed 100: a gold phrase may be hit twice."""

    name: str
    share: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # of hits, predicted, gold

    def table(self, outcomes: Sequence[Outcome], depth: int | Depth, averaging: Averaging) -> FloatArray:
        counts = [averaging.count(outcome, depth) for outcome in outcomes]
        return np.array([(c.hits, c.predicted, c.gold) for c in counts], dtype=np.float64)  # (documents, 3)

    def values(self, table: FloatArray) -> FloatArray:
        return self.share(table[:, 0], table[:, 1], table[:, 2])


P = CountKind("P", lambda hits, predicted, gold: percentage(hits, predicted))  # noqa: ARG005
R = CountKind("R", lambda hits, predicted, gold: percentage(hits, gold))  # noqa: ARG005
F1 = CountKind("F1", lambda hits, predicted, gold: percentage(2 * hits, predicted + gold))  # harmonic mean of the two
