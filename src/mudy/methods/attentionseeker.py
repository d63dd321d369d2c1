"""Attention-Seeker (López Z. et al., COLING 2025): attention, weighted by how much each head looks at candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mudy.engines.interfaces import Backbone, Floats, MapObserver, Maps
from mudy.engines.tokens import Tokens
from mudy.methods.chunks import Chunk
from mudy.methods.method import Method, ScorePart, Scores, setting
from mudy.methods.samrank import ChunkedDocument, candidate_mask, without_sink
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document

DocumentForm = Literal["auto", "short", "long"]

_ChunkScores = tuple[Chunk, float, dict[int, float]]  # its weight, and the scores of its phrases


@dataclass(frozen=True)
class AttentionSeeker(Method):
    """The attention that a phrase's tokens receive from rows and heads that look at candidates, over all layers.

    The paper has a form for short documents and one for long ones, which needs an abstract: the first segment stands
    for it here, since a document does not say what its abstract is. The long form weighs each segment by how much it
    looks at the candidates of the first. If the short form is asked for and the text is longer than a segment, its
    scores are summed over segments. Phrases are scored from their tokens as by SAMRank.
    """

    title = "Attention-Seeker"
    citation = "López Z. et al., COLING 2025"
    needs = ("backbone",)
    parts = (ScorePart("b", "attention received"), ScorePart("n", "times counted"))

    backbone: Backbone
    form: DocumentForm = setting("auto", "Of the paper: short or long documents; auto: short for one segment.")
    segment_tokens: int = setting(1024, "Longer documents are read in segments of so many tokens.", least=64)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> Scores:
        read = ChunkedDocument.of(document, candidates, self.backbone, self.segment_tokens)
        short = self.form == "short" or (self.form == "auto" and len(read.chunks) == 1)
        totals = [0.0] * len(candidates)
        parts: list[dict[str, float]] = [{"b": 0.0, "n": 0.0} for _ in candidates]
        for chunk, weight, phrases in self._short(read) if short else self._long(read):
            counts = Counter(place.candidate for place in chunk.places)
            for index, score in phrases.items():
                totals[index] += weight * score
                parts[index]["b"] += score
                parts[index]["n"] += counts[index]
        return read.scored(totals, parts)

    def _short(self, read: ChunkedDocument) -> Iterator[_ChunkScores]:
        """Two passes: candidates are weighed equally in the first, and by what they received there in the second."""
        for chunk, tokens in read.windows(self.backbone):
            mask = candidate_mask(chunk, tokens, self.backbone.sink_token)
            first = self._sought(tokens, mask, mask)
            yield chunk, 1.0, read.phrases(chunk, tokens, self._sought(tokens, mask, first * mask))

    def _sought(self, tokens: Tokens, mask: Floats, relevance: Floats) -> Floats:
        """B, the sum over layers and heads of R (s^T A), with s = A m in the rows of candidates and R = mean(s)."""
        observer = SeekingObserver(layers=frozenset(range(self.backbone.depth)), chosen=mask, relevance=relevance)
        self.backbone.observe(tokens, observer)
        return without_sink(np.sum(list(observer.sums.values()), axis=0), self.backbone.sink_token)

    def _long(self, read: ChunkedDocument) -> Iterator[_ChunkScores]:
        """Each chunk's weight T and phrase scores."""
        abstract: dict[int, float] | None = None
        for chunk, tokens in read.windows(self.backbone):
            mask = candidate_mask(chunk, tokens, self.backbone.sink_token)
            b = self._relevant(tokens, mask)
            phrases = read.phrases(chunk, tokens, b)
            if abstract is None:
                abstract, weight = phrases, float((np.square(b) * mask).sum())
            else:
                weight = float(b @ likeness(abstract, chunk, tokens))
            yield chunk, weight, phrases

    def _relevant(self, tokens: Tokens, mask: Floats) -> Floats:
        """b, the column sums of the sum over layers and heads of R A / mean(R), with R = mean(A m)."""
        observer = RelevanceObserver(layers=frozenset(range(self.backbone.depth)), chosen=mask)
        self.backbone.observe(tokens, observer)
        mean = sum(observer.means.values()) / len(observer.means)
        total = np.sum(list(observer.sums.values()), axis=0)
        return without_sink(total / np.float32(mean) if mean > 0 else total, self.backbone.sink_token)


def likeness(abstract: Mapping[int, float], chunk: Chunk, tokens: Tokens) -> Floats:
    """H: for each token, the sum over its candidates of their score in the abstract / their places here; (tokens,)."""
    counts = Counter(place.candidate for place in chunk.places)
    h = np.zeros(len(tokens), np.float32)
    for place in chunk.places:
        if place.candidate in abstract:
            held = tokens.of(place.span)
            h[held.start : held.stop] += abstract[place.candidate] / counts[place.candidate]
    return h


# -- What is asked of attention ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SeekingObserver(MapObserver):
    """Sums R (s^T A) over heads, s the relevance of candidate rows and R its mean (Attention-Seeker, short)."""

    chosen: Floats  # (tokens,): 1 for tokens of candidates; other rows do not count
    relevance: Floats  # (tokens,): how much it counts to look at each token

    def see(self, layer: int, maps: Maps) -> None:
        total: Floats = np.zeros((1, len(self.chosen)), np.float32)
        mean: Floats = np.zeros(1, np.float32)
        for rows, part in maps():
            s: Floats = (part @ self.relevance) * self.chosen[rows]  # (heads, rows)
            mean = mean + s.sum(1)  # (heads,)
            total = total + (s[:, None] @ part)[:, 0]  # (heads, tokens)
        self.sums[layer] = mean @ total / np.float32(len(self.chosen))


@dataclass(frozen=True, kw_only=True)
class RelevanceObserver(MapObserver):
    """Sums R A over heads and rows, R the mean attention to candidates (Attention-Seeker, long)."""

    chosen: Floats  # (tokens,): 1 for tokens of candidates
    means: dict[int, float] = field(default_factory=dict)  # layer -> mean of R over heads

    def see(self, layer: int, maps: Maps) -> None:
        columns = np.sum([part.sum(1) for _, part in maps()], axis=0)  # (heads, tokens)
        relevance = columns @ self.chosen / np.float32(len(self.chosen))  # (heads,)
        self.means[layer] = float(relevance.mean())
        self.sums[layer] = relevance @ columns
