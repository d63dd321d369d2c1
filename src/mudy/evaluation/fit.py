"""Weights of MUDY+ from data sets with gold keyphrases, with figures of what they are worth.

>>> fitted = fit_weights(Extractor(protocol="promptrank"), [load("mine.jsonl")])
>>> Path("mine.json").write_text(json.dumps(fitted.weights.to_dict()))

Evidence is computed once for each text, and kept if a cache is named: counted and encoded as the method does it, and
the language model is asked about more phrases than will lead. `quick` is fitted on all candidates, `full` on those that
lead by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mudy.errors import InputError, SettingError
from mudy.evaluation.datasets import Dataset
from mudy.evaluation.experiment import refuse_equal_names
from mudy.evaluation.fit_texts import EvidenceCache, FitProgress, FitText, fit_settings, gather, log_odds
from mudy.evaluation.measures import DEPTHS, F1, Predictions
from mudy.evaluation.probabilities import Calibration
from mudy.extraction.extractor import Extractor
from mudy.extraction.ranking import rank
from mudy.methods.method import same_at_each
from mudy.methods.mudyplus.cascade import MOST, MudyPlus
from mudy.methods.mudyplus.evidence_table import CHEAP, CONTEXT, EVIDENCE, Numbers
from mudy.methods.mudyplus.fitting import RIDGE, Bend, Sample, calibrate, expit, fit, text_shares
from mudy.methods.mudyplus.weights import Sum, Weights

FOLDS = 5  # of the texts, where there is one data set
LEAST_TEXTS = 2  # one to fit on, one to measure on
ENOUGH_TEXTS = 50  # with fewer, the weights follow the texts' chances
ByHand = Mapping[str, Mapping[str, float]]  # sum -> evidence -> its weight
SET_BY_HAND: ByHand = {  # as for the shipped weights; before the calibration scales all
    "quick": {"generic": -2.5, "plain_generic": -1.0, "nested_frequency": 0.3},
    "full": {"generic": -3.0, "plain_generic": -1.5, "nested_frequency": 0.18},
}
MEAN = "mean"  # of all data sets
WeightsOf = Callable[[FitText], Weights]
F1Values = tuple[float, ...]  # one for each of DEPTHS


def fit_weights(
    extractor: Extractor,
    datasets: Sequence[Dataset],
    *,
    fit_all: bool = False,
    cache: str | Path | None = None,
    progress: FitProgress | None = None,
) -> FittedWeights:
    """Fit the weights of an extractor's MUDY+ on data sets.

    Without a language model (speed "quick") the weights have no sum `full`, and speeds that need it refuse them. Some
    weights are set by hand, as for those shipped, unless `fit_all`. Figures on texts left out come from weights fitted
    on the other data sets or, where there is one, on the other folds of its texts. `cache` is a folder that keeps
    evidence: what it holds is not computed again.
    """
    method = extractor.scorer
    if not isinstance(method, MudyPlus):
        raise SettingError(f"Weights are fitted for mudyplus; {extractor.method} has none.")
    refuse_equal_names(datasets)
    by_hand: ByHand = {name: {} for name in SET_BY_HAND} if fit_all else SET_BY_HAND
    known = None if cache is None else EvidenceCache.at(cache, extractor)
    texts = gather(extractor, datasets, known, progress or (lambda *_: None))
    leaders = method.leaders if method.backbone is not None else 0
    return fit_on_texts(texts, method.loaded_weights, leaders, by_hand, fit_options(extractor, by_hand))


def fit_on_texts(
    texts: Sequence[FitText],
    before: Weights,
    leaders: int,
    by_hand: ByHand = SET_BY_HAND,
    options: Mapping[str, Any] | None = None,
    ridge: float = RIDGE,
) -> FittedWeights:
    """Weights fitted on texts, and on all parts of them but one, with the texts that they are judged on."""
    usable = in_parts([text for text in texts if text.candidates])
    telling = check_samples([text.sample(CHEAP) for text in usable], "its candidates")
    overall = replace(_fitted(usable, leaders, by_hand, ridge), options=dict(options or {}))
    without = {
        part: _fitted([text for text in usable if text.part != part], leaders, by_hand, ridge)
        for part in dict.fromkeys(text.part for text in usable)
    }
    bends = {name: _bend(usable, without, name, leaders) for name in (("quick", "full") if leaders else ("quick",))}
    empty = [text for text in texts if not text.candidates]
    bent = {part: _with_bends(weights, bends) for part, weights in without.items()}
    return FittedWeights(usable, empty, before, leaders, _with_bends(overall, bends), bent, telling)


def in_parts(texts: Sequence[FitText]) -> list[FitText]:
    """The texts in parts that are left out in turn: as they say, else data sets or, of a single one, folds of it."""
    if all(text.part for text in texts):
        return list(texts)
    if len({text.dataset for text in texts}) != 1:
        return [replace(text, part=text.dataset) for text in texts]
    folds = min(FOLDS, sum(text.tells for text in texts))
    order = sorted(range(len(texts)), key=lambda index: not texts[index].tells)  # each fold has texts to learn from
    fold = {index: f"fold {place % max(1, folds) + 1}" for place, index in enumerate(order)}
    return [replace(text, part=fold[index]) for index, text in enumerate(texts)]


def check_samples(samples: Sequence[Sample], among: str) -> int:
    """How many texts there are to learn from; InputError where there are too few, or none in a data set."""
    telling = Counter(sample.dataset for sample in samples if sample.tells)
    if not telling:
        raise InputError(f"Nothing can be fitted: no text has a gold phrase among {among}, beside others.")
    for name in dict.fromkeys(sample.dataset for sample in samples):
        if not telling[name]:
            raise InputError(f"{name}: no text has a gold phrase among {among}, beside others. Leave this set out.")
    if telling.total() < LEAST_TEXTS:
        raise InputError(
            f"Only {telling.total()} text has a gold phrase among {among}, beside others; at least {LEAST_TEXTS} are "
            f"needed, and {ENOUGH_TEXTS} or more for weights to rely on."
        )
    return telling.total()


def _fitted(texts: Sequence[FitText], leaders: int, by_hand: ByHand, ridge: float) -> Weights:
    """Both sums: `quick` of all candidates, `full` of those that lead by it; without leaders, `quick` alone."""
    fitted_on = dict(Counter(text.dataset for text in texts))
    quick = _fitted_sum([text.sample(CHEAP) for text in texts], CHEAP, by_hand["quick"], ridge)
    if not leaders:
        return Weights(quick, None, fitted_on)
    samples = [text.sample(EVIDENCE, text.leaders(quick, leaders)) for text in texts]
    check_samples(samples, "the phrases that the language model was asked about")
    return Weights(quick, _fitted_sum(samples, EVIDENCE, by_hand["full"], ridge), fitted_on)


def _fitted_sum(samples: Sequence[Sample], names: Sequence[str], by_hand: Mapping[str, float], ridge: float) -> Sum:
    fitted = fit(samples, ridge, {names.index(name): weight for name, weight in by_hand.items()})
    evidence = dict(zip(names, fitted.weights.tolist(), strict=True))
    return Sum(evidence, dict(zip(CONTEXT, fitted.context_weights.tolist(), strict=True)), fitted.intercept)


def _bend(texts: Sequence[FitText], without: Mapping[str, Weights], name: str, leaders: int) -> Bend:
    """The bend that texts left out ask for: one number for each sum, the same for all weights."""
    shares = text_shares([text.sample(CHEAP) for text in texts], per_phrase=True)
    sums = [log_odds(text, only(name, without[text.part]), leaders) for text in texts]
    return calibrate(sums, [text.hits for text in texts], shares)


def _with_bends(weights: Weights, bends: Mapping[str, Bend]) -> Weights:
    full = None if weights.full is None else replace(weights.full, calibration=bends["full"])
    return replace(weights, quick=replace(weights.quick, calibration=bends["quick"]), full=full)


def only(name: str, weights: Weights) -> Weights:
    """The weights as one sum uses them: `quick` asks no language model."""
    return replace(weights, full=None) if name == "quick" else weights


def fit_options(extractor: Extractor, by_hand: ByHand = SET_BY_HAND, ridge: float = RIDGE) -> dict[str, Any]:
    """How the weights were fitted, ready for JSON."""
    asked = {name: value for name, value in fit_settings(extractor).items() if value not in (None, {})}
    return {**asked, "ridge": ridge, "set_by_hand": {name: dict(weights) for name, weights in by_hand.items()}}


# -- What the weights are worth ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FittedWeights:
    """Fitted weights with their texts, and how good they are on these texts and on texts that were left out."""

    texts: Sequence[FitText]
    empty: Sequence[FitText]  # texts without candidates: nothing is found in them
    before: Weights  # those that the extractor had
    leaders: int
    weights: Weights
    without: Mapping[str, Weights]  # part -> weights fitted on the others
    telling: int  # texts with a gold phrase among their candidates, and other candidates

    @property
    def sums(self) -> tuple[str, ...]:
        return ("quick",) if self.weights.full is None else ("quick", "full")

    @property
    def left_out(self) -> str:
        """What is left out at once, in words."""
        one = len(self.weights.fitted_on) == 1
        return f"one of {len(self.without)} folds of the texts" if one else "one data set"

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """For each sum: every data set, and their mean if there are several."""
        figures: list[Figure] = []
        for name in self.sums:
            rows = [self._figure(dataset, name) for dataset in self.weights.fitted_on]
            figures += rows if len(rows) == 1 else [*rows, _mean_figure(rows)]
        return tuple(figures)

    @cached_property
    def calibrations(self) -> tuple[Calibration, ...]:
        """How far the probabilities of texts left out can be trusted, for each sum."""
        hits = [text.hits for text in self.texts]
        shares = text_shares([replace(text, weight=1.0).sample(CHEAP) for text in self.texts], per_phrase=True)
        chances = {name: self.chances(self.texts, name, self.weights_without) for name in self.sums}
        return tuple(Calibration.of(name, chances[name], hits, shares) for name in self.sums)

    def weights_without(self, text: FitText) -> Weights:
        """The weights fitted without a text's part."""
        return self.without.get(text.part, self.weights)  # of a text without candidates it does not matter

    def of(self, dataset: str) -> list[FitText]:
        """All texts of a data set."""
        return [text for text in (*self.texts, *self.empty) if text.dataset == dataset]

    def chances(self, texts: Sequence[FitText], name: str, weights_of: WeightsOf) -> list[Numbers]:
        """The probabilities of the candidates of each text."""
        chances = []
        for text in texts:
            used = only(name, weights_of(text))
            bent = (used.full or used.quick).calibration.bent(log_odds(text, used, self.leaders))
            chances.append(np.clip(expit(bent), 1 - MOST, MOST))
        return chances

    def _figure(self, dataset: str, name: str) -> Figure:
        texts = self.of(dataset)
        weights: tuple[WeightsOf, ...] = (lambda _: self.before, lambda _: self.weights, self.weights_without)
        values = [_f1_values(texts, self.chances(texts, name, weights_of)) for weights_of in weights]
        return Figure(dataset, len(texts), name, *values)

    def to_dict(self) -> dict[str, Any]:
        return {
            "weights": self.weights.to_dict(),
            "left_out": self.left_out,
            "figures": [asdict(figure) for figure in self.figures],
            "calibration": {calibration.name: calibration.to_dict() for calibration in self.calibrations},
        }


