"""Weights from texts with gold keyphrases: a conditional logistic regression, then a calibration to log-odds.

Conditional, because a ranking only compares phrases of one text: the weights are those under which a right phrase of a
text most likely stands above all wrong ones, so that the wrong ones that stand highest count most. What is the same for
all phrases of a text (its length) cannot change a ranking, and comes in with the calibration.

A few texts adapt known weights, the prior: a ridge pulls towards them, the less the more texts there are. It pulls less
in directions in which weights are known to differ, such as from one style to another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mudy.errors import InputError
from mudy.methods.mudyplus.evidence import Numbers
from mudy.methods.mudyplus.weights import KNEE, Bend, expit

RIDGE = 0.03  # penalty on a squared weight, in units of what its evidence varies
PULL = 10.0  # penalty on a squared change of a prior's weight, over the number of texts
CONTEXT_RIDGE = 1e-3  # the same for context: texts of nearly one length say little about others
CALIBRATION_RIDGE = 0.01  # share of the ridge towards a prior that holds its scale and its intercept
LEAST_DEVIATION = 0.4  # of evidence beside a prior: in short texts some varies little, and its weight would run away
FLAT_EVIDENCE = 1e-9  # evidence that varies less is the same for all phrases
LEAST_SCALE = 0.01  # of the ranking's weights in the log-odds
SLOPES = tuple(np.linspace(0.2, 1.6, 29).round(2).tolist())  # that are tried; below, scores would all look alike

_STEPS = 100  # of Newton's method; about ten are needed
_ENOUGH = 1e-8  # change of the weights, relative to the largest, below which they have settled
_SUFFICIENT = 1e-4  # share of the decrease that a step promises, by which the loss must fall (Armijo)
_ROUNDING = 1e-14  # of a loss, which is about 1: a step that is right may raise it by so much

Loss = Callable[[Numbers], tuple[float, Numbers, Numbers]]  # weights -> value, gradient, Hessian


@dataclass(frozen=True)
class Sample:
    """One text: its phrases' evidence, and which of them are gold."""

    dataset: str
    evidence: Numbers  # (phrases, kinds of evidence)
    hits: NDArray[np.bool_]  # (phrases,)
    context: Numbers  # (kinds of context,): what is the same for all phrases
    weight: float = 1.0  # of its data set, beside one of as many texts
    worth: Numbers | None = None  # (phrases,): of each gold phrase, beside the others of its text; None: all the same

    @property
    def tells(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.hits.any() and not self.hits.all())


@dataclass(frozen=True)
class Fit:
    """log-odds = evidence @ weights + context @ context_weights + intercept."""

    weights: Numbers
    context_weights: Numbers
    intercept: float

    def log_odds(self, evidence: Numbers, context: Numbers) -> Numbers:
        found: Numbers = evidence @ self.weights + context @ self.context_weights + self.intercept
        return found


def fit(
    samples: Sequence[Sample],
    ridge: float = RIDGE,
    fixed: Mapping[int, float] | None = None,
    prior: Fit | None = None,
    directions: Numbers | None = None,
) -> Fit:
    """Weights of the ranking, scaled and shifted so that their sum is a log-odds.

    `fixed` are weights set by hand: column -> weight in the ranking. The ridge pulls towards a prior, else towards 0;
    less so along the directions.
    """
    weights = ranking_weights(samples, ridge, fixed, None if prior is None else prior.weights, directions)
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
    centre = np.zeros(rows.shape[1]) if prior is None else np.array([1.0, *prior.context_weights, prior.intercept])
    least = 1e-6 if prior is None else CALIBRATION_RIDGE * ridge
    penalty = np.array([least, *np.full(rows.shape[1] - 2, max(CONTEXT_RIDGE, least)), least])
    found = logistic(rows, hits, shares, penalty, centre)
    scale = max(float(found[0]), LEAST_SCALE)  # few texts may disagree with one another; no ranking is turned over
    return Fit(weights * scale, found[1:-1], float(found[-1]))


def ranking_weights(
    samples: Sequence[Sample],
    ridge: float = RIDGE,
    fixed: Mapping[int, float] | None = None,
    prior: Numbers | None = None,
    directions: Numbers | None = None,
) -> Numbers:
    """Weights under which right phrases stand above wrong ones of the same text.

    Of the weights' change from the prior, the covariance that the ridge assumes is I + D'D over the ridge, in units of
    what the evidence varies; the rows of D are the directions.
    """
    fixed = fixed or {}
    telling = [sample for sample in samples if sample.tells]
    if not telling:
        raise InputError("Nothing can be fitted: no text has a gold phrase among its candidates, beside others.")
    contest = Contest.of(telling)
    scales = np.concatenate([contest.right, contest.wrong]).std(0)
    scales = np.where(scales > FLAT_EVIDENCE, scales, 1.0)
    if prior is not None:
        scales = np.maximum(scales, LEAST_DEVIATION)
    free = np.array([column not in fixed for column in range(len(scales))])
    weights = np.array([fixed.get(column, 0.0) for column in range(len(scales))])
    centre = np.zeros(free.sum()) if prior is None else prior[free] * scales[free]
    known = np.zeros((0, len(centre))) if directions is None else directions[:, free] * scales[free]
    precision = ridge * np.linalg.inv(np.eye(len(centre)) + known.T @ known)

    def penalised(scaled: Numbers) -> tuple[float, Numbers, Numbers]:
        weights[free] = scaled / scales[free]
        surprise, gradient, curvature = contest.surprise(weights)
        change = scaled - centre
        return (
            surprise + float(change @ precision @ change) / 2,
            gradient[free] / scales[free] + precision @ change,
            curvature[np.ix_(free, free)] / np.outer(scales[free], scales[free]) + precision,
        )

    weights[free] = minimised(penalised, centre) / scales[free]
    return weights


