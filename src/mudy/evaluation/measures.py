"""How good ranked keyphrases are: measures as values, `[F1 @ 5, F1 @ 10, F1 @ 15]`, averaged in two ways.

A measure is computed over the `Predictions` of documents, and is given in per cent:

    >>> documents = [Predictions("a", ["oil spill", "tanker"], ["oil spills", "alaska"])]
    >>> (F1 @ 5)(documents), (P @ 5)(documents, MACRO)
    (50.0, 50.0)

MICRO is PromptRank's averaging, which MDERank and MUDY share; MACRO that of JointGL, SAMRank and Attention-Seeker.
Numbers of one are not comparable with numbers of the other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from math import log2
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mudy._support.validation import checked, phrases
from mudy.errors import InputError, SettingError, unknown
from mudy.reading.candidates.stemming import UNSPACED, stems_of

FloatArray = NDArray[np.float64]
DEPTHS = (5, 10, 15)  # of the published tables
SAMPLES, LEVEL = 2000, 0.95  # of a bootstrap, and of its confidence intervals
_DRAWN_AT_ONCE = 1_000_000  # documents


class Depth(StrEnum):
    """A number of predictions that depends on the document."""

    RETURNED = "M"  # all that were returned: F1@M
    GOLD = "O"  # as many as there are gold keyphrases: F1@O

    @staticmethod
    def number(depth: int | Depth, returned: int, gold: int) -> int:
        """How many predictions a depth stands for in one document."""
        return {Depth.RETURNED: returned, Depth.GOLD: gold}[depth] if isinstance(depth, Depth) else depth


@dataclass(frozen=True, slots=True)
class Predictions:
    """The predictions for one document, best first, and its gold keyphrases.

    `occurrences` is how often all candidates together occur in the text; None where there are no candidates, and the
    phrases themselves are counted. Phrases are compared by the stems of their language.
    """

    id: str
    phrases: Sequence[str]
    gold: Sequence[str]
    occurrences: int | None = None
    language: str = "en"

    def __post_init__(self) -> None:
        for name in ("phrases", "gold"):
            listed = phrases(f"{name} of document {self.id!r}", getattr(self, name))
            object.__setattr__(self, name, tuple(listed))
        if not self.gold:
            raise InputError(f"Document {self.id!r} has no gold keyphrases, so nothing can be measured on it.")
        if self.occurrences is not None and self.occurrences < len(set(self.phrases)):
            raise InputError(
                f"Document {self.id!r}: {len(set(self.phrases))} phrases were predicted, but the candidates occur "
                f"only {self.occurrences} times. Count every occurrence of every candidate, or pass None."
            )

    @property
    def gold_stems(self) -> frozenset[tuple[str, ...]]:
        """The stems of the gold phrases; phrases with equal stems count once."""
        return frozenset(stems_of(phrase, self.language) for phrase in self.gold)

    def distinct_hits(self, depth: int | Depth) -> list[bool]:
        """Whether each of the first predictions is gold, where predictions with equal stems are one."""
        gold, predicted = self.gold_stems, dict.fromkeys(stems_of(phrase, self.language) for phrase in self.phrases)
        return [phrase in gold for phrase in predicted][: Depth.number(depth, len(predicted), len(gold))]

    def hit_ranks(self, depth: int | Depth) -> list[int]:
        return [rank for rank, hit in enumerate(self.distinct_hits(depth), start=1) if hit]

    def distinct_phrases(self, depth: int | Depth) -> tuple[list[str], list[str]]:
        predicted, gold = (list(dict.fromkeys(map(str.lower, listed))) for listed in (self.phrases, self.gold))
        return predicted[: Depth.number(depth, len(predicted), len(gold))], gold


def have_stems_of(phrases: Iterable[str], others: Iterable[str], language: str) -> list[bool]:
    """Whether each phrase has the stems of one of the others, as a hit has those of a gold phrase."""
    stems = {stems_of(phrase, language) for phrase in others}
    return [stems_of(phrase, language) in stems for phrase in phrases]


def are_present(gold: Iterable[str], text: str, language: str = "en") -> list[bool]:
    """Whether the stemmed words of each gold phrase are adjacent in the stemmed text.

    Words are runs of letters and digits, so a hyphen counts as a space. In scripts without spaces between words, each
    character is a word. A phrase without any is looked for as it is.
    """
    stemmed_text, stemmed = _stemmed(text, language), ((phrase, _stemmed(phrase, language)) for phrase in gold)
    return [stems in stemmed_text if stems.strip() else phrase.strip() in text for phrase, stems in stemmed]


def _stemmed(text: str, language: str) -> str:
    """The stems of a text's words, with a space on either side of each."""
    words = re.sub(r"[\W_]+", " ", text) if language == "en" else _spaced(text)
    return f" {' '.join(stems_of(words, language))} "


