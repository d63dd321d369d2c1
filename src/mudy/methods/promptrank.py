"""PromptRank (Kong et al., ACL 2023): how likely does the model find the candidate after the document?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from mudy.backbones.backbone import Backbone, Question
from mudy.candidates import Candidate
from mudy.methods.chunks import Part, Section, together
from mudy.methods.method import Models, OccurrenceScore, Work, no_presets, require, setting
from mudy.text import Document

ScoredTokens = Literal["promptrank", "candidate"]


@dataclass(frozen=True)
class PromptRank:
    """Prompt likelihood, times a penalty for late positions."""

    backbone: Backbone
    alpha: float = setting(0.6, "Exponent of the length that a phrase's log-likelihood is divided by.")
    gamma: float = setting(1.2e8, "Weight of the document's length in the position penalty.")
    position_penalty: bool = setting(True, "Rank phrases that first stand late in the text lower.")
    score_tokens: ScoredTokens = setting(
        "promptrank", "Tokens in the likelihood: promptrank ('about', the candidate and the next), or candidate alone."
    )
    section_tokens: int = setting(2048, "Longer documents are read in sections of so many tokens.")

    def __post_init__(self) -> None:
        require(
            "score_tokens", self.score_tokens, self.score_tokens in get_args(ScoredTokens), "promptrank or candidate"
        )
        require("gamma", self.gamma, self.gamma >= 0, "0 or more")
        require("section_tokens", self.section_tokens, self.section_tokens >= 64, "64 or more")

    @classmethod
    def build(cls, models: Models, preset: str | None, settings: Mapping[str, Any]) -> PromptRank:
        no_presets("promptrank", preset)
        return cls(models.backbone(), **settings)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        return self.score_many([(document, candidates)])[0]

    def score_many(self, work: Work) -> list[list[OccurrenceScore]]:
        scores: list[list[OccurrenceScore]] = [[] for _ in work]
        for parts in together(work, self.backbone, self.section_tokens):
            for part, p in zip(parts, self._likelihoods(parts), strict=True):
                scores[part.owner] += self._scored(part, p)
        return scores

    def _likelihoods(self, parts: Sequence[Part]) -> Iterator[dict[int, float]]:
        """The p of every candidate, for each part; what a model remembers of the texts is gone afterwards."""
        phrases = [first_forms(part) for part in parts]
        encodings = self.backbone.encode([part.stretch for part in parts])
        questions = [Question(e, list(p.values())) for e, p in zip(encodings, phrases, strict=True)]
        for own, found in zip(phrases, self.backbone.log_likelihood(questions), strict=True):
            yield {c: likelihood(v, self.alpha, self.score_tokens) for c, v in zip(own, found, strict=True)}

    def _scored(self, part: Part, p: Mapping[int, float]) -> Iterator[OccurrenceScore]:
        for place, r in zip(part.places, self._penalties(part.document, part.section), strict=True):
            of = p[place.candidate]
            yield OccurrenceScore(place.candidate, place.occurrence, r * of, {"p": of, "r": r}, part.section.index)

    def _penalties(self, document: Document, section: Section) -> list[float]:
        """The penalty r = pos / len + gamma / len^3; the likelihood is negative, so an earlier place ranks higher."""
        if not self.position_penalty:
            return [1.0] * len(section.places)
        starts, length = [word.span.start for word in document.words], len(document.text.split())
        positions = [bisect_right(starts, place.span.start) - 1 for place in section.places]
        return [position / length + self.gamma / length**3 for position in positions]


def first_forms(part: Part) -> dict[int, str]:
    """Each candidate as it first stands in a section."""
    return {place.candidate: place.span.of(part.text) for place in reversed(part.places)}


def likelihood(log_probabilities: Sequence[float], alpha: float, tokens: ScoredTokens = "promptrank") -> float:
    """The length-normalised log-likelihood of a candidate in its prompt (Eq. 1)."""
    scored = log_probabilities if tokens == "promptrank" else log_probabilities[1:-1]
    return float(sum(scored) / len(scored) ** alpha)
