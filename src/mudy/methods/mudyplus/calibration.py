"""High sums are right less often than they say: above a knee, log-odds grow more slowly.

The weights are fitted on texts with gold, and texts of another kind have other habits. Held against sets that were left
out, sums are right up to a probability of about a third; above it they are too sure. A bend keeps their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from mudy.methods.mudyplus.evidence.places import Numbers
from mudy.methods.mudyplus.fitting import expit

KNEE = -0.6  # log-odds: a probability of 0.35
SLOPES = tuple(np.linspace(0.2, 1.0, 17).round(2).tolist())  # that are tried; below, scores would all look alike


@dataclass(frozen=True, slots=True)
class Bend:
    """What becomes of a sum: nothing up to the knee; beyond it, only a part of it counts."""

    knee: float = KNEE
    slope: float = 1.0  # above 0, so that the order stays; 1: no bend

    def bent(self, sums: Numbers) -> Numbers:
        """Log-odds of sums."""
        found: Numbers = np.minimum(sums, self.knee) + self.slope * np.maximum(0.0, sums - self.knee)
        return found

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def calibrate(sums: Sequence[Numbers], hits: Sequence[NDArray[np.bool_]], shares: Sequence[float]) -> Bend:
    """The bend under which the truth is likeliest; for sums of texts that were left out of the fit.

    `shares` are what one phrase of each text weighs.
    """
    values, right = np.concatenate(sums), np.concatenate(hits)
    each = np.concatenate([np.full(len(own), share) for own, share in zip(sums, shares, strict=True)])

    def surprise(slope: float) -> float:
        signs = np.where(right, 1.0, -1.0)
        chances = expit(signs * Bend(KNEE, slope).bent(values))
        return -float(each @ np.log(np.maximum(chances, 1e-12)))

    return Bend(KNEE, min(SLOPES, key=surprise))
