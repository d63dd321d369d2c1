"""TopicRank (Bougouin, Boudin and Daille, IJCNLP 2013): PageRank over clusters of candidates.

And MultipartiteRank (Boudin, NAACL 2018): PageRank over candidates that are linked across clusters only.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import cancellable
from mudy.methods.graphs import Indices, Nearness, Vector, WordIndex, pagerank
from mudy.methods.method import Method, OccurrenceScore, same_at_each, setting
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.stemming import stem_of
from mudy.reading.document import Document

MOST_CLUSTERED = 5_000  # candidates compared with one another, at 16 bytes a pair


@dataclass(frozen=True)
class TopicRank(Method):
    """The PageRank of a phrase's topic, for the first phrase of each; the others, which the paper drops, come last."""

    title = "TopicRank"
    citation = "Bougouin, Boudin and Daille, IJCNLP 2013"

    threshold: float = setting(0.74, "Phrases are one topic up to this mean distance of their stems.", least=0, below=1)
    damping: float = setting(0.85, "Damping factor of PageRank.", least=0, below=1)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        reading = WordIndex.of(document, candidates)
        topic = topics(reading, self.threshold, document.language)  # (candidates,)
        edges = Nearness.of(reading.places, topic, topic)
        rank = pagerank(edges, edges.outgoing(np.ones(topic.max() + 1)), self.damping)  # (topics,)
        score, is_head = rank[topic], heads(reading, topic) == np.arange(len(topic))  # (candidates,)
        below = score * score[is_head].min() / 2  # scores lie in (0, 1]: below every head, and in their own order
        return same_at_each(candidates, np.where(is_head, score, below).tolist())


@dataclass(frozen=True)
class MultipartiteRank(Method):
    """The PageRank of a phrase among those of other topics, with a lift for the first phrase of each topic."""

    title = "MultipartiteRank"
    citation = "Boudin, NAACL 2018"

    alpha: float = setting(1.1, "Strength of the lift for the first phrase of each topic.", least=0)
    threshold: float = setting(0.74, "Phrases are one topic up to this mean distance of their stems.", least=0, below=1)
    damping: float = setting(0.85, "Damping factor of PageRank.", least=0, below=1)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        reading = WordIndex.of(document, candidates)
        topic = topics(reading, self.threshold, document.language)  # (candidates,)
        edges = Nearness.of(reading.places, np.arange(len(topic)), topic)
        head = heads(reading, topic)
        lifted = Lifted(edges, head, self.lift(np.array(reading.positions()), head))
        rank = pagerank(lifted, edges.outgoing(1 + lifted.lift), self.damping)  # (candidates,)
        return same_at_each(candidates, rank.tolist())

    def lift(self, position: Indices, head: Indices) -> Vector:
        """How much each phrase lifts its topic's head: alpha * exp(1 / (1 + the head's word index)); heads nothing."""
        is_head = head == np.arange(len(head))
        return np.where(is_head, 0.0, self.alpha * np.exp(1 / (1 + position[head])))  # (candidates,)


@dataclass(frozen=True)
class Lifted:
    """Edges with more weight towards heads: w(j, head) += lift * (the sum of w(j, v) over the others v of its topic).

    Since w is symmetric, what comes in at each other phrase of a topic comes in once more, lifted, at the head.
    """

    edges: Nearness
    head: Indices  # (candidates,)
    lift: Vector  # (candidates,)

    def __matmul__(self, x: Vector) -> Vector:
        plain = self.edges @ x
        return plain + np.bincount(self.head, self.lift * plain, minlength=len(plain))


def topics(reading: WordIndex, threshold: float, language: str = "en") -> Indices:
    """The topic of each candidate: average linkage on the Jaccard distance of their stems, cut at a distance.

    Candidates without a common stem, not even through others, lie at distance 1 and never meet below it, so each
    connected part is clustered alone: the same topics, with less memory. Topics are numbered by their first candidate.
    Parts of more than 5,000 candidates (books) are cut in text order.
    """
    stems = [{stem_of(word, language) for word in words} for words in cancellable(reading.words(), every=256)]
    topic, count = np.empty(len(stems), dtype=np.int64), 0
    for part in cancellable(connected(stems)):
        for start in range(0, len(part), MOST_CLUSTERED):
            members = part[start : start + MOST_CLUSTERED]
            clusters = average_linkage(jaccard_distance([stems[i] for i in members]), threshold)
            topic[members] = clusters + count
            count += int(clusters.max()) + 1
    _, first, renamed = np.unique(topic, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[renamed]  # (candidates,)


def heads(reading: WordIndex, topic: Indices) -> Indices:
    """For each candidate, that of its topic which stands first in the text."""
    order = np.argsort(reading.positions(), kind="stable")
    _, first = np.unique(topic[order], return_index=True)
    return np.asarray(order[first][topic])


def connected(sets: Sequence[Iterable[str]]) -> list[list[int]]:
    """Which sets have members in common, also through others: the indices of each such part."""
    leader = list(range(len(sets)))

    def leading(index: int) -> int:
        while leader[index] != index:
            leader[index] = index = leader[leader[index]]
        return index

    holder: dict[str, int] = {}  # a set that has the member
    for index, members in enumerate(sets):
        for member in members:
            leader[leading(index)] = leading(holder.setdefault(member, index))
    parts: dict[int, list[int]] = defaultdict(list)
    for index in range(len(sets)):
        parts[leading(index)].append(index)
    return list(parts.values())


def jaccard_distance(sets: Sequence[Collection[str]]) -> NDArray[np.float64]:
    """1 - the members that two sets share, over all members of both; (sets, sets)."""
    holders: dict[str, list[int]] = defaultdict(list)
    for index, members in enumerate(sets):
        for member in members:
            holders[member].append(index)
    shared = np.zeros((len(sets), len(sets)))
    for indices in holders.values():
        shared[np.ix_(indices, indices)] += 1
    sizes = np.array([len(members) for members in sets], dtype=np.float64)
    every = sizes[:, None] + sizes
    every -= shared
    shared /= np.maximum(every, 1, out=every)  # in place, since there may be 5,000 sets
    return np.subtract(1, shared, out=shared)


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
