"""How good ranked keyphrases are: measures as values, `[F1 @ 5, F1 @ 10, F1 @ 15]`, in the manner of two lineages.

A measure is taken of `Outcome`s, one a document, and comes in per cent:

    >>> outcomes = [Outcome("a", ["oil spill", "tanker"], ["oil spills", "alaska"])]
    >>> (F1 @ 5)(outcomes), (P @ 5)(outcomes, MACRO)
    (50.0, 50.0)

MICRO is PromptRank's manner, which MDERank and MUDY share; MACRO that of JointGL, SAMRank and Attention-Seeker. Numbers
of one are not to be put beside numbers of the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mudy.errors import InputError, SettingError
from mudy.porter import stems
from mudy.validation import checked, phrases, seen, several

Numbers = NDArray[np.float64]
DEPTHS = (5, 10, 15)  # of the published tables
SAMPLES = 2000  # of a bootstrap
_DRAWN_AT_ONCE = 1_000_000  # documents
_EQUAL = 1e-9  # per cent; differences below are float noise


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was predicted for one document, best first, and what should have been.

    `occurrences` is how often the candidates stand in the text, all of them together; None where there are no
    candidates, and the phrases themselves are counted.
    """

    id: str
    predictions: Sequence[str]
    gold: Sequence[str]
    occurrences: int | None = None

    def __post_init__(self) -> None:
        for name in ("predictions", "gold"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise InputError(f"Document {self.id!r}: {name} is the single text {given!r}; a list is needed.")
            object.__setattr__(self, name, tuple(phrases(name, given)))
        if not self.gold:
            raise InputError(f"Document {self.id!r} has no gold keyphrases, so nothing can be measured on it.")
        checked("occurrences", self.occurrences, int | None, least=0)
        if self.occurrences is not None and self.occurrences < len(set(self.predictions)):
            raise InputError(
                f"Document {self.id!r}: {len(set(self.predictions))} phrases were predicted of candidates that occur "
                f"{self.occurrences} times. Count every occurrence of every candidate, or pass None."
            )


@dataclass(frozen=True, slots=True)
class Counts:
    """Hits, predictions and gold phrases of one document."""

    hits: int
    predicted: int
    gold: int


# -- Two lineages -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Averaging:
    """How documents are counted, and how they become one number."""

    name: str
    count: Callable[[Outcome, int], Counts]
    pooled: bool  # counts are added up before they are divided; else each document has its value, and the mean is taken


def promptrank_counts(outcome: Outcome, k: int) -> Counts:
    """One document at k, to the letter of the published code.

    A prediction hits if its stems are those of a gold phrase. (Published: or if it equals one as written; equal forms
    have equal stems, so that adds nothing.) Two predictions with the stems of one gold phrase are two hits. Predictions
    are counted by candidate occurrences, not by phrases; gold phrases with doubles and those that are not in the text.
    """
    gold = set(map(stems, outcome.gold))
    hits = sum(stems(phrase) in gold for phrase in outcome.predictions[:k])
    occurrences = len(outcome.predictions) if outcome.occurrences is None else outcome.occurrences
    return Counts(hits, min(k, occurrences), len(outcome.gold))


def stem_counts(outcome: Outcome, k: int) -> Counts:
    """One document at k where phrases with equal stems are one, among the gold and among the predictions."""
    gold = set(map(stems, outcome.gold))
    predicted = list(islice(dict.fromkeys(map(stems, outcome.predictions)), k))
    return Counts(sum(phrase in gold for phrase in predicted), len(predicted), len(gold))


MICRO = Averaging("micro", promptrank_counts, pooled=True)
MACRO = Averaging("macro", stem_counts, pooled=False)
AVERAGINGS: Mapping[str, Averaging] = {averaging.name: averaging for averaging in (MICRO, MACRO)}

# -- Measures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """A share of counts; with a depth it is a measure: `F1 @ 5`."""

    name: str
    share: Callable[[Numbers, Numbers, Numbers], Numbers]  # of hits, predicted, gold

    def __matmul__(self, k: int) -> Measure:
        return Measure(self, k)


P = Kind("P", lambda hits, predicted, gold: _ratio(hits, predicted))  # noqa: ARG005
R = Kind("R", lambda hits, predicted, gold: _ratio(hits, gold))  # noqa: ARG005
F1 = Kind("F1", lambda hits, predicted, gold: _ratio(2 * hits, predicted + gold))  # harmonic mean of the two


@dataclass(frozen=True, slots=True)
class Measure:
    """Precision, recall or F1 of the first k predictions.

    In the micro manner the recall of a document may exceed 100, for one gold phrase may be hit twice.
    """

    kind: Kind
    k: int

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise SettingError(f"{self.kind.name} @ {self.k!r} measures nothing; k must be a whole number from 1 up.")

    def __str__(self) -> str:
        return f"{self.kind.name}@{self.k}"

    def __call__(self, outcomes: Iterable[Outcome], averaging: Averaging = MICRO) -> float:
        """The measure over all documents."""
        return self._overall(self._table(outcomes, averaging), averaging)

    def of(self, outcome: Outcome, averaging: Averaging = MICRO) -> float:
        """The measure of one document."""
        return float(self._values(self._table([outcome], averaging))[0])

    def interval(
        self,
        outcomes: Iterable[Outcome],
        averaging: Averaging = MICRO,
        *,
        level: float = 0.95,
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> Interval:
        """The measure with its confidence interval, by the percentiles of a bootstrap over documents."""
        table = self._table(outcomes, averaging)
        drawn = np.concatenate([self._drawn(table, times, averaging) for times in _draws(len(table), samples, seed)])
        return Interval(self._overall(table, averaging), *_percentiles(drawn, level), level)

    def _table(self, outcomes: Iterable[Outcome], averaging: Averaging) -> Numbers:
        if not isinstance(averaging, Averaging):
            raise SettingError(f"averaging is {seen(averaging)}, but must be MICRO or MACRO.")
        counts = [averaging.count(outcome, self.k) for outcome in _outcomes(outcomes)]
        if not counts:
            raise InputError(f"{self} was asked of no documents; at least one is needed.")
        return np.array([(c.hits, c.predicted, c.gold) for c in counts], dtype=np.float64)  # (documents, 3)

    def _values(self, table: Numbers) -> Numbers:
        return self.kind.share(table[:, 0], table[:, 1], table[:, 2])

    def _overall(self, table: Numbers, averaging: Averaging) -> float:
        return float(self._values(table.sum(0, keepdims=True) if averaging.pooled else table).mean())

    def _drawn(self, table: Numbers, times: Numbers, averaging: Averaging) -> Numbers:
        """The measure over each of several draws of documents, given how often each was drawn; (draws,)."""
        return self._values(times @ table) if averaging.pooled else times @ self._values(table) / len(table)


@dataclass(frozen=True, slots=True)
class Interval:
    """A number and where it lies with some confidence."""

    value: float
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def _outcomes(given: Iterable[Outcome]) -> Iterator[Outcome]:
    for outcome in several("outcomes", given, "outcomes"):
        if not isinstance(outcome, Outcome):
            raise InputError(f"outcomes holds {seen(outcome)}, but each must be an Outcome.")
        yield outcome


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    """In per cent; of nothing, 0."""
    return np.divide(100 * part, whole, out=np.zeros_like(part), where=whole > 0)


def _draws(documents: int, samples: int, seed: int) -> Iterator[Numbers]:
    """How often each document is drawn, with replacement, as many as there are; (draws, documents), in blocks."""
    samples, seed = checked("samples", samples, int, least=1), checked("seed", seed, int, least=0)
    random = np.random.default_rng(seed)
    block = max(1, _DRAWN_AT_ONCE // documents)
    equally = np.full(documents, 1 / documents)
    return (
        random.multinomial(documents, equally, size=min(block, samples - start)).astype(np.float64)
        for start in range(0, samples, block)
    )


def _percentiles(drawn: Numbers, level: float) -> tuple[float, float]:
    if not 0 < checked("level", level, float) < 1:
        raise SettingError(f"level is {level}, but a level of confidence lies between 0 and 1, such as 0.95.")
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


# -- Two runs ---------------------------------------------------------------------------------------------------------


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
    measure: Measure,
    first: Iterable[Outcome],
    second: Iterable[Outcome],
    averaging: Averaging = MICRO,
    *,
    level: float = 0.95,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Comparison:
    """Whether two runs differ: a paired t-test and a paired bootstrap over the documents that both have."""
    one, other, unmatched = _matched(first, second)
    a, b = measure._table(one, averaging), measure._table(other, averaging)
    t, p = paired_t_test(measure._values(a), measure._values(b))
    drawn = np.concatenate(
        [
            measure._drawn(b, times, averaging) - measure._drawn(a, times, averaging)
            for times in _draws(len(a), samples, seed)
        ]
    )
    was, became = measure._overall(a, averaging), measure._overall(b, averaging)
    difference = Interval(became - was, *_percentiles(drawn, level), level)
    return Comparison(measure, averaging, len(a), unmatched, was, became, difference, t, p, _two_sided(drawn))


def paired_t_test(first: Sequence[float] | Numbers, second: Sequence[float] | Numbers) -> tuple[float, float]:
    """Student's t of second - first and its two-sided p; equal differences everywhere have p 1 (none) or 0."""
    difference = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    if len(difference) < 2:
        raise InputError(f"A paired t-test needs at least 2 documents that both runs have; there is {len(difference)}.")
    mean = float(difference.mean())
    if np.ptp(difference) < _EQUAL:
        return (0.0, 1.0) if abs(mean) < _EQUAL else (float(np.copysign(np.inf, mean)), 0.0)
    from scipy.special import stdtr  # not needed for any other measure

    t = mean / float(difference.std(ddof=1) / np.sqrt(len(difference)))
    return t, 2 * float(stdtr(len(difference) - 1, -abs(t)))


def _two_sided(drawn: Numbers) -> float:
    """How often the sign of a difference turns in a bootstrap, doubled; never 0, for the draws are finite."""
    below, above = int((drawn < _EQUAL).sum()), int((drawn > -_EQUAL).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (len(drawn) + 1))


def _matched(first: Iterable[Outcome], second: Iterable[Outcome]) -> tuple[list[Outcome], list[Outcome], int]:
    """The outcomes of documents that both runs have, in the order of the first, and how many only one has."""
    one, other = _by_id(first), _by_id(second)
    common = [key for key in one if key in other]
    if not common:
        raise InputError("The two runs have no document in common; compare runs over the same data set.")
    for key in common:
        if Counter(one[key].gold) != Counter(other[key].gold):
            raise InputError(f"Document {key!r} has other gold in one run than in the other; they are not comparable.")
    return [one[key] for key in common], [other[key] for key in common], len(one.keys() ^ other.keys())


def _by_id(outcomes: Iterable[Outcome]) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for outcome in _outcomes(outcomes):
        if outcome.id in found:
            raise InputError(f"The id {outcome.id!r} stands twice in one run, so documents cannot be matched by it.")
        found[outcome.id] = outcome
    return found


# -- Present and absent gold ------------------------------------------------------------------------------------------


def present_and_absent(gold: Iterable[str], text: str) -> tuple[list[str], list[str]]:
    """The gold phrases whose stemmed words stand next to one another in the stemmed text, and the others.

    Words are runs of letters and digits, so that a hyphen is as good as a space.
    """
    read = _stemmed(text)
    found: tuple[list[str], list[str]] = ([], [])
    for phrase in gold:
        sought = _stemmed(phrase)
        present = sought in read if sought.strip() else phrase.strip() in text
        found[0 if present else 1].append(phrase)
    return found


def only_present(outcomes: Iterable[Outcome], texts: Mapping[str, str]) -> list[Outcome]:
    """The outcomes with gold that stands in the text (by document id); documents left without gold are left out."""
    return _only(outcomes, texts, 0)


def only_absent(outcomes: Iterable[Outcome], texts: Mapping[str, str]) -> list[Outcome]:
    """The outcomes with gold that does not stand in the text; documents left without gold are left out."""
    return _only(outcomes, texts, 1)


def _only(outcomes: Iterable[Outcome], texts: Mapping[str, str], which: int) -> list[Outcome]:
    parted = ((outcome, present_and_absent(outcome.gold, texts[outcome.id])[which]) for outcome in outcomes)
    return [replace(outcome, gold=gold) for outcome, gold in parted if gold]


def _stemmed(text: str) -> str:
    """The stems of a text's words, with a space on either side of each."""
    words = re.sub(r"[\W_]+", " ", text)
    return f" {' '.join(stems(words))} "
