"""Weights of MUDY+ of which some are set by hand: the shipped weights are made like this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mudy.methods.mudyplus.evidence import CHEAP, EVIDENCE
from mudy.methods.mudyplus.fit_texts import FitSum, as_fit, as_sum
from mudy.methods.mudyplus.fitting import Sample, fit
from mudy.methods.mudyplus.weights import Sum, Weights

REPEATS = "repeats"  # its weight is set by hand, or 0: it depends on the ranking, which is fitted
ByHand = Mapping[str, Mapping[str, float]]  # sum -> evidence -> its weight


def by_hand_fits(by_hand: ByHand, ridge: float, prior: Weights | None = None) -> FitSum:
    """Fits in which weights set by hand keep their proportions; the ridge pulls the others towards a prior, or 0."""

    def fit_sum(samples: Sequence[Sample], name: str) -> Sum:
        names = CHEAP if name == "quick" else EVIDENCE
        fixed = {names.index(kind): weight for kind, weight in by_hand[name].items() if kind != REPEATS}
        known = None if prior is None else as_fit(prior.quick if name == "quick" else prior.with_model, names)
        return as_sum(fit(samples, ridge, fixed, known), names, by_hand[name].get(REPEATS, 0.0))

    return fit_sum
