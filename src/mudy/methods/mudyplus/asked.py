"""Evidence from a language model that reads the beginning of a text: likelihood, ending and attention of a phrase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log1p
from typing import NamedTuple

from mudy.candidates import Candidate
from mudy.engines.backbone import Backbone, Question, Received, TextRange
from mudy.methods.mudy.settings import SAM_LAYERS
from mudy.reading.document import Span

TEMPLATE = " Keywords: {},"  # follows the text
ALPHA = 0.6  # exponent of the length that a log-likelihood is divided by, as in PromptRank
LEAST = -30.0  # log-probabilities below say no more


class Answer(NamedTuple):
    """What the language model says about one phrase."""

    likelihood: float
    ending: float
    attention: float


@dataclass(frozen=True)
class Beginning:
    """The beginning of a text, and some of the text's candidates."""

    text: str
    end: int
    candidates: Sequence[Candidate]
    words: int

    @property
    def text_range(self) -> TextRange:
        return TextRange(self.text, Span(0, self.end))

    @property
    def forms(self) -> list[str]:
        """Each candidate as it first occurs in the text."""
        return [candidate.occurrences[0].span.of(self.text) for candidate in self.candidates]

    def attention(self, received: Received) -> Iterator[float]:
        """How much attention each candidate receives."""
        mean = float(received.sums[received.tokens.first :].mean())
        for candidate in self.candidates:
            yield attention([received.at(o.span) for o in candidate.occurrences if o.span.end <= self.end], mean)


def ask(backbone: Backbone, beginnings: Sequence[Beginning]) -> list[list[Answer]]:
    """The answers about the candidates of each text, from one reading of its beginning."""
    layers = SAM_LAYERS.get((backbone.family, backbone.depth), (round(0.55 * backbone.depth),))
    encodings = backbone.encode([beginning.text_range for beginning in beginnings], layers)
    received = [
        encoding.received or backbone.received_attention([beginning.text_range], layers)[0]
        for encoding, beginning in zip(encodings, beginnings, strict=True)
    ]
    questions = [Question(encoding, b.forms) for encoding, b in zip(encodings, beginnings, strict=True)]
    return [
        [Answer(likelihood(p), ending(p), g) for p, g in zip(scored, beginning.attention(sums), strict=True)]
        for beginning, scored, sums in zip(beginnings, backbone.log_likelihood(questions), received, strict=True)
    ]


def likelihood(log_probabilities: Sequence[float]) -> float:
    """The length-normalised log-likelihood of the phrase's tokens after the text, when the model is asked for keywords.

    The first value belongs to the template's last token, the last to the token after the phrase, as backbones give it.
    """
    tokens = [bounded(value) for value in log_probabilities[1:-1]] or [LEAST]
    return float(sum(tokens) / len(tokens) ** ALPHA)


def ending(log_probabilities: Sequence[float]) -> float:
    """The log-probability of the comma after the phrase: after "fuzzy" a model expects more words."""
    return bounded(log_probabilities[-1])


def bounded(log_probability: float) -> float:
    """Between LEAST and 0, whatever rounding did."""
    return min(0.0, max(LEAST, log_probability))


def attention(received: Sequence[float], mean: float) -> float:
    """log(1 + log(1 + G)): G, as in MUDY, is the most attention that an occurrence receives, over the tokens' mean."""
    if not received or mean <= 0:
        return log1p(log1p(1.0))  # as much as any other token
    return log1p(log1p(max(0.0, max(received)) / mean))
