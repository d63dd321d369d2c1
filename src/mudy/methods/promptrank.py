"""PromptRank (Kong et al., ACL 2023): how likely does the model find the candidate after the document?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from mudy.backbones.base import Backbone
from mudy.candidates import Candidate
from mudy.methods.base import Models, OccurrenceScore, no_presets, require
from mudy.methods.sections import Place, Section, sections
from mudy.text import Document

ScoredTokens = Literal["promptrank", "candidate"]


@dataclass(frozen=True)
class PromptRank:
    """Prompt likelihood, times a penalty for late positions."""

    backbone: Backbone
    alpha: float = 0.6  # exponent of the length that a phrase's log-likelihood is divided by
    gamma: float = 1.2e8  # weight of the document's length in the position penalty
    position_penalty: bool = True
    score_tokens: ScoredTokens = "promptrank"  # "about", the candidate and the token after it; or the candidate alone
    section_tokens: int = 2048  # longer documents are read in sections

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
        limit = min(self.section_tokens, self.backbone.room())
        if not candidates:
            return []
        found = sections(document, candidates, self.backbone.token_ends(document.text), limit)
        return [score for section in found for score in self._section(document, section)]

    def _section(self, document: Document, section: Section) -> list[OccurrenceScore]:
        encoding = self.backbone.encode(document.text, section.span)
        phrases = {p.candidate: p.span.of(document.text) for p in reversed(section.places)}  # the first form of each
        found = self.backbone.log_likelihood(encoding, list(phrases.values()))
        p = {c: likelihood(f, self.alpha, self.score_tokens) for c, f in zip(phrases, found, strict=True)}
        penalties = self._penalties(document, section)
        return [
            _scored(place, section, p[place.candidate], r) for place, r in zip(section.places, penalties, strict=True)
        ]

    def _penalties(self, document: Document, section: Section) -> list[float]:
        """The penalty r = pos / len + gamma / len^3; the likelihood is negative, so an earlier place ranks higher."""
        if not self.position_penalty:
            return [1.0] * len(section.places)
        starts, length = [word.span.start for word in document.words], len(document.text.split())
        positions = [bisect_right(starts, place.span.start) - 1 for place in section.places]
        return [position / length + self.gamma / length**3 for position in positions]


def _scored(place: Place, section: Section, p: float, r: float) -> OccurrenceScore:
    return OccurrenceScore(place.candidate, place.occurrence, r * p, {"p": p, "r": r}, section.index)


def likelihood(log_probabilities: Sequence[float], alpha: float, tokens: ScoredTokens = "promptrank") -> float:
    """The length-normalised log-likelihood of a candidate in its prompt (Eq. 1)."""
    scored = log_probabilities if tokens == "promptrank" else log_probabilities[1:-1]
    return float(sum(scored) / len(scored) ** alpha)
