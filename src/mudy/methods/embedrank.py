"""EmbedRank (Bennani-Smires et al., CoNLL 2018), with BERT: candidates that mean what the document means."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mudy.engines.interfaces import SentenceEncoder, mean_state, unit_length
from mudy.engines.light.encoders import UniversalEncoder
from mudy.methods.chunks import EncoderChunk, encoder_chunks, scored_alike
from mudy.methods.method import Method, ScorePart, Scores, same_at_each, setting
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document, Span

Vectors = NDArray[np.float64]
PIECE = 300  # words that the multilingual encoder reads at once


@dataclass(frozen=True)
class EmbedRank(Method):
    """The cosine between a candidate, encoded alone, and the document.

    BERT replaces sent2vec, as in the tables of MDERank. A vector is the mean over all tokens, special ones too, of all
    windows of a text. Texts in other languages than English are read by the multilingual encoder, in pieces of 300
    words, unless an encoder was chosen for all.
    """

    title = "EmbedRank"
    citation = "Bennani-Smires et al., CoNLL 2018"
    needs = ("encoder", "multilingual")
    parts = (ScorePart("cosine", "likeness to the whole text", "cos"),)

    encoder: SentenceEncoder
    multilingual: Callable[[], UniversalEncoder | None] | None = field(default=None, compare=False)
    layer: int = setting(-1, "Layer that is averaged: -1 the last, as encoders are trained, or -2.", least=-2, most=-1)
    mmr: bool = setting(False, "EmbedRank++: choose each next phrase to be unlike those before it.")
    beta: float = setting(0.55, "With mmr: weight of the document against the phrases chosen.", least=0, most=1)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> Scores:
        universal = self.multilingual() if self.multilingual is not None and document.language != "en" else None
        chunks = encoder_chunks(document, self.encoder) if universal is None else []
        if universal is None:
            whole, vectors = self._document(chunks), self._phrases(candidates)  # (width,), (candidates, width)
        else:
            whole, vectors, read = universal_vectors(universal, document, candidates)
        cosine = vectors @ whole  # (candidates,)
        scores = marginal_relevance(cosine, vectors @ vectors.T, self.beta) if self.mmr else cosine.tolist()
        parts = [{"cosine": value} for value in cosine.tolist()]
        if universal is not None:
            return Scores(same_at_each(candidates, scores, parts), encoder=read)
        return scored_alike(candidates, scores, parts, chunks)

    def _document(self, chunks: Sequence[EncoderChunk]) -> Vectors:
        rows = [window.tokens.ids for window in chunks]
        sums = self.encoder.states(rows, self.layer, lambda state: state.sum(0))
        return unit_length(np.stack(sums).sum(0, dtype=np.float64))  # (width,)

    def _phrases(self, candidates: Sequence[Candidate]) -> Vectors:
        rows = [self.encoder.read_alone(candidate.phrase) for candidate in candidates]
        means = self.encoder.states(rows, self.layer, mean_state)
        return unit_length(np.stack(means).astype(np.float64))


def universal_vectors(
    encoder: UniversalEncoder, document: Document, candidates: Sequence[Candidate]
) -> tuple[Vectors, Vectors, list[Span]]:
    """A document, the mean of its pieces; its candidates; what was read; (width,) and (candidates, width)."""
    ends = [0, *(document.end_of_words(words) for words in range(PIECE, document.word_count + PIECE, PIECE))]
    pieces = [(start, document.text[start:end]) for start, end in pairwise(ends)]
    vectors = encoder.embed([*(text for _, text in pieces), *(c.phrase for c in candidates)]).astype(np.float64)
    read = [Span(start, start + encoder.end_of_window(text)) for start, text in pieces]
    return unit_length(vectors[: len(pieces)].mean(0)), vectors[len(pieces) :], read


def marginal_relevance(cosine: Vectors, similarity: Vectors, beta: float) -> list[float]:
    """Choose phrases one by one, by beta * likeness to the document - (1 - beta) * likeness to the likest one chosen.

    Both are brought to mean 0.5 and deviation 1: over all phrases, and over all others of each phrase. (The paper
    divides by the maximum before that, which changes nothing.) While none is chosen the least likeness of all stands
    for it, so that values fall from choice to choice and can serve as scores.
    """
    n = len(cosine)
    document = _standardised(cosine[None])[0]
    if n == 1:
        return [beta * float(document[0])]
    others = ~np.eye(n, dtype=bool)
    between = _standardised(similarity[others].reshape(n, n - 1))
    table = np.zeros((n, n))
    table[others] = between.ravel()
    likest = np.full(n, between.min())
    left, scores = np.ones(n, dtype=bool), np.zeros(n)
    for _ in range(n):
        value = beta * document - (1 - beta) * likest
        best = int(np.where(left, value, -np.inf).argmax())
        scores[best], left[best] = value[best], False
        likest = np.maximum(likest, table[:, best])
    return [float(score) for score in scores]


def _standardised(rows: Vectors) -> Vectors:
    """0.5 + (x - mean) / deviation, row by row; a row of equal values becomes 0.5."""
    deviation = rows.std(axis=1, keepdims=True)
    return np.asarray(0.5 + (rows - rows.mean(axis=1, keepdims=True)) / np.where(deviation > 1e-12, deviation, np.inf))
