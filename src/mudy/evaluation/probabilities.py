"""How far the scores of a method can be trusted, where they are probabilities of being a keyphrase.

>>> print(run_calibration("duc2001", run.of("duc2001")).brier)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mudy.evaluation.measures import have_stems_of
from mudy.methods.mudyplus.evidence_table import Numbers

if TYPE_CHECKING:
    from mudy.evaluation.runs import JudgedDocument

Hits = NDArray[np.bool_]  # which phrases of a text are gold
Reliability = Mapping[str, tuple[float, float, int]]  # bin -> mean probability, share of right phrases, phrases
_EDGES = (*np.linspace(0, 0.9, 10).round(1).tolist(), float(np.nextafter(1, 2)))


@dataclass(frozen=True)
class Calibration:
    name: str  # of the data set, or of the sum of evidence
    brier: float  # 0 is best
    brier_of_mean: float  # of the share of right phrases, given to all
    reliability: Reliability

    @classmethod
    def of(cls, name: str, chances: Sequence[Numbers], hits: Sequence[Hits], shares: Sequence[float]) -> Calibration:
        """From the probabilities of the phrases of several texts; `shares` are what one phrase of each text weighs."""
        rate = sum(share * float(right.sum()) for share, right in zip(shares, hits, strict=True))
        table = reliability_bins(np.concatenate(chances), np.concatenate(hits))
        return cls(name, brier(chances, hits, shares), rate * (1 - rate), table)

    def to_dict(self) -> dict[str, Any]:
        bins = {
            name: {"probability": mean, "right": right, "phrases": count}
            for name, (mean, right, count) in self.reliability.items()
        }
        return {"brier": self.brier, "brier_of_mean": self.brier_of_mean, "reliability": bins}


def run_calibration(name: str, documents: Sequence[JudgedDocument]) -> Calibration | None:
    """Over all phrases of a run's documents, each document weighing the same; None where nothing was found."""
    telling = [document for document in documents if document.phrases]
    if not telling:
        return None
    chances = [np.array(document.scores, dtype=np.float64) for document in telling]
    hits = [np.array(have_stems_of(document.phrases, document.gold, document.language)) for document in telling]
    return Calibration.of(name, chances, hits, [1 / len(telling) / len(numbers) for numbers in chances])


def brier(chances: Sequence[Numbers], hits: Sequence[Hits], shares: Sequence[float]) -> float:
    """The mean squared difference between probability and truth."""
    return float(sum(share * np.sum((c - h) ** 2) for c, h, share in zip(chances, hits, shares, strict=True)))


def reliability_bins(chances: Numbers, hits: Hits, edges: Sequence[float] = _EDGES) -> Reliability:
    """For each bin of probability: the mean probability, the share of hits, and how many phrases there are."""
    bins = {}
    for low, high in pairwise(edges):
        inside = (chances >= low) & (chances < high)
        if inside.any():
            bins[f"{low:.2f}-{high:.2f}"] = (
                float(chances[inside].mean()),
                float(hits[inside].mean()),
                int(inside.sum()),
            )
    return bins
