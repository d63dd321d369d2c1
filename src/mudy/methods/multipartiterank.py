"""MultipartiteRank (Boudin, NAACL 2018): PageRank over candidates that are linked across topics only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mudy.candidates import Candidate
from mudy.methods.graphs import Indices, Nearness, Vector, pagerank
from mudy.methods.method import Method, OccurrenceScore, same_at_each, setting
from mudy.methods.topicrank import heads, topics
from mudy.methods.word_index import WordIndex
from mudy.reading.document import Document


@dataclass(frozen=True)
class MultipartiteRank(Method):
    """The PageRank of a phrase among those of other topics, with a lift for the first phrase of each topic."""

    title = "MultipartiteRank"
    citation = "Boudin, NAACL 2018"

    alpha: float = setting(1.1, "Strength of the lift for the first phrase of each topic.", least=0)
    threshold: float = setting(0.74, "Phrases are one topic up to this mean distance of their stems.", least=0, below=1)
    damping: float = setting(0.85, "Damping factor of PageRank.", least=0, below=1)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        if not candidates:
            return []
        reading = WordIndex.of(document, candidates)
        topic = topics(reading, self.threshold, document.language)  # (candidates,)
        edges = Nearness.of(reading.places, np.arange(len(topic)), topic)
        head = heads(reading, topic)
        lifted = Lifted(edges, head, self.lift(reading, head))
        return same_at_each(candidates, list(pagerank(lifted, lifted.outgoing(), self.damping)))

    def lift(self, reading: WordIndex, head: Indices) -> Vector:
        """How much each phrase lifts its topic's head: alpha * exp(1 / (1 + the head's word index)); heads nothing."""
        position = np.array(reading.positions())
        lift: Vector = self.alpha * np.exp(1 / (1 + position[head]))  # (candidates,)
        return np.where(head == np.arange(len(head)), 0.0, lift)


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

    def outgoing(self) -> Vector:
        return self.edges.outgoing(1 + self.lift)
