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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mudy.errors import InputError, SettingError
from mudy.evaluation.datasets import Dataset
from mudy.evaluation.evidence_cache import EvidenceCache
from mudy.evaluation.experiment import refuse_equal_names
from mudy.evaluation.fit_figures import Figure, calibration, f1_values, mean_figure
from mudy.evaluation.fit_texts import FitText, fit_text, log_odds
from mudy.evaluation.probabilities import Calibration
from mudy.extraction.extractor import Extractor
from mudy.extraction.run_identity import requested_settings
from mudy.methods.mudyplus.calibration import Bend, calibrate
from mudy.methods.mudyplus.cascade import MOST, MudyPlus
from mudy.methods.mudyplus.evidence.places import Numbers
from mudy.methods.mudyplus.evidence_table import CHEAP, CONTEXT, EVIDENCE
from mudy.methods.mudyplus.fitting import RIDGE, Fit, Sample, expit, fit, leave_one_out, text_shares
from mudy.methods.mudyplus.weights import Sum, Weights

FOLDS = 5  # of the texts, where there is one data set
LEAST_TEXTS = 2  # one to fit on, one to measure on
ENOUGH_TEXTS = 50  # with fewer, the weights follow the texts' chances
SET_BY_HAND: Mapping[str, Mapping[str, float]] = {  # as for the shipped weights; before the calibration scales all
    "quick": {"generic": -2.5, "plain_generic": -1.0, "nested_frequency": 0.3},
    "full": {"generic": -3.0, "plain_generic": -1.5, "nested_frequency": 0.18},
}
WeightsOf = Callable[[FitText], Weights]
FitProgress = Callable[[str, int, int], None]  # what is being done, texts done, of how many


@dataclass(frozen=True)
class FittedWeights:
    """Weights, and how good they are on their own texts and on texts that were left out."""

    weights: Weights
    figures: tuple[Figure, ...]
    calibrations: tuple[Calibration, ...]  # of texts that were left out; one for each sum
    left_out: str  # what is left out at once, in words
    telling: int  # texts with a gold phrase among their candidates

    def to_dict(self) -> dict[str, Any]:
        return {
            "weights": self.weights.to_dict(),
            "left_out": self.left_out,
            "figures": [figure.to_dict() for figure in self.figures],
            "calibration": {own.name: own.to_dict() for own in self.calibrations},
        }


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
    by_hand: Mapping[str, Mapping[str, float]] = {name: {} for name in SET_BY_HAND} if fit_all else SET_BY_HAND
    known = None if cache is None else EvidenceCache.at(cache, extractor)
    texts = gather(extractor, datasets, known, progress or (lambda *_: None))
    leaders = method.leaders if method.backbone is not None else 0
    judged = judge_texts(texts, method.fitted_weights, leaders, by_hand, fit_options(extractor, by_hand))
    return judged.fitted()


def judge_texts(
    texts: Sequence[FitText],
    before: Weights,
    leaders: int,
    by_hand: Mapping[str, Mapping[str, float]] = SET_BY_HAND,
    options: Mapping[str, Any] | None = None,
) -> JudgedWeights:
    """Weights fitted on texts, and on all parts of them but one, with the texts that they are judged on."""
    usable = in_parts([text for text in texts if text.candidates])
    samples = [text.sample(CHEAP) for text in usable]
    telling = check_samples(samples, "its candidates")
    fitted_on = dict(Counter(text.dataset for text in usable))
    overall = Weights(_fitted_sum(samples, CHEAP, by_hand["quick"]), None, fitted_on, dict(options or {}))
    without = {
        part: replace(overall, quick=own)
        for part, own in _left_out_sums(usable, samples, CHEAP, by_hand["quick"]).items()
    }
    if leaders:
        overall = _with_full(usable, overall, leaders, by_hand["full"])
        without = {
            part: _with_full([text for text in usable if text.part != part], own, leaders, by_hand["full"])
            for part, own in without.items()
        }
    overall, without = _calibrated(usable, overall, without, leaders)
    empty = [text for text in texts if not text.candidates]
    return JudgedWeights(usable, empty, before, leaders, overall, without, telling)


# -- Evidence ---------------------------------------------------------------------------------------------------------


def gather(
    extractor: Extractor, datasets: Sequence[Dataset], cache: EvidenceCache | None, show: FitProgress
) -> list[FitText]:
    """Every text with its evidence, from the cache where it is there."""
    method, texts = extractor.scorer, []
    assert isinstance(method, MudyPlus)
    for data in datasets:
        for done, record in enumerate(data.documents):
            show(f"Reading {data.name}", done, len(data.documents))
            known = cache.get(data, record) if cache else None
            text = known or fit_text(extractor, method, data, record)
            if cache and known is None:
                cache.add(data, record, text)
            texts.append(text)
    return texts


def in_parts(texts: Sequence[FitText]) -> list[FitText]:
    """The texts in parts that are left out in turn: data sets or, of a single one, folds of its texts."""
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


# -- Sums -------------------------------------------------------------------------------------------------------------


def _fitted_sum(samples: Sequence[Sample], names: Sequence[str], by_hand: Mapping[str, float]) -> Sum:
    return _sum(fit(samples, RIDGE, _columns(names, by_hand)), names)