def _spaced(text: str) -> str:
    """A text with spaces for punctuation; accents and vowel signs stay with their letters."""
    letters = "".join(c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in text)
    return re.sub(f"({UNSPACED})", r" \1 ", letters)


class Counts(NamedTuple):
    hits: int
    predicted: int
    gold: int


@dataclass(frozen=True, slots=True)
class Averaging:
    """How the predictions of a document are counted, and how documents become one number."""

    name: str
    count: Callable[[Predictions, int | Depth], Counts]
    pooled: bool  # counts are summed before the division; otherwise the mean of the documents' values is taken


def promptrank_counts(document: Predictions, k: int | Depth) -> Counts:
    """One document at k, to the letter of the published code.

    A prediction hits if its stems are those of a gold phrase. (Published: or if it equals one as written; equal forms
    have equal stems, so that adds nothing.) Two predictions with the stems of one gold phrase are two hits. Predictions
    are counted by candidate occurrences, not by phrases; gold phrases with duplicates and those not in the text.
    """
    returned, gold = len(document.phrases), len(document.gold)
    k = Depth.number(k, returned, gold)
    occurrences = returned if document.occurrences is None else document.occurrences
    hits = have_stems_of(document.phrases[:k], document.gold, document.language)
    return Counts(sum(hits), min(k, occurrences), gold)


def stem_counts(document: Predictions, k: int | Depth) -> Counts:
    """One document at k where phrases with equal stems are one, among the gold and among the predictions."""
    hits = document.distinct_hits(k)
    return Counts(sum(hits), len(hits), len(document.gold_stems))


MICRO = Averaging("micro", promptrank_counts, pooled=True)
MACRO = Averaging("macro", stem_counts, pooled=False)
AVERAGINGS: Mapping[str, Averaging] = {averaging.name: averaging for averaging in (MICRO, MACRO)}


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """What is measured; with a depth it is a measure: `F1 @ 5`, `F1 @ Depth.GOLD`."""

    name: str
    table: Callable[[Sequence[Predictions], int | Depth, Averaging], FloatArray]  # one row per document
    values: Callable[[FloatArray], FloatArray]  # of each row, in per cent
    poolable: bool = True  # rows of several documents may be summed before `values` is taken

    def __matmul__(self, k: int | Depth) -> Measure:
        return Measure(self, k)


@dataclass(frozen=True, slots=True)
class Measure:
    kind: MeasureKind
    k: int | Depth

    def __post_init__(self) -> None:
        if not isinstance(self.k, Depth):
            checked(f"k of {self.kind.name} @ k", self.k, int, least=1)

    def __str__(self) -> str:
        return f"{self.kind.name}@{self.k}"

    def __call__(self, documents: Iterable[Predictions], averaging: Averaging = MICRO) -> float:
        return self.overall(self.table(documents, averaging), averaging)

    def of(self, document: Predictions, averaging: Averaging = MICRO) -> float:
        return float(self.kind.values(self.table([document], averaging))[0])

    def interval(self, documents: Iterable[Predictions], averaging: Averaging = MICRO) -> Interval:
        """The measure with its confidence interval, by the percentiles of a bootstrap over documents."""
        table = self.table(documents, averaging)
        draws = bootstrap_draws(len(table))
        drawn = np.concatenate([self.over_draws(table, times, averaging) for times in draws])
        return Interval.of(self.overall(table, averaging), drawn)

    def table(self, documents: Iterable[Predictions], averaging: Averaging) -> FloatArray:
        """The numbers that the measure is computed from; (documents, columns)."""
        if not (listed := list(documents)):
            raise InputError(f"{self} needs at least one document.")
        return self.kind.table(listed, self.k, averaging)

    def overall(self, table: FloatArray, averaging: Averaging) -> float:
        return float(self.kind.values(table.sum(0, keepdims=True) if self._pooled(averaging) else table).mean())

    def over_draws(self, table: FloatArray, times: FloatArray, averaging: Averaging) -> FloatArray:
        """The measure over each of several draws of documents, given how often each was drawn; (draws,)."""
        values = self.kind.values
        return values(times @ table) if self._pooled(averaging) else times @ values(table) / len(table)

    def _pooled(self, averaging: Averaging) -> bool:
        return averaging.pooled and self.kind.poolable


