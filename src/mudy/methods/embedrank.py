"""EmbedRank (Bennani-Smires et al., CoNLL 2018), with BERT: candidates that mean what the document means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mudy.backbones import encoder_states
from mudy.backbones.encoder import SentenceEncoder
from mudy.candidates import Candidate
from mudy.methods.encoder_chunks import EncoderChunk, chunk_of_occurrence, encoder_chunks
from mudy.methods.method import Method, OccurrenceScore, ScorePart, require, same_at_each, setting
from mudy.text import Document


@dataclass(frozen=True)
class EmbedRank(Method):
    """The cosine between a candidate, encoded alone, and the document.

    The original embeds with sent2vec, which BERT replaces as in the tables of MDERank. A vector is the mean of a text's
    states, those of special tokens too. A document longer than the encoder's window is read in windows of whole
    sentences without overlap, and its vector is the mean over the tokens of all of them.
    """

    title = "EmbedRank"
    citation = "Bennani-Smires et al., CoNLL 2018"
    needs = ("encoder",)
    parts = (ScorePart("cosine", "likeness to the whole text", "cos"),)

    encoder: SentenceEncoder
    layer: int = setting(
        -1, "Layer whose states are averaged: -1 the last, as sentence encoders are trained, or -2 the one before."
    )
    mmr: bool = setting(False, "EmbedRank++: choose each next phrase to be unlike those before it.")
    beta: float = setting(0.55, "Weight of the document against the phrases chosen before; used by mmr alone.")

    def __post_init__(self) -> None:
        require("layer", self.layer, self.layer in (-1, -2), "-1 or -2")
        require("beta", self.beta, 0 <= self.beta <= 1, "between 0 and 1")

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        if not candidates:
            return []
        chunks = encoder_chunks(document, self.encoder)
        vectors = self._phrases(candidates)  # (candidates, width)
        cosine = vectors @ self._document(chunks)  # (candidates,)
        scores = marginal_relevance(cosine, vectors @ vectors.T, self.beta) if self.mmr else cosine.tolist()
        return same_at_each(
            candidates, scores, [{"cosine": value} for value in cosine.tolist()], chunk_of_occurrence(chunks)
        )

    def _document(self, chunks: Sequence[EncoderChunk]) -> Tensor:
        rows = [window.tokens.ids for window in chunks]
        sums = encoder_states.states(self.encoder, rows, self.layer, lambda state: state.float().sum(0))
        return torch.nn.functional.normalize(torch.stack(sums).double().sum(0), dim=0)  # (width,)

    def _phrases(self, candidates: Sequence[Candidate]) -> Tensor:
        rows = [encoder_states.read_alone(self.encoder, candidate.phrase) for candidate in candidates]
        means = encoder_states.states(self.encoder, rows, self.layer, lambda state: state.float().mean(0))
        return torch.nn.functional.normalize(torch.stack(means).double(), dim=1)


def marginal_relevance(cosine: Tensor, similarity: Tensor, beta: float) -> list[float]:
    """Choose phrases one by one, by beta * likeness to the document - (1 - beta) * likeness to the likest one chosen.

    Both are brought to mean 0.5 and deviation 1: over all phrases, and over all others of each phrase. (The paper
    divides by the maximum before that, which changes nothing.) While none is chosen the least likeness of all stands
    for it, so that values fall from choice to choice and can serve as scores.
    """
    n = len(cosine)
    document = _standardised(cosine[None])[0]
    if n == 1:
        return [beta * float(document)]
    others = ~torch.eye(n, dtype=torch.bool)
    between = _standardised(similarity[others].view(n, n - 1))
    table = torch.zeros(n, n, dtype=cosine.dtype).masked_scatter_(others, between)
    likest = torch.full((n,), float(between.min()), dtype=cosine.dtype)
    left, scores = torch.ones(n, dtype=torch.bool), torch.zeros(n, dtype=cosine.dtype)
    for _ in range(n):
        value = beta * document - (1 - beta) * likest
        best = int(value.masked_fill(~left, -torch.inf).argmax())
        scores[best], left[best] = value[best], False
        likest = torch.maximum(likest, table[:, best])
    return [float(score) for score in scores]


def _standardised(rows: Tensor) -> Tensor:
    """0.5 + (x - mean) / deviation, row by row; a row of equal values becomes 0.5."""
    deviation = rows.std(dim=1, correction=0, keepdim=True)
    return 0.5 + (rows - rows.mean(dim=1, keepdim=True)) / torch.where(deviation > 1e-12, deviation, torch.inf)