@dataclass(frozen=True)
class Contest:
    """Every right phrase of some texts against the wrong ones of its text."""

    right: Numbers  # (right phrases, kinds of evidence)
    wrong: Numbers
    right_texts: NDArray[np.intp]  # the number of the text that each stands in
    wrong_texts: NDArray[np.intp]
    shares: Numbers  # what each right phrase weighs

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Contest:
        """Of texts that each have right and wrong phrases."""
        each = list(zip(samples, text_shares(samples), strict=True))
        worths = [np.ones(s.hits.sum()) if s.worth is None else s.worth[s.hits] for s in samples]
        return cls(
            np.concatenate([sample.evidence[sample.hits] for sample in samples]),
            np.concatenate([sample.evidence[~sample.hits] for sample in samples]),
            np.concatenate([np.full(sample.hits.sum(), i) for i, sample in enumerate(samples)]),
            np.concatenate([np.full((~sample.hits).sum(), i) for i, sample in enumerate(samples)]),
            np.concatenate([share * worth / worth.sum() for (_, share), worth in zip(each, worths, strict=True)]),
        )

    def surprise(self, weights: Numbers) -> tuple[float, Numbers, Numbers]:
        """How little the weights expect the right phrases, -log of their probability; its gradient and Hessian."""
        scores = self.wrong @ weights
        starts = np.flatnonzero(np.diff(self.wrong_texts, prepend=-1))
        highest = np.maximum.reduceat(scores, starts)[self.wrong_texts]
        powers = np.exp(scores - highest)
        totals = np.add.reduceat(powers, starts)
        chances = powers / totals[self.wrong_texts]  # of each wrong phrase among those of its text
        means = np.add.reduceat(chances[:, None] * self.wrong, starts)  # (texts, kinds of evidence)
        deficits = (highest[starts] + np.log(totals))[self.right_texts] - self.right @ weights
        slopes = means[self.right_texts] - self.right  # of the deficits
        doubts = expit(deficits)
        pull = self.shares * doubts
        push = np.bincount(self.right_texts, pull, len(starts))[self.wrong_texts] * chances
        centred = self.wrong - means[self.wrong_texts]
        curvature = (slopes * (pull * (1 - doubts))[:, None]).T @ slopes + (centred * push[:, None]).T @ centred
        return float(self.shares @ np.logaddexp(0, deficits)), slopes.T @ pull, curvature


# -- Calibration ------------------------------------------------------------------------------------------------------


def calibrate(sums: Sequence[Numbers], hits: Sequence[NDArray[np.bool_]], shares: Sequence[float]) -> Bend:
    """The bend under which the hits are likeliest; for sums of texts that were left out of the fit.

    `shares` are the weights of one phrase of each text.
    """
    values, right = np.concatenate(sums), np.concatenate(hits)
    weights = np.concatenate([np.full(len(own), share) for own, share in zip(sums, shares, strict=True)])

    def surprise(slope: float) -> float:
        signs = np.where(right, 1.0, -1.0)
        chances = expit(signs * Bend(KNEE, slope).bent(values))
        return -float(weights @ np.log(np.maximum(chances, 1e-12)))

    return Bend(KNEE, min(SLOPES, key=surprise))


# -- Regression -------------------------------------------------------------------------------------------------------


def text_shares(samples: Sequence[Sample], *, per_phrase: bool = False) -> list[float]:
    """What each text weighs; all together weigh 1.

    A data set weighs as the square root of its texts: a large one says more than a small one, but does not drown it.
    """
    texts = Counter(sample.dataset for sample in samples)
    weights = {sample.dataset: sample.weight * sqrt(texts[sample.dataset]) for sample in samples}
    whole = sum(weights.values())
    shares = [weights[sample.dataset] / texts[sample.dataset] / whole for sample in samples]
    return [share / len(s.hits) for share, s in zip(shares, samples, strict=True)] if per_phrase else shares


def logistic(rows: Numbers, hits: Numbers, shares: Numbers, ridge: Numbers, centre: Numbers) -> Numbers:
    """Logistic regression by Newton's method; `ridge` penalises each squared difference from the centre."""

    def loss(weights: Numbers) -> tuple[float, Numbers, Numbers]:
        log_odds, change = rows @ weights, weights - centre
        chances = expit(log_odds)
        return (
            float(shares @ np.logaddexp(0, (1 - 2 * hits) * log_odds) + ridge @ change**2 / 2),
            rows.T @ (shares * (chances - hits)) + ridge * change,
            (rows * (shares * chances * (1 - chances))[:, None]).T @ rows + np.diag(ridge),
        )

    return minimised(loss, centre)


def minimised(loss: Loss, weights: Numbers) -> Numbers:
    """The weights under which a strictly convex loss is least, by Newton's method; a step that overshoots is halved."""
    value, gradient, curvature = loss(weights)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, gradient)
        if np.abs(step).max(initial=0.0) < _ENOUGH * np.abs(weights).max(initial=1.0):
            return weights - step
        promised = _SUFFICIENT * float(gradient @ step)
        while (moved := loss(weights - step))[0] > value - promised + _ROUNDING:
            step, promised = step / 2, promised / 2
        weights = weights - step
        value, gradient, curvature = moved
    raise InputError(
        f"The weights do not settle within {_STEPS} steps of Newton's method. Check the data for extremes."
    )
