"""One measure on two runs over the same documents: the difference, its interval and its significance."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, log1p

import numpy as np

from mudy.errors import InputError
from mudy.evaluation.measures import MICRO, Averaging, FloatArray, Interval, Measure, Predictions, bootstrap_draws

_EQUAL = 1e-9  # per cent; smaller differences are rounding noise


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure on two runs over the same documents; the difference is second - first."""

    measure: Measure
    averaging: Averaging
    documents: int
    unmatched: int  # documents that only one of the runs has; they are left out
    first: float
    second: float
    difference: Interval  # by paired bootstrap
    t: float
    p_t_test: float  # two-sided, paired, on the documents' own values
    p_bootstrap: float  # two-sided, on the measure over all documents


def compare(
    measure: Measure, first: Iterable[Predictions], second: Iterable[Predictions], averaging: Averaging = MICRO
) -> Comparison:
    """Whether two runs differ: a paired t-test and a paired bootstrap over the documents that both have."""
    one, other, unmatched = _matched(first, second)
    a, b = measure.table(one, averaging), measure.table(other, averaging)
    t, p = paired_t_test(measure.kind.values(a), measure.kind.values(b))
    drawn = np.concatenate(
        [
            measure.over_draws(b, times, averaging) - measure.over_draws(a, times, averaging)
            for times in bootstrap_draws(len(a))
        ]
    )
    before, after = measure.overall(a, averaging), measure.overall(b, averaging)
    difference = Interval.of(after - before, drawn)
    return Comparison(measure, averaging, len(a), unmatched, before, after, difference, t, p, _two_sided(drawn))


def paired_t_test(first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray) -> tuple[float, float]:
    """Student's t of second - first and its two-sided p; equal differences everywhere have p 1 (none) or 0."""
    difference = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    if len(difference) < 2:
        raise InputError(f"A paired t-test needs at least 2 documents in both runs; there is {len(difference)}.")
    mean = float(difference.mean())
    if np.ptp(difference) < _EQUAL:
        return (0.0, 1.0) if abs(mean) < _EQUAL else (float(np.copysign(np.inf, mean)), 0.0)
    t = mean / float(difference.std(ddof=1) / np.sqrt(len(difference)))
    return t, student_tails(t, len(difference) - 1)


def student_tails(t: float, freedom: int) -> float:
    """The chance of a t at least so far from 0: the regularised incomplete beta function of freedom / 2 and 1 / 2.

    By its continued fraction, from the side on which it converges quickly (Abramowitz and Stegun, 26.5.8 and 26.7.1).
    """
    x, a, b = freedom / (freedom + t * t), freedom / 2, 0.5
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) if 0 < x < 1 else 0.0
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(1 - x, b, a) / b


def _beta_fraction(x: float, a: float, b: float, steps: int = 300) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + ...))), evaluated from its end."""
    value = 1.0
    for step in range(steps, 0, -1):
        m, odd = divmod(step, 2)
        if odd:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + d / value
    return 1 / value


def _two_sided(drawn: FloatArray) -> float:
    """How often the sign of a difference changes in a bootstrap, doubled; never 0, as the draws are finite."""
    below, above = int((drawn < _EQUAL).sum()), int((drawn > -_EQUAL).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (len(drawn) + 1))


def _matched(
    first: Iterable[Predictions], second: Iterable[Predictions]
) -> tuple[list[Predictions], list[Predictions], int]:
    one, other = _by_id(first), _by_id(second)
    common = [key for key in one if key in other]
    if not common:
        raise InputError("The two runs have no document in common; compare runs over the same data set.")
    for key in common:
        if Counter(one[key].gold) != Counter(other[key].gold):
            raise InputError(f"Document {key!r} has different gold in the two runs, so they cannot be compared.")
    return [one[key] for key in common], [other[key] for key in common], len(one.keys() ^ other.keys())


def _by_id(documents: Iterable[Predictions]) -> dict[str, Predictions]:
    known: dict[str, Predictions] = {}
    for document in documents:
        if document.id in known:
            raise InputError(f"The id {document.id!r} occurs twice in one run, so documents cannot be matched by it.")
        known[document.id] = document
    return known
