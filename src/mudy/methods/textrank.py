"""TextRank (Mihalcea and Tarau, EMNLP 2004) and SingleRank (Wan and Xiao, AAAI 2008): PageRank over words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mudy.methods.graphs import Indices, SparseTable, WordIndex, is_word, pagerank
from mudy.methods.method import Method, OccurrenceScore, same_at_each, setting
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.grammar import grammar_of
from mudy.reading.document import Document
from mudy.reading.languages import stop_words


@dataclass(frozen=True)
class TextRank(Method):
    """The sum of a phrase's word scores, by PageRank on an unweighted graph of neighbouring words.

    Every phrase is scored, where the paper keeps those made of the best third of the words. Words are compared in lower
    case, not by stems. Of phrases with equal scores the earlier comes first.
    """

    title: ClassVar = "TextRank"
    citation: ClassVar = "Mihalcea and Tarau, EMNLP 2004"
    weighted: ClassVar = False  # whether an edge counts how often its words are neighbours

    window: int = setting(2, "Words within a window of so many words are linked; 2: adjacent words.", least=2)
    damping: float = setting(0.85, "Damping factor of PageRank.", least=0, below=1)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        reading = WordIndex.of(document, candidates)
        nodes = word_nodes(document, reading)
        edges = co_occurrences(nodes, self.window, self.weighted)
        rank = pagerank(edges, edges @ np.ones(edges.size), self.damping)
        first = (nodes[places[0].first : places[0].last + 1] for places in reading.places)
        return same_at_each(candidates, [rank[words[words >= 0]].sum() for words in first])


@dataclass(frozen=True)
class SingleRank(TextRank):
    """The sum of a phrase's word scores, by PageRank on a graph weighted by co-occurrence."""

    title: ClassVar = "SingleRank"
    citation: ClassVar = "Wan and Xiao, AAAI 2008"
    weighted: ClassVar = True

    window: int = setting(10, "Words within a window of so many words are linked.", least=2)


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
