"""A large square table of which few entries are not zero, as graphs of words and topics need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class SparseTable:
    """Entries by row and column, each pair of them once."""

    size: int
    rows: Indices
    columns: Indices
    values: Vector

    @classmethod
    def summed(cls, size: int, rows: Indices, columns: Indices, values: Vector) -> SparseTable:
        """From entries of which several may stand in one place: their sum counts."""
        places, entry = np.unique(rows * size + columns, return_inverse=True)
        return cls(size, places // size, places % size, weighted_counts(entry, values, len(places)))

    def __matmul__(self, x: Vector) -> Vector:
        """(size,) -> (size,)"""
        return weighted_counts(self.rows, self.values * x[self.columns], self.size)

    def row_sums(self) -> Vector:
        return weighted_counts(self.rows, self.values, self.size)

    def whole(self) -> NDArray[np.float64]:
        """With all its zeros; (size, size)."""
        table = np.zeros((self.size, self.size))
        table[self.rows, self.columns] = self.values
        return table

    def connected(self) -> Iterator[tuple[Indices, SparseTable]]:
        """The parts between which there is no entry: their rows, and the entries within, as rows of the part."""
        labels = self._labels()
        first, sizes = np.unique(labels, return_counts=True)
        order, starts = np.argsort(labels, kind="stable"), np.cumsum(sizes) - sizes
        place = np.empty(self.size, dtype=np.int64)
        place[order] = np.arange(self.size) - np.repeat(starts, sizes)
        entries = np.argsort(labels[self.rows], kind="stable")
        bounds = np.searchsorted(labels[self.rows][entries], [*first, self.size])
        for start, size, low, high in zip(starts, sizes, bounds, bounds[1:], strict=False):
            some = entries[low:high]
            inside = SparseTable(int(size), place[self.rows[some]], place[self.columns[some]], self.values[some])
            yield order[start : start + size], inside

    def within(self, first: int, last: int) -> SparseTable:
        """The entries between the rows from `first` to `last`, exclusive, counted from the first."""
        kept = (self.rows >= first) & (self.rows < last) & (self.columns >= first) & (self.columns < last)
        return SparseTable(last - first, self.rows[kept] - first, self.columns[kept] - first, self.values[kept])

    def _labels(self) -> Indices:
        """For each row, the least row that it is connected with."""
        labels = np.arange(self.size)
        while True:
            least = labels.copy()
            np.minimum.at(least, self.rows, labels[self.columns])
            np.minimum.at(least, self.columns, labels[self.rows])
            least = least[least]
            if np.array_equal(least, labels):
                return labels
            labels = least


def weighted_counts(places: Indices, values: Vector, size: int) -> Vector:
    """The sum of the values that stand at each place; (size,)."""
    return np.bincount(places, values, minlength=size).astype(np.float64, copy=False)


def average_linkage(distance: NDArray[np.float64], threshold: float) -> Indices:
    """Clusters, numbered from 0, whose members are joined while the mean distance of two clusters is at most so much.

    `distance` is square and is used up. Two clusters that are nearest to each other are joined at once, wherever they
    are found along a chain of nearest neighbours (Müllner, 2011): the same tree as by joining the nearest pair first.
    """
    n = len(distance)
    np.fill_diagonal(distance, np.inf)
    size, leader, chain = np.ones(n), np.arange(n), list[int]()
    for _ in range(n - 1):
        if not chain:
            chain.append(int(np.flatnonzero(size)[0]))
        while True:
            x = chain[-1]
            y = int(distance[x].argmin())
            if len(chain) > 1 and distance[x, chain[-2]] <= distance[x, y]:
                y = chain[-2]
                break
            chain.append(y)
        del chain[-2:]
        low, high = sorted((x, y))
        if distance[low, high] <= threshold:
            leader[low] = high
        merged = (size[low] * distance[low] + size[high] * distance[high]) / (size[low] + size[high])
        merged[[low, high]] = np.inf
        size[low], size[high] = 0, size[low] + size[high]
        distance[high], distance[:, high] = merged, merged
        distance[low], distance[:, low] = np.inf, np.inf
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)
