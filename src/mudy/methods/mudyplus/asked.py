"""Evidence from a language model that reads a digest of a text: likelihood, ending and attention of a phrase, and what
it means in its sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from math import log1p

import numpy as np

from mudy.engines.interfaces import Backbone, Encoding, Question, Received, TextRange
from mudy.methods.mudy.algorithm import SAM_LAYERS
from mudy.methods.mudyplus.digest import Digest
from mudy.methods.mudyplus.evidence_table import Numbers
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
    states: tuple[Numbers | None, ...] = ()  # of each occurrence, less the mean of the text; None if it was not read

    @property
    def state(self) -> Numbers | None:
        """The mean over the occurrences that were read; None if there are none, or the model has no states."""
        read = [state for state in self.states if state is not None]
        return np.asarray(np.mean(read, axis=0)) if read else None

    @property
    def attention(self) -> float:
        """That of the occurrence which receives most."""
        return max((value for value in self.received if value is not None), default=NOT_READ)


def best_of(answers: Sequence[Answer]) -> Answer:
    """The likeliest answer, with the highest attention and the mean state of each occurrence."""
    best = max(answers, key=lambda answer: answer.likelihood)
    received = zip(*(answer.received for answer in answers), strict=True)
    states = zip_longest(*(answer.states for answer in answers))
    return replace(
        best,
        received=tuple(max((value for value in values if value is not None), default=None) for values in received),
        states=tuple(Answer(0, 0, (), several).state for several in states),
    )


@dataclass(frozen=True)
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

    @cached_property
    def _places(self) -> list[list[Span | None]]:
        """Where in the digest each occurrence of each candidate is."""
        return [[self.digest.place(occurrence.span) for occurrence in c.occurrences] for c in self.candidates]

    def attention(self, received: Received) -> list[tuple[float | None, ...]]:
        """How much attention each occurrence of each candidate receives."""
        mean = float(received.sums[received.tokens.first :].mean())
        return [
            tuple(None if span is None else attention(received.at(span), mean) for span in spans)
            for spans in self._places
        ]

    def states(self, encoding: Encoding) -> list[tuple[Numbers | None, ...]]:
        """The mean state of the tokens of each occurrence of each candidate, less that of all tokens."""
        if encoding.middle is None:
            return [() for _ in self.candidates]
        tokens, middle = encoding.tokens, encoding.middle.astype(np.float64)
        mean = middle[tokens.first :].mean(0)

        def at(span: Span) -> Numbers:
            held = tokens.of(span)
            return np.asarray(middle[held.start : held.stop].mean(0) - mean)

        return [tuple(None if span is None else at(span) for span in spans) for spans in self._places]


def ask(backbone: Backbone, inquiries: Sequence[Inquiry]) -> list[list[Answer]]:
    """The answers about the candidates of each text, from one reading of its digest."""
    layers = SAM_LAYERS.get((backbone.family, backbone.depth), (round(0.55 * backbone.depth),))
    encodings = backbone.encode([inquiry.text_range for inquiry in inquiries], layers, middle=True)
    received = [
        encoding.received or backbone.received_attention([inquiry.text_range], layers)[0]
        for encoding, inquiry in zip(encodings, inquiries, strict=True)
    ]
    questions = [Question(encoding, inquiry.forms) for encoding, inquiry in zip(encodings, inquiries, strict=True)]
    return [
        [
            Answer(likelihood(probabilities), ending(probabilities), attended, states)
            for probabilities, attended, states in zip(
                scored, inquiry.attention(sums), inquiry.states(encoding), strict=True
            )
        ]
        for inquiry, scored, sums, encoding in zip(
            inquiries, backbone.log_likelihood(questions), received, encodings, strict=True
        )
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
