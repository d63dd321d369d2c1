"""What the language model reads of a long text: a digest of constant length, made of sentences from all of it.

A digest has the opening of the text, its headings, and the sentences that mention the phrases which lead so far: first
those with many leading phrases that are not in the digest yet. So one short reading sees the whole text at every grain.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, sqrt

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
