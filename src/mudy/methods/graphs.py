"""Graphs of words, topics and candidates, and PageRank on them: what the four graph methods share.

Graphs of words are sparse. The tables of all occurrences against all others, which the graphs of topics call for, are
dense and never made (see `Nearness`). The one square table is that of the distances between candidates which are linked
by common stems, 16 bytes for every two, and it has a limit (see `topics`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mudy._support.cancellation import cancellable, check
from mudy.candidates import Candidate
from mudy.candidates.grammar import grammar_of
from mudy.candidates.stemming import stem_of
from mudy.methods.method import require
from mudy.methods.sparse_table import Indices, SparseTable, Vector, average_linkage
from mudy.methods.word_index import WordIndex, WordRange, is_word
from mudy.reading.document import Document
from mudy.reading.stop_words import stop_words

TOLERANCE = 1e-10  # the sum of all changes in the last step; ranks are decided by five digits
MAX_STEPS = 10_000  # 142 are needed at a damping of 0.85
MOST_CLUSTERED = 5_000  # candidates compared with one another, at 16 bytes a pair
_BLOCK = 256  # rows of a table of pairs that are held at once
_MOST_PAIRS = 8_000_000  # and no more pairs than these, where rows are very long


class Edges(Protocol):
    """Edges of a graph: `weights @ x` brings each node the sum of x over its neighbours, times the edge weights."""

    def __matmul__(self, x: Vector, /) -> Any: ...


def pagerank(weights: Edges, outgoing: Vector, damping: float) -> Vector:
    """How often a walker visits each node, who follows edges by weight and jumps anywhere with chance 1 - damping.

    `outgoing` is the sum of the weights of the edges that leave each node; from a node without any the walker jumps.
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


def check_damping(damping: float) -> None:
    require("damping", damping, 0 <= damping < 1, "0 or more and less than 1")


# -- Words (TextRank, SingleRank) -------------------------------------------------------------------------------------


def word_scores(
    document: Document, candidates: Sequence[Candidate], *, window: int, weighted: bool, damping: float
) -> list[float]:
    """For each candidate, the sum of its words' PageRank in the graph of words that stand near one another."""
    if not candidates:
        return []
    reading = WordIndex.of(document, candidates)
    nodes = word_nodes(document, reading)
    edges = co_occurrences(nodes, window, weighted)
    rank = pagerank(edges, edges.row_sums(), damping)
    return [float(rank[[n for n in nodes[p[0].first : p[0].last + 1] if n >= 0]].sum()) for p in reading.places]


def word_nodes(document: Document, reading: WordIndex) -> Indices:
    """The node of each word of the text, -1 for words that have none.

    Nodes are nouns and adjectives, as the grammar of the language has them, and the words of candidates, whatever their
    tags. Stop words (but "IT" in capitals) and punctuation have none, but take up their places between the others.
    """
    grammar, stops = grammar_of(document.language, document.tagged), stop_words(document.language)
    inside = {i for places in reading.places for place in places for i in range(place.first, place.last + 1)}
    numbers: dict[str, int] = {}
    nodes = np.full(len(reading.forms), -1, dtype=np.int64)
    for i, (form, word) in enumerate(zip(reading.forms, document.words, strict=True)):
        stopped = form in stops and not word.span.of(document.text).isupper()
        fitting = i in inside or grammar.letter(form, word.tag) in ("N", "A")
        if fitting and not stopped and is_word(form):
            nodes[i] = numbers.setdefault(form, len(numbers))
    return nodes  # (words,)


def co_occurrences(nodes: Indices, window: int, weighted: bool) -> SparseTable:
    """How often two words stand within a window of so many words; only whether they do, if not weighted."""
    size = int(nodes.max(initial=-1)) + 1
    pairs = [np.stack([nodes[:-gap], nodes[gap:]]) for gap in range(1, min(window, len(nodes)))]
    left, right = np.concatenate([*pairs, np.empty((2, 0), dtype=np.int64)], axis=1)  # (pairs,) each
    kept = (left >= 0) & (right >= 0) & (left != right)
    left, right = np.concatenate([left[kept], right[kept]]), np.concatenate([right[kept], left[kept]])
    counts = SparseTable.summed(size, left, right, np.ones(len(left)))
    return counts if weighted else replace(counts, values=np.ones_like(counts.values))  # (nodes, nodes)