@dataclass(frozen=True, slots=True)
class Interval:
    value: float
    low: float
    high: float
    level: float = LEVEL

    @classmethod
    def of(cls, value: float, drawn: FloatArray) -> Interval:
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return cls(value, float(low), float(high))

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def bootstrap_draws(documents: int, seed: int = 0) -> Iterator[FloatArray]:
    """How often each document is drawn, with replacement, as many as there are; (draws, documents), in blocks."""
    random, equally = np.random.default_rng(seed), np.full(documents, 1 / documents)
    block = max(1, _DRAWN_AT_ONCE // documents)
    for start in range(0, SAMPLES, block):
        yield random.multinomial(documents, equally, size=min(block, SAMPLES - start)).astype(np.float64)


def _percentage(part: FloatArray, whole: FloatArray) -> FloatArray:
    """A share in per cent; of nothing, 0."""
    return np.divide(100 * part, whole, out=np.zeros_like(part), where=whole > 0)


# -- Precision, recall and F1: in micro averaging a document's recall may exceed 100, as a gold phrase may be hit twice


def _count_table(documents: Sequence[Predictions], depth: int | Depth, averaging: Averaging) -> FloatArray:
    return np.array([averaging.count(document, depth) for document in documents], dtype=np.float64)  # (documents, 3)


P = MeasureKind("P", _count_table, lambda table: _percentage(table[:, 0], table[:, 1]))
R = MeasureKind("R", _count_table, lambda table: _percentage(table[:, 0], table[:, 2]))
F1 = MeasureKind("F1", _count_table, lambda table: _percentage(2 * table[:, 0], table[:, 1] + table[:, 2]))


# -- Mean average precision and nDCG: a gold phrase is hit at most once, and both are means over documents ------------


def _rank_kind(name: str, value: Callable[[Predictions, int | Depth], float]) -> MeasureKind:
    def table(documents: Sequence[Predictions], depth: int | Depth, averaging: Averaging) -> FloatArray:  # noqa: ARG001
        return np.array([[100 * value(document, depth)] for document in documents], dtype=np.float64)  # (documents, 1)

    return MeasureKind(name, table, lambda table: table[:, 0], poolable=False)


def average_precision(document: Predictions, depth: int | Depth) -> float:
    """The precision at each hit, summed and divided by the number of gold phrases, as trec_eval does at any depth."""
    precisions = (hits / rank for hits, rank in enumerate(document.hit_ranks(depth), start=1))
    return sum(precisions) / len(document.gold_stems)


def normalised_gain(document: Predictions, depth: int | Depth) -> float:
    """Hits discounted by 1 / log2(rank + 1), divided by what the best possible order would give."""
    gold = len(document.gold_stems)
    reachable = gold if isinstance(depth, Depth) else min(depth, gold)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, reachable + 1))
    return sum(1 / log2(rank + 1) for rank in document.hit_ranks(depth)) / ideal


MAP = _rank_kind("MAP", average_precision)
nDCG = _rank_kind("nDCG", normalised_gain)  # noqa: N816  # as it is written


@dataclass(frozen=True, eq=False)
class PhraseVectors:
    """The vectors of phrases; each phrase is embedded once, when a measure needs it."""

    embed: Callable[[Sequence[str]], Any]  # gives a vector of length 1 for each text, as `SentenceEncoder.embed` does
    _known: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    def table(self, documents: Sequence[Predictions], depth: int | Depth, averaging: Averaging) -> FloatArray:  # noqa: ARG002
        """The best cosines of the predictions, summed, and their number; both for the gold phrases; (documents, 4)."""
        pairs = [document.distinct_phrases(depth) for document in documents]
        phrases = dict.fromkeys(phrase for pair in pairs for listed in pair for phrase in listed)
        if new := [phrase for phrase in phrases if phrase not in self._known]:
            self._known.update(zip(new, np.asarray(self.embed(new), dtype=np.float64), strict=True))
        return np.array([self._best_cosines(*pair) for pair in pairs], dtype=np.float64)

    def _best_cosines(self, predictions: Sequence[str], gold: Sequence[str]) -> tuple[float, int, float, int]:
        if not predictions:
            return 0.0, 0, 0.0, len(gold)
        a, b = (np.array([self._known[phrase] for phrase in listed]) for listed in (predictions, gold))
        cosines: FloatArray = np.clip(a @ b.T, 0, 1)  # 0 where negative
        return float(cosines.max(1).sum()), len(predictions), float(cosines.max(0).sum()), len(gold)


def _semantic_f1(table: FloatArray) -> FloatArray:
    precision, recall = _SEMANTIC["SemP"](table), _SEMANTIC["SemR"](table)
    return _percentage(2 * precision * recall / 100, precision + recall)


