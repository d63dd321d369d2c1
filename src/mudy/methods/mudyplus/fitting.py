"""Weights from texts with gold keyphrases: a pairwise logistic regression, then a calibration to log-odds.

Pairwise, because a ranking only compares phrases of one text: the weights are those under which a right phrase of a
text most likely stands above a wrong one. Every data set weighs the same, and so does every text within it. What is the
same for all phrases of a text (its length) cannot change a ranking, and comes in with the calibration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mudy.errors import InputError

_Numbers = NDArray[np.float64]
RIDGE = 0.03  # penalty on a squared weight, in units of what its evidence varies
CONTEXT_RIDGE = 1e-3  # the same for context: texts of nearly one length say little about others
_STEPS = 50  # of Newton's method; about ten are needed
_ENOUGH = 1e-8  # change of a weight below which they have settled
LARGEST_STEP = 5.0
LEAST_SCALE = 0.01  # of the ranking's weights in the log-odds


@dataclass(frozen=True)
class Sample:
    """One text: its phrases' evidence, and which of them are gold."""

    dataset: str
    evidence: _Numbers  # (phrases, kinds of evidence)
    hits: NDArray[np.bool_]  # (phrases,)
    context: _Numbers  # (kinds of context,): what is the same for all phrases

    @property
    def tells(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.hits.any() and not self.hits.all())


@dataclass(frozen=True)
class Fit:
    """log-odds = evidence @ weights + context @ context_weights + intercept."""

    weights: _Numbers
    context_weights: _Numbers
    intercept: float

    def log_odds(self, evidence: _Numbers, context: _Numbers) -> _Numbers:
        found: _Numbers = evidence @ self.weights + context @ self.context_weights + self.intercept
        return found


def fit(samples: Sequence[Sample], ridge: float = RIDGE, fixed: Mapping[int, float] | None = None) -> Fit:
    """Weights of the ranking, scaled and shifted so that their sum is a log-odds.

    `fixed` are weights set by hand: column -> weight in the pairwise regression.
    """
    weights = ranking_weights(samples, ridge, fixed)
    sums = [sample.evidence @ weights for sample in samples]
    rows = np.concatenate(
        [
            np.column_stack([s, np.tile(sample.context, (len(s), 1)), np.ones(len(s))])
            for s, sample in zip(sums, samples, strict=True)
        ]
    )
    hits = np.concatenate([sample.hits for sample in samples]).astype(np.float64)
    each = text_shares(samples, per_phrase=True)
    shares = np.concatenate([np.full(len(s), share) for s, share in zip(sums, each, strict=True)])
    penalty = np.array([1e-6, *np.full(rows.shape[1] - 2, CONTEXT_RIDGE), 1e-6])
    found = logistic(rows, hits, shares, penalty)
    scale = max(float(found[0]), LEAST_SCALE)  # few texts may disagree with one another; no ranking is turned over
    return Fit(weights * scale, found[1:-1], float(found[-1]))


def leave_one_out(
    samples: Sequence[Sample],
    ridge: float = RIDGE,
    fixed: Mapping[int, float] | None = None,
    parts: Sequence[str] | None = None,
) -> dict[str, Fit]:
    """For each data set, a fit on all the others; or for each part, where `parts` names that of each sample."""
    parts = [sample.dataset for sample in samples] if parts is None else parts
    return {
        name: fit([sample for sample, own in zip(samples, parts, strict=True) if own != name], ridge, fixed)
        for name in dict.fromkeys(parts)
    }


def ranking_weights(
    samples: Sequence[Sample], ridge: float = RIDGE, fixed: Mapping[int, float] | None = None
) -> _Numbers:
    """Weights under which right phrases stand above wrong ones of the same text."""
    fixed = fixed or {}
    telling = [sample for sample in samples if sample.tells]
    if not telling:
        raise InputError("Nothing can be fitted: no text has a gold phrase among its candidates, beside others.")
    pairs, shares = [], []
    for sample, share in zip(telling, text_shares(telling), strict=True):
        right, wrong = sample.evidence[sample.hits], sample.evidence[~sample.hits]
        difference = (right[:, None] - wrong[None]).reshape(-1, right.shape[1])
        pairs.append(difference)
        shares.append(np.full(len(difference), share / len(difference)))
    rows = np.concatenate(pairs)
    every = np.concatenate(shares)
    free = [column for column in range(rows.shape[1]) if column not in fixed]
    weights = np.array([fixed.get(column, 0.0) for column in range(rows.shape[1])])
    penalty = ridge * (every[:, None] * rows[:, free] ** 2).sum(0).clip(1e-9)  # the same for evidence of any scale
    weights[free] = logistic(rows[:, free], np.ones(len(rows)), every, penalty, offset=rows @ weights)
    return weights


def text_shares(samples: Sequence[Sample], *, per_phrase: bool = False) -> list[float]:
    """What each text weighs, so that every data set weighs the same; all together weigh 1."""
    texts = Counter(sample.dataset for sample in samples)
    shares = [1 / len(texts) / texts[sample.dataset] for sample in samples]
    return [share / len(s.hits) for share, s in zip(shares, samples, strict=True)] if per_phrase else shares


def logistic(
    rows: _Numbers, hits: _Numbers, shares: _Numbers, ridge: _Numbers, offset: _Numbers | float = 0.0
) -> _Numbers:
    """Logistic regression by Newton's method; `ridge` penalises each squared weight, `offset` is known beforehand."""
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chance = expit(rows @ weights + offset)
        gradient = rows.T @ (shares * (chance - hits)) + ridge * weights
        curvature = (rows * (shares * chance * (1 - chance))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        step *= min(1.0, LARGEST_STEP / max(np.abs(step).max(), 1e-12))
        weights -= step
        if np.abs(step).max() < _ENOUGH:
            break
    return weights


def expit(values: _Numbers) -> _Numbers:
    """Log-odds -> probability, without overflow."""
    found: _Numbers = 0.5 * (1 + np.tanh(values / 2))
    return found


def brier(chances: Iterable[_Numbers], hits: Iterable[NDArray[np.bool_]], shares: Iterable[float]) -> float:
    """The mean squared difference between probability and truth."""
    return float(sum(share * np.sum((c - h) ** 2) for c, h, share in zip(chances, hits, shares, strict=True)))


def reliability(
    chances: _Numbers, hits: NDArray[np.bool_], edges: Sequence[float]
) -> Mapping[str, tuple[float, float, int]]:
    """For each bin of probability: the mean probability, the share of hits, and how many phrases there are."""
    found = {}
    for low, high in pairwise(edges):
        inside = (chances >= low) & (chances < high)
        if inside.any():
            found[f"{low:.2f}-{high:.2f}"] = (
                float(chances[inside].mean()),
                float(hits[inside].mean()),
                int(inside.sum()),
            )
    return found