def _with_full(texts: Sequence[FitText], weights: Weights, leaders: int, by_hand: Mapping[str, float]) -> Weights:
    """The weights with a sum of all evidence, fitted on the phrases that lead without the language model."""
    samples = [text.sample(EVIDENCE, text.leaders(weights.quick, leaders)) for text in texts]
    check_samples(samples, "the phrases that the language model was asked about")
    return replace(weights, full=_fitted_sum(samples, EVIDENCE, by_hand))


def _left_out_sums(
    texts: Sequence[FitText], samples: Sequence[Sample], names: Sequence[str], by_hand: Mapping[str, float]
) -> dict[str, Sum]:
    """For each part, a sum fitted on the others."""
    fits = leave_one_out(samples, RIDGE, _columns(names, by_hand), [text.part for text in texts])
    return {part: _sum(own, names) for part, own in fits.items()}


def _calibrated(
    texts: Sequence[FitText], overall: Weights, without: Mapping[str, Weights], leaders: int
) -> tuple[Weights, dict[str, Weights]]:
    """The weights with the bend that texts left out ask for: one number for each sum, the same for all weights."""
    hits = [text.hits for text in texts]
    shares = text_shares([text.sample(CHEAP) for text in texts], per_phrase=True)

    def bend(*, with_model: bool) -> Bend:
        used = {part: own if with_model else replace(own, full=None) for part, own in without.items()}
        return calibrate([log_odds(text, used[text.part], leaders) for text in texts], hits, shares)

    quick = bend(with_model=False)
    full = None if overall.full is None else bend(with_model=True)

    def bent(weights: Weights) -> Weights:
        last = replace(weights.full, calibration=full) if weights.full is not None and full is not None else None
        return replace(weights, quick=replace(weights.quick, calibration=quick), full=last)

    return bent(overall), {part: bent(own) for part, own in without.items()}


def _columns(names: Sequence[str], by_hand: Mapping[str, float]) -> dict[int, float]:
    return {names.index(name): weight for name, weight in by_hand.items()}


def _sum(own: Fit, names: Sequence[str]) -> Sum:
    evidence = dict(zip(names, own.weights.tolist(), strict=True))
    return Sum(evidence, dict(zip(CONTEXT, own.context_weights.tolist(), strict=True)), own.intercept)


def fit_options(extractor: Extractor, by_hand: Mapping[str, Mapping[str, float]] = SET_BY_HAND) -> dict[str, Any]:
    """How the weights were fitted, ready for JSON."""
    asked = {name: value for name, value in requested_settings(extractor).items() if value not in (None, {})}
    return {**asked, "ridge": RIDGE, "set_by_hand": {name: dict(own) for name, own in by_hand.items()}}


# -- Figures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgedWeights:
    """Texts, and the weights that each is judged by."""

    texts: Sequence[FitText]
    empty: Sequence[FitText]  # without candidates: nothing is found in them
    before: Weights  # those that the extractor had
    leaders: int
    overall: Weights
    without: Mapping[str, Weights]  # part -> weights fitted on the others
    telling: int  # texts with a gold phrase among their candidates, beside others

    @property
    def sums(self) -> tuple[str, ...]:
        return ("quick",) if self.overall.full is None else ("quick", "full")

    def fitted(self) -> FittedWeights:
        one = len(self.overall.fitted_on) == 1
        left_out = f"one of {len(self.without)} folds of the texts" if one else "one data set"
        return FittedWeights(self.overall, self.figures(), self.calibrations(), left_out, self.telling)

    def chances(self, texts: Sequence[FitText], name: str, weights_of: WeightsOf) -> list[Numbers]:
        """The probabilities of the candidates of each text."""
        found = []
        for text in texts:
            weights = weights_of(text)
            used = replace(weights, full=None) if name == "quick" else weights
            bent = (used.full or used.quick).calibration.bent(log_odds(text, used, self.leaders))
            found.append(np.clip(expit(bent), 1 - MOST, MOST))
        return found

    def figures(self) -> tuple[Figure, ...]:
        """For each sum: every data set, and their mean if there are several."""
        figures: list[Figure] = []
        for name in self.sums:
            rows = [self.figure(dataset, name) for dataset in self.overall.fitted_on]
            figures += rows if len(rows) == 1 else [*rows, mean_figure(rows)]
        return tuple(figures)

    def figure(self, dataset: str, name: str) -> Figure:
        texts = self.of(dataset)
        weights: tuple[WeightsOf, ...] = (lambda _: self.before, lambda _: self.overall, self.left_out)
        values = [f1_values(texts, self.chances(texts, name, weights_of)) for weights_of in weights]
        return Figure(dataset, len(texts), name, *values)

    def of(self, dataset: str) -> list[FitText]:
        """All texts of a data set."""
        return [text for text in (*self.texts, *self.empty) if text.dataset == dataset]

    def left_out(self, text: FitText) -> Weights:
        return self.without.get(text.part, self.overall)  # of a text without candidates it does not matter

    def calibrations(self) -> tuple[Calibration, ...]:
        return tuple(calibration(name, self.texts, self.chances(self.texts, name, self.left_out)) for name in self.sums)
