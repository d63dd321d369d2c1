"""PromptRank (Kong et al., ACL 2023): how likely does the model find the candidate after the document?"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from mudy.engines.interfaces import Backbone, Question
from mudy.methods.chunks import Chunk, scored_in_chunks
from mudy.methods.method import BatchMethod, OccurrenceScore, ScorePart, Scores, Work, prompted, setting

ScoredTokens = Literal["promptrank", "candidate"]


def prompt_likelihood(log_probabilities: Sequence[float], alpha: float, tokens: ScoredTokens = "promptrank") -> float:
    """The length-normalised log-likelihood of a candidate in its prompt (MUDY, Eq. 1)."""
    scored = log_probabilities if tokens == "promptrank" else log_probabilities[1:-1]
    return float(sum(scored) / len(scored) ** alpha)


@dataclass(frozen=True)
class PromptMethod(BatchMethod):
    """A method that asks how likely a prompt is, with a candidate in it."""

    backbone: Backbone
    _: KW_ONLY
    alpha: float = setting(0.6, "Exponent of the length that a phrase's log-likelihood is divided by (MUDY, Eq. 1).")
    score_tokens: ScoredTokens = setting(
        "promptrank", "Tokens in the likelihood: promptrank ('about', the candidate and the next), or candidate alone."
    )
    section_tokens: int = setting(2048, "Longer documents are read in sections of so many tokens.", least=64)
    template: str | None = setting(None, "What follows the text, with {} for the phrase; none: as in the paper.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.template is not None:
            object.__setattr__(self, "backbone", prompted(self.backbone, self.template))

    def likelihoods(self, questions: Sequence[Question]) -> list[list[float]]:
        """The p of every phrase of each question (MUDY, Eqs. 1 and 5-8, which run inside attention)."""
        answers = self.backbone.log_likelihood(questions)
        return [[prompt_likelihood(scored, self.alpha, self.score_tokens) for scored in answer] for answer in answers]


@dataclass(frozen=True)
class PromptRank(PromptMethod):
    """Prompt likelihood, times a penalty for late positions."""

    title = "PromptRank"
    citation = "Kong et al., ACL 2023"
    needs = ("backbone",)
    parts = (ScorePart("p", "likelihood of the phrase"), ScorePart("r", "penalty for a late place"))

    gamma: float = setting(1.2e8, "Weight of the document's length in the position penalty.", least=0)
    position_penalty: bool = setting(True, "Rank phrases that first stand late in the text lower.")

    def score_many(self, work: Work) -> list[Scores]:
        return scored_in_chunks(work, self.backbone, self.section_tokens, self._scored)

    def _scored(self, chunks: Sequence[Chunk]) -> Iterator[list[OccurrenceScore]]:
        """The score of every occurrence in each chunk, the p that of its phrase where it first stands in the chunk."""
        forms = [{p.candidate: p.span.of(chunk.document.text) for p in reversed(chunk.places)} for chunk in chunks]
        encodings = self.backbone.encode([chunk.text_range for chunk in chunks])
        questions = [Question(e, list(phrases.values())) for e, phrases in zip(encodings, forms, strict=True)]
        for chunk, phrases, likelihoods in zip(chunks, forms, self.likelihoods(questions), strict=True):
            p_of = dict(zip(phrases, likelihoods, strict=True))
            parts = [(p_of[place.candidate], r) for place, r in zip(chunk.places, self._penalties(chunk), strict=True)]
            yield [
                OccurrenceScore(place.candidate, place.occurrence, r * p, {"p": p, "r": r}, chunk.index)
                for place, (p, r) in zip(chunk.places, parts, strict=True)
            ]

    def _penalties(self, chunk: Chunk) -> list[float]:
        """The penalty r = pos / len + gamma / len^3; the likelihood is negative, so an earlier place ranks higher."""
        if not self.position_penalty:
            return [1.0] * len(chunk.places)
        document = chunk.document
        starts, length = [word.span.start for word in document.words], len(document.text.split())
        positions = [bisect_right(starts, place.span.start) - 1 for place in chunk.places]
        return [position / length + self.gamma / length**3 for position in positions]
