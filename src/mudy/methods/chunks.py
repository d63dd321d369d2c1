"""A long document as chunks that fit a model's window, so that nothing is cut off and cost stays linear.

Chunks for language models overlap; those for encoders do not.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import NamedTuple

from mudy._support.callbacks import cancellable, reported
from mudy.engines.interfaces import Backbone, SentenceEncoder, TextRange
from mudy.engines.tokens import Tokens, packs
from mudy.methods.method import OccurrenceScore, Scores, Work, same_at_each
from mudy.reading.candidates import Candidate, Occurrence, given
from mudy.reading.document import Document, Span


class IndexedOccurrence(NamedTuple):
    candidate: int
    occurrence: Occurrence

    @property
    def span(self) -> Span:
        return self.occurrence.span


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document read at once, and the occurrences it answers for."""

    document: Document
    candidates: Sequence[Candidate]
    index: int
    span: Span
    units: tuple[Span, ...]  # its sentences, none longer than a quarter of the window
    places: tuple[IndexedOccurrence, ...]
    tokens: int  # about how long it is

    @property
    def text_range(self) -> TextRange:
        return TextRange(self.document.text, self.span)

    def sentences_around(self, span: Span, w: int) -> Span:
        """The 2w+1 sentences around the one that holds a span; at the edges, the first or the last of them."""
        last = len(self.units) - 1
        centre = max(0, bisect_right(self.units, span.start, key=lambda unit: unit.start) - 1)
        centre = min(max(centre, w), max(last - w, w))
        return Span(self.units[centre - w].start, self.units[min(centre + w, last)].end)


def scored_in_chunks(
    work: Work, backbone: Backbone, limit: int, score: Callable[[list[Chunk]], Iterable[Iterable[OccurrenceScore]]]
) -> list[Scores]:
    """The scores of many documents, which are cut into chunks of at most `limit` tokens or the model's window.

    `score` takes the chunks of short documents together. Progress is the share of all tokens.
    """
    limit = min(limit, backbone.room())
    every = [
        (owner, chunk)
        for owner, (document, candidates) in enumerate(work)
        for chunk in chunks(document, candidates, backbone.token_ends(document.text), limit)
    ]
    scores = [Scores() for _ in work]
    batches = packs(every, lambda owned: owned[1].tokens, limit)
    total = sum(chunk.tokens for _, chunk in every)
    for batch in reported(batches, lambda batch: sum(chunk.tokens for _, chunk in batch), total):
        for (owner, chunk), scored in zip(batch, score([chunk for _, chunk in batch]), strict=True):
            scores[owner] += scored
            scores[owner].read.setdefault("language_model", []).append(chunk.span)
    return scores


def indexed_occurrences(candidates: Sequence[Candidate]) -> list[IndexedOccurrence]:
    occurrences = [IndexedOccurrence(index, o) for index, c in enumerate(candidates) for o in c.occurrences]
    return sorted(occurrences, key=lambda p: (p.span, p.candidate))