_SEMANTIC: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "SemP": lambda table: _percentage(table[:, 0], table[:, 1]),
    "SemR": lambda table: _percentage(table[:, 2], table[:, 3]),
    "SemF1": _semantic_f1,
}


def semantic_kinds(vectors: PhraseVectors) -> dict[str, MeasureKind]:
    """SemP, SemR and SemF1: how close the predictions and the gold are in meaning, not in form.

    The semantic matching of KPEval (Wu et al., Findings of ACL 2024) with a sentence encoder of the user's choice: each
    prediction is worth its highest cosine with a gold phrase (precision), each gold phrase its highest cosine with a
    prediction (recall). Values depend on the encoder, so only those of one encoder are comparable.
    """
    return {name: MeasureKind(name, vectors.table, values) for name, values in _SEMANTIC.items()}


# -- Measures by name: "F1", "MAP@10", "F1@O", "SemF1@M" --------------------------------------------------------------

_KINDS: Mapping[str, MeasureKind] = {kind.name: kind for kind in (P, R, F1, MAP, nDCG)}
MEASURE_NAMES = (*_KINDS, *_SEMANTIC)
NamedMeasure = tuple[str, int | Depth | None]  # a kind, and its depth; None where none is named


def parse_measure(text: str) -> NamedMeasure:
    """A kind and its depth: "MAP@10", "F1@M", or "F1" without a depth. Case does not matter."""
    name, at, depth = text.strip().partition("@")
    kind = next((kind for kind in MEASURE_NAMES if kind.lower() == name.lower()), None)
    if kind is None:
        raise SettingError(unknown("measure", name, MEASURE_NAMES))
    if not at:
        return kind, None
    if depth.upper() in list(Depth):
        return kind, Depth(depth.upper())
    if not re.fullmatch("[1-9][0-9]*", depth):
        raise SettingError(f"{text!r}: the depth of a measure is a number from 1 up, M or O, such as F1@10 or F1@M.")
    return kind, int(depth)


def named_measures(
    named: Iterable[NamedMeasure], depths: Sequence[int | Depth], vectors: PhraseVectors
) -> list[Measure]:
    """The measures, each once; a kind without a depth is measured at each of `depths`."""
    kinds = {**_KINDS, **semantic_kinds(vectors)}
    measures = [kinds[name] @ k for name, depth in named for k in (depths if depth is None else (depth,))]
    return list({str(measure): measure for measure in measures}.values())


# -- Calibration: how far scores can be trusted that are probabilities of being a keyphrase ---------------------------

Hits = NDArray[np.bool_]  # which phrases of a text are gold
Reliability = Mapping[str, tuple[float, float, int]]  # bin -> mean probability, share of right phrases, phrases
_EDGES = (*np.linspace(0, 0.9, 10).round(1).tolist(), float(np.nextafter(1, 2)))


@dataclass(frozen=True)
class Calibration:
    name: str  # of the data set, or of the sum of evidence
    brier: float  # 0 is best
    brier_of_mean: float  # of the share of right phrases, given to all
    reliability: Reliability

    @classmethod
    def of(cls, name: str, chances: Sequence[FloatArray], hits: Sequence[Hits], shares: Sequence[float]) -> Calibration:
        """From the probabilities of the phrases of several texts; `shares` are what one phrase of each text weighs."""
        rate = sum(share * float(right.sum()) for share, right in zip(shares, hits, strict=True))
        table = reliability_bins(np.concatenate(chances), np.concatenate(hits))
        return cls(name, brier(chances, hits, shares), rate * (1 - rate), table)

    def to_dict(self) -> dict[str, Any]:
        bins = {
            name: {"probability": mean, "right": right, "phrases": count}
            for name, (mean, right, count) in self.reliability.items()
        }
        return {"brier": self.brier, "brier_of_mean": self.brier_of_mean, "reliability": bins}


def brier(chances: Sequence[FloatArray], hits: Sequence[Hits], shares: Sequence[float]) -> float:
    """The mean squared difference between probability and truth."""
    return float(sum(share * np.sum((c - h) ** 2) for c, h, share in zip(chances, hits, shares, strict=True)))


def reliability_bins(chances: FloatArray, hits: Hits, edges: Sequence[float] = _EDGES) -> Reliability:
    """For each bin of probability: the mean probability, the share of hits, and how many phrases there are."""
    bins = {}
    for low, high in pairwise(edges):
        inside = (chances >= low) & (chances < high)
        if inside.any():
            means = float(chances[inside].mean()), float(hits[inside].mean())
            bins[f"{low:.2f}-{high:.2f}"] = (*means, int(inside.sum()))
    return bins
