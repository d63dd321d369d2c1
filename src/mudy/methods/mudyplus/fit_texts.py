"""Texts with gold keyphrases and all evidence of their candidates -> both sums, fitted on all and without each part.

The evidence is that of the method with the weights that it has, but the language model is asked about more phrases than
will lead. `quick` is fitted on all candidates, `full` on those that lead by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import cancellable
from mudy.errors import InputError
from mudy.methods.mudyplus.cascade import MudyPlus, in_long_text, leading, not_asked, ordered
from mudy.methods.mudyplus.evidence import CHEAP, CONTEXT, EVIDENCE, Numbers, Table
from mudy.methods.mudyplus.fitting import PULL, Fit, Sample, calibrate, fit, text_shares
from mudy.methods.mudyplus.near import Pair, repeated
from mudy.methods.mudyplus.weights import Bend, Sum, Weights, built_in_styles, probabilities
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.stemming import stems_of
from mudy.reading.document import Document

ASKED = 1.5  # times as many phrases are scored by the language model while fitting as will lead
MAIN = 3.0  # what a phrase that names a main subject is worth in a fit, beside one that names another
FOLDS = 20  # of the texts, where there is one data set; up to so many are left out one by one
LEAST_TEXTS = 3  # two to fit on, one to measure on
FitSum = Callable[[Sequence[Sample], str], Sum]  # fits the sum of a name, "quick" or "full"


@dataclass(frozen=True)
class FitText:
    """One text with its evidence, its gold, and the part of the data that is left out together with it."""

    dataset: str
    id: str
    text: str
    candidates: tuple[Candidate, ...]
    gold: tuple[str, ...]
    table: Table
    asked: tuple[int, ...] = ()  # rows that the language model was asked about
    states: NDArray[np.float16] | None = None  # of the asked rows by the language model; (asked, width)
    alike: tuple[Pair, ...] = ()
    part: str = ""
    language: str = "en"
    words: int = 0
    weight: float = 1.0  # of its data set in a fit, beside one of as many texts
    main: tuple[str, ...] = ()  # gold phrases that name main subjects, where the gold tells them from others

    @classmethod
    def of(
        cls, method: MudyPlus, document: Document, candidates: tuple[Candidate, ...], gold: Sequence[str], *about: str
    ) -> FitText:
        """A text that was read, with all evidence that the method has; `about` are its data set and its id."""
        gold = tuple(phrase.lower() for phrase in gold)
        dataset, key = about
        empty = cls(dataset, key, document.text, candidates, gold, Table({}, {}), language=document.language)
        if not candidates:
            return empty
        asking, quick = replace(method, leaders=round(ASKED * method.leaders)), method.weights_for(document).quick
        (text,) = asking.with_similarities([method.counted(document, candidates)], [quick])
        if method.asks:
            (text,) = asking.with_answers([text], [ordered(quick.log_odds(text.table))])
        answered = replace(empty, table=text.table, asked=tuple(text.answers), words=document.word_count)
        states = [answer.state for answer in text.answers.values()]
        width = max((len(state) for state in states if state is not None), default=0)
        rows = [np.zeros(width) if state is None else state for state in states]
        return replace(answered, states=np.array(rows, np.float16) if width else None, alike=text.alike)

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """Which candidates have the stems of a gold phrase."""
        return np.array([self.is_gold(candidate.phrase) for candidate in self.candidates], dtype=bool)

    @cached_property
    def worth(self) -> Numbers:
        """What each candidate is worth if it is right."""
        main = self._stems(self.main)
        named = [bool(main) and stems_of(candidate.phrase, self.language) in main for candidate in self.candidates]
        return np.where(named, MAIN, 1.0)

    def is_gold(self, phrase: str) -> bool:
        return stems_of(phrase, self.language) in self._gold_stems

    @cached_property
    def _gold_stems(self) -> frozenset[tuple[str, ...]]:
        return self._stems(self.gold)

    def _stems(self, phrases: Sequence[str]) -> frozenset[tuple[str, ...]]:
        return frozenset(stems_of(phrase, self.language) for phrase in phrases)

    def sample(self, names: Sequence[str], rows: Sequence[int] | None = None) -> Sample:
        """Some evidence of some rows, or of all, to fit on."""
        chosen = slice(None) if rows is None else list(rows)
        context = np.array([self.table.context[name] for name in CONTEXT])
        evidence, hits, worth = self.table.rows(names)[chosen], self.hits[chosen], self.worth[chosen]
        return Sample(self.dataset, evidence, hits, context, self.weight, worth)

    @property
    def occurrences(self) -> int:
        """How often all candidates together occur."""
        return sum(len(candidate.occurrences) for candidate in self.candidates)

    @property
    def tells(self) -> bool:
        """Whether there is a gold phrase among the candidates, beside others."""
        return bool(self.hits.any() and not self.hits.all())

    def leaders(self, weights: Sum, most: int) -> list[int]:
        """The rows that lead by a sum, of those that the language model was asked about."""
        rows = leading(weights.log_odds(self.table), in_long_text(most, self.words))
        return sorted(set(rows).intersection(self.asked))

    def log_odds(self, weights: Weights, leaders: int) -> Numbers:
        """Those that MUDY+ gives every candidate: by `quick`, and those of the leaders by `full` if there is one."""
        if not self.candidates:
            return np.zeros(0)
        values, last = weights.quick.log_odds(self.table), weights.full or weights.quick
        if weights.full is not None and (asked := self.leaders(weights.quick, leaders)):
            values[asked] = weights.full.log_odds(self.table)[asked]
            rest, lead = not_asked(values, asked)
            values[rest] -= lead
        return values - repeated(values, self.alike, last.repeats)

    def chances(self, weights: Weights, leaders: int) -> Numbers:
        """The probabilities that MUDY+ gives every candidate."""
        bent = (weights.full or weights.quick).calibration.bent(self.log_odds(weights, leaders))
        return probabilities(bent)


# -- Fits -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fits:
    """Weights fitted on texts, and on all parts of them but one."""

    texts: Sequence[FitText]
    leaders: int  # phrases that the language model is asked about; 0: there is none
    weights: Weights
    without: Mapping[str, Weights]  # part -> weights fitted on the others

    @property
    def left_out(self) -> str:
        """What is left out at once, in words."""
        if len(self.weights.fitted_on) > 1:
            return "one data set"
        return "one text" if len(self.without) == len(self.texts) else f"one of {len(self.without)} folds of the texts"


def fit_parts(texts: Sequence[FitText], leaders: int, fit_sum: FitSum) -> Fits:
    """Fit weights on all texts, and on all parts of them but one."""
    usable = in_parts([text for text in texts if text.candidates])
    check_samples([text.sample(CHEAP) for text in usable], "its candidates")
    weights = fitted_weights(usable, leaders, fit_sum)
    without = {
        part: fitted_weights([text for text in usable if text.part != part], leaders, fit_sum)
        for part in cancellable(dict.fromkeys(text.part for text in usable))
    }
    bends = {name: _bend(usable, without, name, leaders) for name in (("quick", "full") if leaders else ("quick",))}
    bent = {part: _with_bends(fitted, bends) for part, fitted in without.items()}
    return Fits(usable, leaders, _with_bends(weights, bends), bent)


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


def check_samples(samples: Sequence[Sample], among: str) -> None:
    """InputError where there are too few texts to learn from, or none in a data set."""
    telling = Counter(sample.dataset for sample in samples if sample.tells)
    if not telling:
        raise InputError(f"Nothing can be fitted: no text has a gold phrase among {among}, beside others.")
    for name in dict.fromkeys(sample.dataset for sample in samples):
        if not telling[name]:
            raise InputError(f"{name}: no text has a gold phrase among {among}, beside others. Leave this set out.")
    if telling.total() < LEAST_TEXTS:
        number = f"Only {telling.total()} text{' has' if telling.total() == 1 else 's have'}"
        raise InputError(f"{number} a gold phrase among {among}, beside others; at least {LEAST_TEXTS} are needed.")


def fitted_weights(texts: Sequence[FitText], leaders: int, fit_sum: FitSum) -> Weights:
    """Both sums: `quick` of all candidates, `full` of those that lead by it; without leaders, `quick` alone."""
    fitted_on = dict(Counter(text.dataset for text in texts))
    quick = fit_sum([text.sample(CHEAP) for text in texts], "quick")
    asked = [text.sample(EVIDENCE, text.leaders(quick, leaders)) for text in texts] if leaders else []
    return Weights(quick, fit_sum(asked, "full") if leaders else None, fitted_on)


def from_prior(
    prior: Weights, texts: Sequence[FitText], styles: Sequence[Weights] | None = None, pull: float = PULL
) -> FitSum:
    """Fits that change weights as far as the texts ask for, most easily towards other styles.

    By default these are the built-in ones for the language of most texts.
    """
    languages = Counter(text.language for text in texts if text.candidates).most_common(1)
    if styles is None:
        styles = built_in_styles(languages[0][0]) if languages else ()

    def fit_sum(samples: Sequence[Sample], name: str) -> Sum:
        names = CHEAP if name == "quick" else EVIDENCE
        own, *others = (each.quick if name == "quick" else each.with_model for each in (prior, *styles))
        if not any(sample.tells for sample in samples):
            return own
        directions = sqrt(pull) * style_directions(own, others, names)
        fitted = fit(samples, pull / len(samples), None, as_fit(own, names), directions)
        return as_sum(fitted, names, own.repeats)

    return fit_sum


def as_fit(known: Sum, names: Sequence[str]) -> Fit:
    weights = np.array([known.evidence.get(name, 0.0) for name in names])
    return Fit(weights, np.array([known.context.get(name, 0.0) for name in CONTEXT]), known.intercept)


def as_sum(fitted: Fit, names: Sequence[str], repeats: float) -> Sum:
    evidence = dict(zip(names, fitted.weights.tolist(), strict=True))
    context = dict(zip(CONTEXT, fitted.context_weights.tolist(), strict=True))
    return Sum(evidence, context, fitted.intercept, repeats=repeats)


def style_directions(prior: Sum, styles: Sequence[Sum], names: Sequence[str]) -> Numbers:
    """The differences of styles from a prior, whose mean square is the variance; (styles, names).

    A style without a weight for some evidence never saw it, and says nothing about it.
    """
    others = [style for style in styles if style.evidence != prior.evidence]
    rows = [
        [style.evidence[name] - prior.evidence.get(name, 0.0) if style.evidence.get(name) else 0.0 for name in names]
        for style in others
    ]
    return np.array(rows).reshape(-1, len(names)) / sqrt(max(1, len(rows)))


def _bend(texts: Sequence[FitText], without: Mapping[str, Weights], name: str, leaders: int) -> Bend:
    """The bend that texts left out ask for: one number for each sum, the same for all weights."""
    shares = text_shares([text.sample(CHEAP) for text in texts], per_phrase=True)
    values = [text.log_odds(only(name, without[text.part]), leaders) for text in texts]
    return calibrate(values, [text.hits for text in texts], shares)


def _with_bends(weights: Weights, bends: Mapping[str, Bend]) -> Weights:
    full = None if weights.full is None else replace(weights.full, calibration=bends["full"])
    return replace(weights, quick=replace(weights.quick, calibration=bends["quick"]), full=full)


def only(name: str, weights: Weights) -> Weights:
    """The weights as one sum uses them: `quick` asks no language model."""
    return replace(weights, full=None) if name == "quick" else weights