def chunks(
    document: Document, candidates: Sequence[Candidate], token_ends: Sequence[int], limit: int
) -> Iterator[Chunk]:
    """Cut a document into chunks of at most `limit` tokens that overlap by a quarter.

    Every occurrence is answered for by the chunk that holds it farthest from a cut; a chunk without any is left out.
    """
    units = split_sentences(document, token_ends, limit // 4)
    spans = chunk_spans(units, token_ends, limit)
    held: list[list[IndexedOccurrence]] = [[] for _ in spans]
    for place in cancellable(indexed_occurrences(candidates), every=1024):
        held[chunk_of(place.span, spans)].append(place)
    for index, (span, found) in enumerate(zip(spans, held, strict=True)):
        if found:
            inside = tuple(unit for unit in units if span.start <= unit.start and unit.end <= span.end)
            yield Chunk(document, candidates, index, span, inside, tuple(found), count(token_ends, span))


def split_sentences(document: Document, token_ends: Sequence[int], limit: int) -> list[Span]:
    """The document's sentences, those of more than `limit` tokens cut into pieces."""
    units = []
    for sentence in document.sentences:
        start = sentence.start
        while count(token_ends, Span(start, sentence.end)) > limit:
            cut = token_ends[bisect_right(token_ends, start) + limit - 1]
            units.append(Span(start, cut))
            start = cut
        if start < sentence.end:
            units.append(Span(start, sentence.end))
    return units


def chunk_spans(units: Sequence[Span], token_ends: Sequence[int], limit: int) -> list[Span]:
    """Runs of whole units, of nearly equal length, each reaching back over about a quarter of the one before."""
    total, overlap = count(token_ends, Span(units[0].start, units[-1].end)), limit // 4
    parts = max(1, ceil((total - overlap) / (limit - overlap)))
    even = min(limit, ceil((total + (parts - 1) * overlap) / parts) + overlap // 2)
    spans, first = list[Span](), 0
    while True:
        last = first
        while last + 1 < len(units) and count(token_ends, Span(units[first].start, units[last + 1].end)) <= even:
            last += 1
        spans.append(Span(units[first].start, units[last].end))
        if last + 1 == len(units):
            return spans
        first = last + 1
        while first > 1 and count(token_ends, Span(units[first - 1].start, units[last].end)) <= overlap:
            first -= 1


def chunk_of(span: Span, spans: Sequence[Span]) -> int:
    """The chunk that holds a span farthest from any cut."""

    def before(index: int) -> float:
        return span.start - spans[index].start if index > 0 else inf

    def after(index: int) -> float:
        return spans[index].end - span.end if index < len(spans) - 1 else inf

    # From chunk to chunk the cut before a span comes nearer and the cut after it goes away.
    turn = bisect_left(range(len(spans) - 1), True, key=lambda index: after(index) >= before(index))
    return max(range(max(0, turn - 1), turn + 1), key=lambda index: min(before(index), after(index)))


def count(token_ends: Sequence[int], span: Span) -> int:
    return bisect_left(token_ends, span.end + 1) - bisect_right(token_ends, span.start)


class EncoderChunk(NamedTuple):
    span: Span
    tokens: Tokens


def encoder_chunks(document: Document, encoder: SentenceEncoder) -> list[EncoderChunk]:
    """Runs of whole sentences, of nearly equal length, without overlap; only a sentence that does not fit is cut."""
    text, limit = document.text, encoder.room()
    ends = encoder.token_ends(text)
    units = split_sentences(document, ends, limit)
    total = count(ends, Span(units[0].start, units[-1].end))
    even = ceil(total / max(1, ceil(total / limit)))
    runs = [units[0]]
    for unit in units[1:]:
        longer = Span(runs[-1].start, unit.end)
        if count(ends, runs[-1]) >= even or count(ends, longer) > limit:
            runs.append(unit)
        else:
            runs[-1] = longer
    return [EncoderChunk(run, encoder.read_span(text, run)) for run in runs]


def chunk_at(chunks: Sequence[EncoderChunk], position: int) -> int:
    """Index of the chunk that holds a character; what lies between two belongs to the one before it."""
    return max(0, bisect_right(chunks, position, key=lambda window: window.span.start) - 1)


def scored_alike(
    candidates: Sequence[Candidate],
    scores: Sequence[float],
    parts: Sequence[Mapping[str, float]],
    chunks: Sequence[EncoderChunk],
) -> Scores:
    """One score per phrase, the same at each of its occurrences, of a document read in chunks by an encoder."""
    same = same_at_each(candidates, scores, parts, lambda _, occurrence: chunk_at(chunks, occurrence.span.start))
    return Scores(same, encoder=[chunk.span for chunk in chunks])


def everywhere(document: Document, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with every occurrence of their words, as in the papers: "ice" is also in "to ice the road"."""
    matches, _ = given(document, [candidate.phrase for candidate in candidates])
    matched = {candidate.phrase: candidate.occurrences for candidate in matches}
    complete = []
    for candidate in candidates:
        by_span = {o.span: o for o in (*matched.get(candidate.phrase, ()), *candidate.occurrences)}
        complete.append(Candidate(candidate.phrase, tuple(by_span[span] for span in sorted(by_span))))
    return complete