# -- Topics (TopicRank, MultipartiteRank) -----------------------------------------------------------------------------


def topics(reading: WordIndex, threshold: float, language: str = "en") -> Indices:
    """The topic of each candidate: average linkage on the Jaccard distance of their stems, cut at a distance.

    Candidates without a common stem, not even through others, lie at distance 1 and never meet below it, so each
    connected part is clustered alone: the same topics, with less memory. Topics are numbered by their first candidate.
    Parts of more than 5,000 candidates (books) are cut in text order.
    """
    words = cancellable(reading.words(), every=256)
    similarity = jaccard([{stem_of(word, language) for word in own} for own in words])
    found = np.empty(similarity.size, dtype=np.int64)
    topic = 0
    for part, inside in cancellable(_connected(similarity)):
        labels = average_linkage(1 - inside.whole(), threshold) if len(part) > 1 else np.zeros(1, np.int64)
        found[part] = labels + topic
        topic += int(labels.max()) + 1
    _, first, renamed = np.unique(found, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[renamed]  # (candidates,)


def check_threshold(threshold: float) -> None:
    require("threshold", threshold, 0 <= threshold < 1, "0 or more and less than 1")


def heads(reading: WordIndex, topic: Indices) -> Indices:
    """For each candidate, that of its topic which stands first in the text."""
    order = np.argsort(reading.positions(), kind="stable")
    _, first = np.unique(topic[order], return_index=True)
    found: Indices = order[first][topic]
    return found


def jaccard(sets: Sequence[set[str]]) -> SparseTable:
    """Shared stems over all stems of two candidates, for every two that share one."""
    numbers = {name: i for i, name in enumerate(dict.fromkeys(name for names in sets for name in sorted(names)))}
    holders: list[list[int]] = [[] for _ in numbers]  # by stem
    for row, names in enumerate(sets):
        for name in names:
            holders[numbers[name]].append(row)
    pairs = [np.stack(np.meshgrid(rows, rows)).reshape(2, -1) for rows in holders]
    left, right = np.concatenate([*pairs, np.empty((2, 0), dtype=np.int64)], axis=1)
    shared = SparseTable.summed(len(sets), left, right, np.ones(len(left)))
    sizes = np.array([len(names) for names in sets], dtype=np.float64)
    every = sizes[shared.rows] + sizes[shared.columns] - shared.values
    return replace(shared, values=shared.values / every)  # (candidates, candidates)


def _connected(similarity: SparseTable) -> Iterator[tuple[Indices, SparseTable]]:
    for part, inside in similarity.connected():
        for start in range(0, len(part), MOST_CLUSTERED):
            stop = min(start + MOST_CLUSTERED, len(part))
            yield part[start:stop], inside.within(start, stop)


# -- Nearness ---------------------------------------------------------------------------------------------------------


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
    def of(cls, places: Sequence[Sequence[WordRange]], node: Indices, topic: Indices) -> Nearness:
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
    rows, columns, values = [], [], []
    for part in np.split(order, np.flatnonzero(np.diff(topic[order])) + 1):
        nodes, local = np.unique(node[part], return_inverse=True)
        table = np.zeros(len(nodes) ** 2)
        for block in cancellable(_blocks(len(part))):
            gap = first[part] - last[part[block], None]  # (block, occurrences of the topic)
            near = np.where(gap > 0, 1 / np.maximum(gap, 1), 0.0)
            table += np.bincount((local[block, None] * len(nodes) + local).ravel(), near.ravel(), len(table))
        rows.append(np.repeat(nodes, len(nodes)))
        columns.append(np.tile(nodes, len(nodes)))
        values.append(table)
    left, right, value = (np.concatenate(each) for each in (rows, columns, values))
    some = np.flatnonzero(value)
    left, right, value = left[some], right[some], value[some]
    both = np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([value, value])
    return SparseTable.summed(size, *both)  # (nodes, nodes)


def fast_length(least: int) -> int:
    """The next length that an FFT takes little time for: one with no other prime factors than 2, 3 and 5."""
    while True:
        rest = least
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return least
        least += 1


def _blocks(n: int) -> Iterator[slice]:
    rows = max(1, min(_BLOCK, _MOST_PAIRS // max(n, 1)))
    return (slice(start, start + rows) for start in range(0, n, rows))
