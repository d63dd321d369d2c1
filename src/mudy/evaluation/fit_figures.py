"""What fitted weights are worth: F1 of the rankings, and how far their probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mudy.evaluation.fit_texts import FitText
from mudy.evaluation.measures import DEPTHS, F1, Outcome
from mudy.evidence.places import Numbers
from mudy.methods.method import same_at_each
from mudy.methods.mudyplus.fitting import Sample, brier, reliability, text_shares
from mudy.ranking import rank

MEAN = "mean"  # of all data sets
_EDGES = (*np.linspace(0, 0.9, 10).round(1).tolist(), float(np.nextafter(1, 2)))  # of a reliability table
_Values = tuple[float, ...]  # one for each of DEPTHS


@dataclass(frozen=True)
class Figure:
    """F1 at 5, 10 and 15 on a data set, by one sum with three sets of weights."""

    dataset: str
    documents: int
    sum: str  # "quick" or "full"
    before: _Values  # the weights that the extractor had
    fitted: _Values  # on these very texts
    left_out: _Values  # fitted on others

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Calibration:
    """How near the probabilities of a sum come to the truth, on texts that were left out of the fit."""

    sum: str
    brier: float
    brier_of_mean: float  # of the share of right phrases, given to all
    reliability: Mapping[str, tuple[float, float, int]]  # bin -> mean probability, share of right phrases, phrases

    def to_dict(self) -> dict[str, Any]:
        bins = {
            name: {"probability": mean, "right": right, "phrases": count}
            for name, (mean, right, count) in self.reliability.items()
        }
        return {"brier": self.brier, "brier_of_mean": self.brier_of_mean, "reliability": bins}


def f1_values(texts: Sequence[FitText], chances: Sequence[Numbers]) -> _Values:
    """Micro F1 in per cent, ranked and counted as `mudy evaluate` does."""
    outcomes = [outcome(text, own, max(DEPTHS)) for text, own in zip(texts, chances, strict=True)]
    return tuple((F1 @ depth)(outcomes) for depth in DEPTHS)


def outcome(
    text: FitText, chances: Numbers, top_n: int | None, *, min_score: float | None = None, distinct: bool = False
) -> Outcome:
    """The best phrases of a text beside its gold."""
    scores = same_at_each(text.candidates, chances.tolist())
    best = rank(
        text.text,
        text.candidates,
        scores,
        merge=distinct,
        top_n=top_n,
        min_score=min_score,
        distinct=distinct,
        language=text.language,
    )
    return Outcome(text.id, [keyphrase.text.lower() for keyphrase in best], text.gold, len(scores), text.language)


def mean_figure(figures: Sequence[Figure]) -> Figure:
    """The mean over data sets, each weighing the same."""
    columns = [
        tuple(float(np.mean(values)) for values in zip(*rows, strict=True))
        for rows in zip(*((figure.before, figure.fitted, figure.left_out) for figure in figures), strict=True)
    ]
    return Figure(MEAN, sum(figure.documents for figure in figures), figures[0].sum, *columns)


def calibration(name: str, texts: Sequence[FitText], chances: Sequence[Numbers]) -> Calibration:
    """Over all candidates; for Brier's score every data set weighs the same."""
    hits = [text.hits for text in texts]
    samples = [Sample(text.dataset, np.zeros((len(text.hits), 0)), text.hits, np.zeros(0)) for text in texts]
    shares = text_shares(samples, per_phrase=True)
    rate = sum(share * float(own.sum()) for share, own in zip(shares, hits, strict=True))
    table = reliability(np.concatenate(chances), np.concatenate(hits), _EDGES)
    return Calibration(name, brier(chances, hits, shares), rate * (1 - rate), table)