@dataclass(frozen=True)
class Figure:
    """F1 at 5, 10 and 15 on a data set, by one sum with three sets of weights."""

    dataset: str
    documents: int
    sum: str  # "quick" or "full"
    before: F1Values  # the weights that the extractor had
    fitted: F1Values  # on these very texts
    left_out: F1Values  # fitted on others


def _f1_values(texts: Sequence[FitText], chances: Sequence[Numbers]) -> F1Values:
    """Micro F1 in per cent, ranked and counted as `mudy evaluate` does."""
    documents = [predictions(text, numbers, max(DEPTHS)) for text, numbers in zip(texts, chances, strict=True)]
    return tuple((F1 @ depth)(documents) for depth in DEPTHS)


def _mean_figure(figures: Sequence[Figure]) -> Figure:
    """The mean over data sets, each weighing the same."""
    columns = [
        tuple(float(np.mean(values)) for values in zip(*rows, strict=True))
        for rows in zip(*((figure.before, figure.fitted, figure.left_out) for figure in figures), strict=True)
    ]
    return Figure(MEAN, sum(figure.documents for figure in figures), figures[0].sum, *columns)


def predictions(text: FitText, chances: Numbers, top_n: int | None, **ranking: Any) -> Predictions:
    """The best phrases of a text next to its gold; `ranking` are other arguments of `rank`."""
    scores = same_at_each(text.candidates, chances.tolist())
    arguments = {"merge": False, **ranking}
    best = rank(text.text, text.candidates, scores, top_n=top_n, language=text.language, **arguments)
    return Predictions(text.id, [keyphrase.text.lower() for keyphrase in best], text.gold, len(scores), text.language)
