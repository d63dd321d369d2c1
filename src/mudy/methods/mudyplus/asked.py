"""Evidence from a language model that reads a digest of a text: likelihood, ending and attention of a phrase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log1p

from mudy.engines.interfaces import Backbone, Question, Received, TextRange
from mudy.methods.mudy.settings import SAM_LAYERS
from mudy.methods.mudyplus.digest import Digest
from mudy.reading.candidates import Candidate
from mudy.reading.document import Span

TEMPLATE = " Keywords: {},"  # follows the text
ALPHA = 0.6  # exponent of the length that a log-likelihood is divided by, as in PromptRank
LEAST = -30.0  # log-probabilities below say no more
NOT_READ = log1p(log1p(1.0))  # attention of a phrase whose occurrences were not read: as much as any other token


@dataclass(frozen=True, slots=True)
class Answer:
    """What the language model says about one phrase."""

    likelihood: float
    ending: float
    received: tuple[float | None, ...]  # attention of each occurrence; None if it was not read

    @property
    def attention(self) -> float:
        """That of the occurrence which receives most."""
        return max((value for value in self.received if value is not None), default=NOT_READ)


def best_of(answers: Sequence[Answer]) -> Answer:
    """The answer after which the phrase is likeliest, with the attention of every occurrence that was read."""
    best = max(answers, key=lambda answer: answer.likelihood)
    read = (
        [value for value in values if value is not None] for values in zip(*(a.received for a in answers), strict=True)
    )
    return replace(best, received=tuple(max(values, default=None) for values in read))


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A digest of a text, and the candidates that are asked about after it."""

    digest: Digest
    candidates: Sequence[Candidate]

    @property
    def text_range(self) -> TextRange:
        return TextRange(self.digest.text, Span(0, len(self.digest.text)))

    @property
    def forms(self) -> list[str]:
        """Each candidate as it first occurs in the text."""
        return [candidate.occurrences[0].span.of(self.digest.source) for candidate in self.candidates]

    def attention(self, received: Received) -> list[tuple[float | None, ...]]:
        """How much attention each occurrence of each candidate receives."""
        mean = float(received.sums[received.tokens.first :].mean())
        places = ([self.digest.place(occurrence.span) for occurrence in c.occurrences] for c in self.candidates)
        return [
            tuple(None if span is None else attention(received.at(span), mean) for span in spans) for spans in places
        ]


def ask(backbone: Backbone, inquiries: Sequence[Inquiry]) -> list[list[Answer]]:
    """The answers about the candidates of each text, from one reading of its digest."""
    layers = SAM_LAYERS.get((backbone.family, backbone.depth), (round(0.55 * backbone.depth),))
    encodings = backbone.encode([inquiry.text_range for inquiry in inquiries], layers)
    received = [
        encoding.received or backbone.received_attention([inquiry.text_range], layers)[0]
        for encoding, inquiry in zip(encodings, inquiries, strict=True)
    ]
    questions = [Question(encoding, inquiry.forms) for encoding, inquiry in zip(encodings, inquiries, strict=True)]
    return [
        [
            Answer(likelihood(probabilities), ending(probabilities), attended)
            for probabilities, attended in zip(scored, inquiry.attention(sums), strict=True)
        ]
        for inquiry, scored, sums in zip(inquiries, backbone.log_likelihood(questions), received, strict=True)
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


def attention(received: float, mean: float) -> float:
    """log(1 + log(1 + G)): G, as in MUDY, is the attention that an occurrence receives, over the tokens' mean."""
    return NOT_READ if mean <= 0 else log1p(log1p(max(0.0, received) / mean))
