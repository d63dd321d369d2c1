"""A text as a row of words, graphs of words, topics and candidates, and PageRank: what methods without a model share.

Graphs of words are sparse. The tables of all occurrences against all others, which the graphs of topics call for, are
dense and never made (see `Nearness`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import cancellable, check
from mudy.reading.candidates import QUOTES, Candidate
from mudy.reading.document import Document

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

TOLERANCE = 1e-10  # the sum of all changes in the last step; ranks are decided by five digits
MAX_STEPS = 10_000  # 142 are needed at a damping of 0.85
_BLOCK = 256  # rows of a table of pairs that are held at once
_MOST_PAIRS = 8_000_000  # and no more pairs than these, where rows are very long


class WordRange(NamedTuple):
    """The words that an occurrence touches: `first` up to and including `last`; none, if it lies outside of prose."""

    first: int
    last: int

    def of(self, forms: Sequence[str]) -> tuple[str, ...]:
        return tuple(forms[self.first : self.last + 1])


@dataclass(frozen=True)
class WordIndex:
    """A document's words in lower case, and where each candidate stands among them, in text order."""

    forms: tuple[str, ...]  # (words,)
    places: tuple[tuple[WordRange, ...], ...]  # (candidates, its occurrences)

    @classmethod
    def of(cls, document: Document, candidates: Sequence[Candidate]) -> Self:
        starts = [word.span.start for word in document.words]
        ends = [word.span.end for word in document.words]
        places = tuple(
            tuple(
                WordRange(bisect_right(ends, o.span.start), bisect_left(starts, o.span.end) - 1)
                for o in candidate.occurrences
            )
            for candidate in cancellable(candidates, every=256)
        )
        return cls(tuple(form(word.span.of(document.text)) for word in document.words), places)

    def words(self) -> list[tuple[str, ...]]:
        """The words of each candidate, as they stand in its first occurrence."""
        return [places[0].of(self.forms) for places in self.places]

    def positions(self) -> list[int]:
        return [places[0].first for places in self.places]


def form(word: str) -> str:
    """A word without regard to case, or to quotes and mark-up stuck to it."""
    return word.lower().strip(QUOTES) or word


def is_word(text: str) -> bool:
    """Whether a token is more than punctuation."""
    return any(map(str.isalnum, text))


def pagerank(weights: Any, outgoing: Vector, damping: float) -> Vector:
    """How often a walker visits each node, who follows edges by weight and jumps anywhere with chance 1 - damping.

    `weights @ x` brings each node the sum of x over its neighbours, times the edge weights. `outgoing` is the sum of
    the weights of the edges that leave each node; from a node without any the walker jumps.
    """
    n = max(1, len(outgoing))
    stuck = outgoing <= 0
    divisor = np.where(stuck, 1.0, outgoing)
    rank = np.full(len(outgoing), 1 / n)
    for _ in range(MAX_STEPS):
        check()
        before = rank
        jumping = (1 - damping) / n + damping * before[stuck].sum() / n
        rank = damping * (weights @ np.where(stuck, 0.0, before / divisor)) + jumping  # (nodes,)
        if np.abs(rank - before).sum() < TOLERANCE:
            break
    return cast(Vector, rank)


