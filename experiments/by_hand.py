"""Weights of MUDY+ fitted without a prior, some of them set by hand: the shipped weights are made like this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mudy.methods.mudyplus.evidence import CHEAP, EVIDENCE
from mudy.methods.mudyplus.fit_texts import FitSum, as_sum
from mudy.methods.mudyplus.fitting import RIDGE, Sample, fit
from mudy.methods.mudyplus.weights import Sum

REPEATS = "repeats"  # its weight is set by hand, or 0: it depends on the ranking, which is fitted
ByHand = Mapping[str, Mapping[str, float]]  # sum -> evidence -> its weight
SET_BY_HAND: ByHand = {  # before the calibration scales all
    "quick": {"generic": -2.5, "plain_generic": -1.0},
    "full": {"generic": -3.0, "plain_generic": -1.5},
}


def by_hand_fits(by_hand: ByHand = SET_BY_HAND, ridge: float = RIDGE) -> FitSum:
    """Fits in which weights set by hand keep their proportions."""

    def fit_sum(samples: Sequence[Sample], name: str) -> Sum:
        names = CHEAP if name == "quick" else EVIDENCE
        fixed = {names.index(kind): weight for kind, weight in by_hand[name].items() if kind != REPEATS}
        return as_sum(fit(samples, ridge, fixed), names, by_hand[name].get(REPEATS, 0.0))

    return fit_sum
