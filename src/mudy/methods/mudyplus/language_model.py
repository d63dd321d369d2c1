"""What the language model reads of a text, and what it answers: likelihood, ending, attention and meaning of phrases.

Of a long text it reads a digest of constant length, made of sentences from all of it: the opening, the headings, and
the sentences that mention the phrases which lead so far, first those with many leading phrases that are not in the
digest yet. So one short reading sees the whole text at every grain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, zip_longest
from math import ceil, log1p, sqrt

import numpy as np

from mudy.engines.interfaces import Backbone, Encoding, Question, Received, TextRange
from mudy.methods.mudy import SAM_LAYERS
from mudy.methods.mudyplus.evidence import Numbers
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document, Span

OPENING = 0.25  # share of a digest that is the beginning of the text
HEADINGS = 0.3  # share of a digest, at most, that is headings
COVERED = 70  # leading phrases for which sentences are chosen
LONGEST = 40  # words of a sentence that are read together; longer ones are cut
REPEATED = 0.4  # what a phrase's next mention in the digest is worth, compared with the one before
SHORTER = 0.7  # exponent of the length that the worth of a sentence is divided by
LEAST_WORDS = 20  # that a digest may be limited to
_BETWEEN = "\n"  # pieces of a digest

TEMPLATE = " Keywords: {},"  # follows the text
ALPHA = 0.6  # exponent of the length that a log-likelihood is divided by, as in PromptRank
LEAST = -30.0  # log-probabilities below say no more
NOT_READ = log1p(log1p(1.0))  # attention of a phrase whose occurrences were not read: as much as any other token


# -- Digests ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Digest:
    """Pieces of a text, in text order, read one after the other."""

    source: str
    pieces: tuple[Span, ...]
    words: int

    @cached_property
    def text(self) -> str:
        return _BETWEEN.join(piece.of(self.source) for piece in self.pieces)

    @cached_property
    def _starts(self) -> tuple[list[int], list[int]]:
        """Where each piece begins in the source, and in the digest."""
        offsets, end = [], 0
        for piece in self.pieces:
            offsets.append(end)
            end += piece.end - piece.start + len(_BETWEEN)
        return [piece.start for piece in self.pieces], offsets

    def holds(self, candidate: Candidate) -> bool:
        """Whether an occurrence of a candidate is in it."""
        return any(self.place(occurrence.span) is not None for occurrence in candidate.occurrences)

    def place(self, span: Span) -> Span | None:
        """Where a span of the source stands in the digest; None if it is not in it as a whole."""
        starts, offsets = self._starts
        piece = bisect_right(starts, span.start) - 1
        if piece < 0 or span.end > self.pieces[piece].end:
            return None
        shift = offsets[piece] - starts[piece]
        return Span(span.start + shift, span.end + shift)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence, or a stretch of a long one, with the leading phrases in it."""

    span: Span
    words: int
    leaders: frozenset[int]  # by rank

    def worth(self, mentions: Counter[int]) -> float:
        """How much it adds to a digest that mentions some leaders already."""
        worth = sum(float(REPEATED ** mentions[rank]) / sqrt(1 + rank) for rank in self.leaders)
        return worth / float(self.words**SHORTER)


def digest(document: Document, leaders: Sequence[Candidate], words: int) -> Digest:
    """The text itself if it has so few words; else a digest about the leading phrases, which come best first."""
    spans = document.word_spans
    if len(spans) <= words:
        return Digest(document.text, (Span(0, document.end_of_words(words)),), len(spans))
    opening = Span(0, spans[round(OPENING * words) - 1].end)
    pieces, left = [opening], words - round(OPENING * words)
    for heading, length in _headings(document, opening.end, round(HEADINGS * words)):
        pieces.append(heading)
        left -= length
    sentences = _sentences(document, leaders[:COVERED], opening.end)
    mentions = Counter(
        rank
        for rank, leader in enumerate(leaders[:COVERED])
        for occurrence in leader.occurrences
        if any(piece.start <= occurrence.span.start and occurrence.span.end <= piece.end for piece in pieces)
    )
    while sentences:
        best = max(sentences, key=lambda sentence: sentence.worth(mentions))
        if best.words > left:
            break
        sentences.remove(best)
        pieces.append(best.span)
        left -= best.words
        mentions.update(best.leaders)
    return Digest(document.text, tuple(_united(pieces)), words - left)


def stretches(document: Document, words: int) -> list[Digest]:
    """All of the text in stretches of equal length, of at most so many words."""
    spans = document.word_spans
    parts = ceil(len(spans) / words)
    cuts = [round(part * len(spans) / parts) for part in range(parts + 1)]
    return [
        Digest(document.text, (Span(spans[start].start, spans[end - 1].end),), end - start)
        for start, end in pairwise(cuts)
    ]


def _headings(document: Document, start: int, most: int) -> Iterator[tuple[Span, int]]:
    """The first headings behind a position, with their lengths, of so many words in all."""
    spans = document.word_spans
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    for heading in document.headings:
        length = bisect_left(starts, heading.end) - bisect_right(ends, heading.start)
        if heading.start >= start and length <= most:
            most -= length
            yield heading, length


def _sentences(document: Document, leaders: Sequence[Candidate], start: int) -> list[_Sentence]:
    """All sentences behind a position that mention leading phrases; those longer than LONGEST words in stretches."""
    ranks: dict[int, list[tuple[Span, int]]] = defaultdict(list)  # sentence -> occurrences of leaders in it
    for rank, leader in enumerate(leaders):
        for occurrence in leader.occurrences:
            ranks[occurrence.sentence].append((occurrence.span, rank))
    spans = document.word_spans
    starts = [span.start for span in spans]
    sentences = []
    for number in sorted(ranks):
        sentence = document.sentences[number]
        first, last = bisect_right(starts, sentence.start) - 1, bisect_right(starts, sentence.end - 1)
        for begin in range(max(0, first), last, LONGEST):
            end = min(begin + LONGEST, last)
            span = Span(max(sentence.start, spans[begin].start), min(sentence.end, spans[end - 1].end))
            held = frozenset(
                rank for place, rank in ranks[number] if span.start <= place.start and place.end <= span.end
            )
            if held and span.start >= start:
                sentences.append(_Sentence(span, end - begin, held))
    return sentences


def _united(pieces: Sequence[Span]) -> Iterator[Span]:
    """Pieces in text order, those that overlap as one."""
    begin, end = -1, -1
    for piece in sorted(pieces):
        if piece.start > end:
            if end >= 0:
                yield Span(begin, end)
            begin, end = piece.start, piece.end
        end = max(end, piece.end)
    if end >= 0:
        yield Span(begin, end)


# -- Answers ----------------------------------------------------------------------------------------------------------


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
