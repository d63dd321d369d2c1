"""PromptRank (Kong et al., ACL 2023): how likely does the model find the candidate after the document?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from mudy.engines.backbone import Backbone, Question
from mudy.methods.chunks import Chunk, DocumentChunk, chunk_batches
from mudy.methods.method import (
    BatchMethod,
    OccurrenceScore,
    ScorePart,
    Scores,
    Work,
    require,
    setting,
    with_own_template,
)
from mudy.reading.document import Document

ScoredTokens = Literal["promptrank", "candidate"]


def prompt_likelihood(log_probabilities: Sequence[float], alpha: float, tokens: ScoredTokens = "promptrank") -> float:
    """The length-normalised log-likelihood of a candidate in its prompt (MUDY, Eq. 1)."""
    scored = log_probabilities if tokens == "promptrank" else log_probabilities[1:-1]
    return float(sum(scored) / len(scored) ** alpha)


@dataclass(frozen=True)
class PromptRank(BatchMethod):
    """Prompt likelihood, times a penalty for late positions."""

    title = "PromptRank"
    citation = "Kong et al., ACL 2023"
    needs = ("backbone",)
    comparable = False
    parts = (ScorePart("p", "likelihood of the phrase"), ScorePart("r", "penalty for a late place"))

    backbone: Backbone
    alpha: float = setting(0.6, "Exponent of the length that a phrase's log-likelihood is divided by.")
    gamma: float = setting(1.2e8, "Weight of the document's length in the position penalty.")
    position_penalty: bool = setting(True, "Rank phrases that first stand late in the text lower.")
    score_tokens: ScoredTokens = setting(
        "promptrank", "Tokens in the likelihood: promptrank ('about', the candidate and the next), or candidate alone."
    )
    section_tokens: int = setting(2048, "Longer documents are read in sections of so many tokens.")
    template: str | None = setting(None, "What follows the text, with {} for the phrase; none: as in the paper.")

    def __post_init__(self) -> None:
        require(
            "score_tokens", self.score_tokens, self.score_tokens in get_args(ScoredTokens), "promptrank or candidate"
        )
        require("gamma", self.gamma, self.gamma >= 0, "0 or more")
        require("section_tokens", self.section_tokens, self.section_tokens >= 64, "64 or more")
        with_own_template(self)

    def score_many(self, work: Work) -> list[Scores]:
        scores = [Scores() for _ in work]
        for batch in chunk_batches(work, self.backbone, self.section_tokens):
            for chunk, p in zip(batch, self._likelihoods(batch), strict=True):
                scores[chunk.owner].add(self._scored(chunk, p), language_model=chunk.chunk.span)
        return scores

    def _likelihoods(self, batch: Sequence[DocumentChunk]) -> Iterator[dict[int, float]]:
        """The p of every candidate, for each chunk; what a model remembers of the texts is gone afterwards."""
        phrases = [first_forms(chunk) for chunk in batch]
        encodings = self.backbone.encode([chunk.text_range for chunk in batch])
        questions = [Question(e, list(p.values())) for e, p in zip(encodings, phrases, strict=True)]
        for candidates, scored in zip(phrases, self.backbone.log_likelihood(questions), strict=True):
            yield {
                c: prompt_likelihood(v, self.alpha, self.score_tokens) for c, v in zip(candidates, scored, strict=True)
            }

    def _scored(self, chunk: DocumentChunk, p: Mapping[int, float]) -> Iterator[OccurrenceScore]:
        for place, r in zip(chunk.places, self._penalties(chunk.document, chunk.chunk), strict=True):
            of = p[place.candidate]
            yield OccurrenceScore(place.candidate, place.occurrence, r * of, {"p": of, "r": r}, chunk.chunk.index)

    def _penalties(self, document: Document, chunk: Chunk) -> list[float]:
        """The penalty r = pos / len + gamma / len^3; the likelihood is negative, so an earlier place ranks higher."""
        if not self.position_penalty:
            return [1.0] * len(chunk.places)
        starts, length = [word.span.start for word in document.words], len(document.text.split())
        positions = [bisect_right(starts, place.span.start) - 1 for place in chunk.places]
        return [position / length + self.gamma / length**3 for position in positions]


def first_forms(chunk: DocumentChunk) -> dict[int, str]:
    """Each candidate as it first stands in a chunk."""
    return {place.candidate: place.span.of(chunk.text) for place in reversed(chunk.places)}
