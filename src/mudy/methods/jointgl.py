"""JointGL (Liang et al., EMNLP 2021): like the document as a whole, and central among the candidates around."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import cancellable
from mudy.engines.interfaces import Floats, SentenceEncoder, mean_state
from mudy.methods.chunks import EncoderChunk, IndexedOccurrence, chunk_at, encoder_chunks, indexed_occurrences
from mudy.methods.graphs import blocks
from mudy.methods.method import Method, OccurrenceScore, ScorePart, Scores, setting
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document, Span

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class JointGL(Method):
    """local * global * position of each occurrence.

    Local is its centrality among all occurrences, boundary-aware; global is 1 / its L1-distance from the document;
    position is a softmax of 1 / (i + 1), i its place among the occurrences.

    The vector of a word is the mean of its pieces in the last layer, that of an occurrence the largest value of each
    dimension over its words, and that of the document the first token's ([CLS]). A document longer than the encoder's
    window is read in windows without overlap, and its vector is the mean of theirs; the paper reads only the first.
    """

    title = "JointGL"
    citation = "Liang et al., EMNLP 2021"
    needs = ("encoder",)
    parts = (
        ScorePart("local", "centrality among phrases"),
        ScorePart("global", "nearness to the whole text"),
        ScorePart("position", "early place", "pos"),
    )

    encoder: SentenceEncoder
    beta: float = setting(0.1, "Similarities below min + beta (max - min) do not count.", least=0, most=1)
    lambda1: float = setting(1.0, "Share of a similarity for the one of two nearer to a boundary of the text.", least=0)
    lambda2: float = setting(0.9, "Share of a similarity for the one farther from a boundary.", least=0)
    a: float = setting(1.2, "How much farther the end of the text counts than its beginning.", least=0)
    last_diagonal: float | None = setting(1.0, "A table entry that the released code never fills; none: the product.")

    def score(self, document: Document, candidates: Sequence[Candidate]) -> Scores:
        ordered, chunks = indexed_occurrences(candidates), encoder_chunks(document, self.encoder)
        states = self.encoder.states([window.tokens.ids for window in chunks])
        vectors = np.stack(list(occurrence_vectors(document, ordered, chunks, states))).astype(np.float64)
        whole = np.stack([state[0] for state in states]).mean(0, dtype=np.float64)  # (width,)
        local = self.local(vectors)
        nearness = 1 / np.maximum(np.abs(vectors - whole).sum(1), 1e-12)  # the paper's global score
        powers = np.exp(1 / np.arange(1, len(ordered) + 1) - 1)
        position = powers / powers.sum()  # softmax
        scores = Scores(encoder=[chunk.span for chunk in chunks])
        for place, *values in zip(ordered, local.tolist(), nearness.tolist(), position.tolist(), strict=True):
            parts = dict(zip(("local", "global", "position"), values, strict=True))
            section = chunk_at(chunks, place.span.start)
            scores.append(OccurrenceScore(place.candidate, place.occurrence, prod(values), parts, section))
        return scores

    def local(self, vectors: Vectors) -> Vectors:
        """Similarity to all others as far as it is above a threshold, weighted by who is nearer to a boundary.

        Similarities are products. An occurrence is d(i) = min(i, a (n - i)) from a boundary, and of two the nearer
        takes lambda1 of what they have in common, the other lambda2; of two equally near the later counts as nearer.
        """
        n = len(vectors)
        low, high = self._range(vectors)
        theta = low + self.beta * (high - low)
        index = np.arange(n)
        boundary = np.minimum(index, self.a * (n - index))
        sums = []
        for block in cancellable(blocks(n)):
            rows = index[block]
            common = np.maximum(vectors[rows] @ vectors.T - theta, 0)  # (rows, occurrences)
            common[np.arange(len(rows)), rows] = 0
            mine, theirs = boundary[rows, None], boundary[None]
            nearer = (mine < theirs) | ((mine == theirs) & (index[rows, None] > index[None]))
            sums.append((common * np.where(nearer, self.lambda1, self.lambda2)).sum(1))
        return np.concatenate(sums)  # (occurrences,)

    def _range(self, vectors: Vectors) -> tuple[float, float]:
        """The least and the greatest similarity, that of an occurrence with itself included."""
        low, high = np.inf, -np.inf
        for rows in cancellable(blocks(len(vectors))):
            table = vectors[rows].copy() @ vectors.T
            if self.last_diagonal is not None and rows.stop >= len(vectors):
                table[-1, -1] = self.last_diagonal
            low, high = min(low, float(table.min())), max(high, float(table.max()))
        return low, high


def occurrence_vectors(
    document: Document, ordered: Sequence[IndexedOccurrence], chunks: Sequence[EncoderChunk], states: Sequence[Floats]
) -> Iterator[Floats]:
    """The element-wise maximum over an occurrence's words of the mean over their pieces; (width,) each."""
    starts = [word.span.start for word in document.words]
    ends = [word.span.end for word in document.words]
    for place in cancellable(ordered, every=256):
        inside = document.words[bisect_right(ends, place.span.start) : bisect_left(starts, place.span.end)]
        spans = [Span(max(w.span.start, place.span.start), min(w.span.end, place.span.end)) for w in inside]
        means = []
        for span in spans or [place.span]:  # what is no prose has no words
            window = chunk_at(chunks, span.start)
            pieces = chunks[window].tokens.of(span)
            means.append(mean_state(states[window][pieces.start : pieces.stop]))
        yield np.stack(means).max(0)
