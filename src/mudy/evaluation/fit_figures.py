"""What fitted weights are worth: F1 of the rankings, and how far their probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mudy.evaluation.fit_texts import FitText
from mudy.evaluation.measures import DEPTHS, F1, Outcome
from mudy.evaluation.probabilities import Calibration
from mudy.extraction.ranking import rank
from mudy.methods.method import same_at_each
from mudy.methods.mudyplus.evidence_table import Numbers
from mudy.methods.mudyplus.fitting import Sample, text_shares

MEAN = "mean"  # of all data sets
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
    """Over all candidates; every data set weighs the same for each of its texts."""
    samples = [Sample(text.dataset, np.zeros((len(text.hits), 0)), text.hits, np.zeros(0)) for text in texts]
    return Calibration.of(name, chances, [text.hits for text in texts], text_shares(samples, per_phrase=True))
