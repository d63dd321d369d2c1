"""What every measure has: a kind, a depth, a value over documents, and a confidence interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mudy._support.validation import checked, seen
from mudy.errors import InputError, SettingError
from mudy.evaluation.measures.averaging import MICRO, Averaging
from mudy.evaluation.measures.outcome import Depth, Outcome, checked_outcomes

FloatArray = NDArray[np.float64]
DEPTHS = (5, 10, 15)  # of the published tables
SAMPLES = 2000  # of a bootstrap
_DRAWN_AT_ONCE = 1_000_000  # documents


class MeasureKind(ABC):
    """What is measured; with a depth it is a measure: `F1 @ 5`, `F1 @ Depth.GOLD`."""

    name: str  # as printed
    poolable: ClassVar[bool] = True  # rows of several documents may be summed before `values` is taken of them

    @abstractmethod
    def table(self, outcomes: Sequence[Outcome], depth: int | Depth, averaging: Averaging) -> FloatArray:
        """One row per document, from which `values` follow."""

    @abstractmethod
    def values(self, table: FloatArray) -> FloatArray:
        """The value of each row, in per cent."""

    def __matmul__(self, k: int | Depth) -> Measure:
        return Measure(self, k)


@dataclass(frozen=True, slots=True)
class Measure:
    """A kind of measure on the first k predictions."""

    kind: MeasureKind
    k: int | Depth

    def __post_init__(self) -> None:
        if isinstance(self.k, Depth):
            return
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise SettingError(f"{self.kind.name} @ {self.k!r} measures nothing; k must be a whole number from 1 up.")

    def __str__(self) -> str:
        return f"{self.kind.name}@{self.k}"

    def __call__(self, outcomes: Iterable[Outcome], averaging: Averaging = MICRO) -> float:
        """The measure over all documents."""
        return self.overall(self.table(outcomes, averaging), averaging)

    def of(self, outcome: Outcome, averaging: Averaging = MICRO) -> float:
        """The measure of one document."""
        return float(self.values(self.table([outcome], averaging))[0])

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
        table = self.table(outcomes, averaging)
        draws = bootstrap_draws(len(table), samples, seed)
        drawn = np.concatenate([self.over_draws(table, times, averaging) for times in draws])
        return Interval(self.overall(table, averaging), *percentiles(drawn, level), level)

    def table(self, outcomes: Iterable[Outcome], averaging: Averaging) -> FloatArray:
        """What the measure is computed from; (documents, columns)."""
        if not isinstance(averaging, Averaging):
            raise SettingError(f"averaging is {seen(averaging)}, but must be MICRO or MACRO.")
        given = list(checked_outcomes(outcomes))
        if not given:
            raise InputError(f"{self} was asked of no documents; at least one is needed.")
        return self.kind.table(given, self.k, averaging)

    def values(self, table: FloatArray) -> FloatArray:
        """The measure of each document."""
        return self.kind.values(table)

    def overall(self, table: FloatArray, averaging: Averaging) -> float:
        """The measure over all documents of a table."""
        return float(self.values(table.sum(0, keepdims=True) if self._pooled(averaging) else table).mean())

    def over_draws(self, table: FloatArray, times: FloatArray, averaging: Averaging) -> FloatArray:
        """The measure over each of several draws of documents, given how often each was drawn; (draws,)."""
        return self.values(times @ table) if self._pooled(averaging) else times @ self.values(table) / len(table)

    def _pooled(self, averaging: Averaging) -> bool:
        return averaging.pooled and self.kind.poolable


@dataclass(frozen=True, slots=True)
class Interval:
    """A number and its confidence interval."""

    value: float
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def percentage(part: FloatArray, whole: FloatArray) -> FloatArray:
    """A share in per cent; of nothing, 0."""
    return np.divide(100 * part, whole, out=np.zeros_like(part), where=whole > 0)


def bootstrap_draws(documents: int, samples: int, seed: int) -> Iterator[FloatArray]:
    """How often each document is drawn, with replacement, as many as there are; (draws, documents), in blocks."""
    samples, seed = checked("samples", samples, int, least=1), checked("seed", seed, int, least=0)
    random = np.random.default_rng(seed)
    block = max(1, _DRAWN_AT_ONCE // documents)
    equally = np.full(documents, 1 / documents)
    return (
        random.multinomial(documents, equally, size=min(block, samples - start)).astype(np.float64)
        for start in range(0, samples, block)
    )


def percentiles(drawn: FloatArray, level: float) -> tuple[float, float]:
    """Between which values the given share of draws lies."""
    if not 0 < checked("level", level, float) < 1:
        raise SettingError(f"level is {level}, but a level of confidence lies between 0 and 1, such as 0.95.")
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
