"""TopicRank (Bougouin, Boudin and Daille, IJCNLP 2013): PageRank over clusters of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mudy.candidates import Candidate
from mudy.methods.graphs import Nearness, check_damping, check_threshold, heads, pagerank, topics
from mudy.methods.method import Method, OccurrenceScore, same_at_each, setting
from mudy.methods.sparse_table import Indices, Vector
from mudy.methods.word_index import WordIndex
from mudy.reading.document import Document


@dataclass(frozen=True)
class TopicRank(Method):
    """The PageRank of a phrase's topic, for the first phrase of each topic; the others come after all of these.

    The paper returns one phrase a topic. Here none is lost: see `heads_first`.
    """

    title = "TopicRank"
    citation = "Bougouin, Boudin and Daille, IJCNLP 2013"

    threshold: float = setting(
        0.74, "Phrases are one topic up to this mean distance: 0.74 is a quarter of their stems in common."
    )
    damping: float = setting(0.85, "Damping factor of PageRank.")

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        check_damping(self.damping)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        if not candidates:
            return []
        reading = WordIndex.of(document, candidates)
        topic = topics(reading, self.threshold, document.language)  # (candidates,)
        edges = Nearness.of(reading.places, topic, topic)
        rank = pagerank(edges, edges.outgoing(np.ones(topic.max() + 1)), self.damping)  # (topics,)
        return same_at_each(candidates, list(heads_first(rank[topic], heads(reading, topic))))


def heads_first(score: Vector, head: Indices) -> Vector:
    """Heads keep their score; others get theirs times half the lowest head's.

    Scores lie in (0, 1], so these are below every head and keep their own order.
    """
    is_head = head == np.arange(len(head))
    return np.where(is_head, score, score * score[is_head].min() / 2)