@dataclass(frozen=True)
class SparseTable:
    """A large square table of which few entries are not zero: those by row and column, each pair of them once."""

    size: int
    rows: Indices
    columns: Indices
    values: Vector

    @classmethod
    def summed(cls, size: int, rows: Indices, columns: Indices, values: Vector) -> Self:
        """From entries of which several may stand in one place: their sum counts."""
        places, entry = np.unique(rows * size + columns, return_inverse=True)
        sums = np.asarray(np.bincount(entry, values), dtype=np.float64)
        return cls(size, places // size, places % size, sums)

    def __matmul__(self, x: Vector) -> Vector:
        """(size,) -> (size,)"""
        return np.asarray(np.bincount(self.rows, self.values * x[self.columns], self.size), dtype=np.float64)


@dataclass(frozen=True)
class Nearness:
    """Edges between nodes of different topics: the sum of 1 / gap over every two of their occurrences.

    The gap is the number of words from the end of the earlier occurrence to the start of the later, 1 for neighbours.
    Occurrences that overlap, which only a caller's own candidates can, add nothing.

    The matrix is symmetric and dense, so it is never made. Multiplying by it is a convolution with 1, 1/2, 1/3, ...
    along the text, done by FFT, less what it adds within topics.
    """

    node: Indices  # (occurrences,)
    first: Indices  # (occurrences,): word index
    last: Indices  # (occurrences,)
    kernel: NDArray[np.complex128]  # the Fourier transform of 0, 1, 1/2, 1/3, ...
    length: int  # of the convolution
    within: SparseTable  # (nodes, nodes): what stands within topics

    @classmethod
    def of(cls, places: Sequence[Sequence[WordRange]], node: Indices, topic: Indices) -> Self:
        """Edges between nodes, given the node and the topic of each candidate."""
        candidate = np.repeat(np.arange(len(places)), [len(p) for p in places])
        first, last = np.array([place for p in places for place in p], dtype=np.int64).T
        last = np.maximum(first, last)
        words = int(last.max()) + 1
        length = fast_length(2 * words)
        inverse = np.concatenate([[0.0], 1 / np.arange(1, words)])
        within = _within(node[candidate], topic[candidate], first, last)
        return cls(node[candidate], first, last, np.fft.rfft(inverse, length), length, within)

    def __matmul__(self, x: Vector) -> Vector:
        """(nodes,) -> (nodes,)"""
        value = x[self.node]
        before = self._spread(value, self.last, self.kernel)[self.first]  # from occurrences that end before this one
        after = self._spread(value, self.first, self.kernel.conj())[self.last]  # and from those that start after it
        everywhere = np.bincount(self.node, before + after, minlength=len(x))
        return everywhere - self.within @ x

    def _spread(self, value: Vector, position: Indices, kernel: NDArray[np.complex128]) -> Vector:
        on_text = np.bincount(position, value, minlength=self.length)
        return np.fft.irfft(np.fft.rfft(on_text) * kernel, self.length)

    def outgoing(self, weight: Vector) -> Vector:
        """The weighted sum of each node's edges, with what the FFT leaves of a true zero removed."""
        total = self @ weight
        return np.where(total < 1e-9, 0.0, total)


def _within(node: Indices, topic: Indices, first: Indices, last: Indices) -> SparseTable:
    """The same sums over the occurrences of one topic, in blocks."""
    size = int(node.max()) + 1
    order = np.argsort(topic, kind="stable")
    entries = []
    for part in np.split(order, np.flatnonzero(np.diff(topic[order])) + 1):
        nodes, local = np.unique(node[part], return_inverse=True)
        table = np.zeros(len(nodes) ** 2)
        for block in cancellable(blocks(len(part))):
            gap = first[part] - last[part[block], None]  # (block, occurrences of the topic)
            near = np.where(gap > 0, 1 / np.maximum(gap, 1), 0.0)
            table += np.bincount((local[block, None] * len(nodes) + local).ravel(), near.ravel(), len(table))
        filled = np.flatnonzero(table)
        entries.append((nodes[filled // len(nodes)], nodes[filled % len(nodes)], table[filled]))
    left, right, value = map(np.concatenate, zip(*entries, strict=True))
    both = np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([value, value])
    return SparseTable.summed(size, *both)  # (nodes, nodes)


def fast_length(least: int) -> int:
    """The next length that an FFT takes little time for: one with no other prime factors than 2, 3 and 5."""
    return next(n for n in count(least) if pow(30, n.bit_length(), n) == 0)  # which divides a power of 2 * 3 * 5


def blocks(n: int) -> Iterator[slice]:
    """All rows of a table of n columns, some at a time."""
    rows = max(1, min(_BLOCK, _MOST_PAIRS // max(n, 1)))
    return (slice(start, start + rows) for start in range(0, n, rows))
