"""A document in chunks that fit an encoder, and where else in it a candidate's words stand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from mudy.candidates import Candidate, Occurrence, given
from mudy.engines.encoder import SentenceEncoder
from mudy.engines.tokens import Tokens
from mudy.methods.chunks import count, split_sentences
from mudy.reading.document import Document, Span


@dataclass(frozen=True, slots=True)
class EncoderChunk:
    """A part of a text that an encoder reads at once."""

    span: Span
    tokens: Tokens


def encoder_chunks(document: Document, encoder: SentenceEncoder) -> list[EncoderChunk]:
    """Runs of whole sentences, of nearly equal length; every character of a sentence is in one chunk and no other.

    Only a sentence that does not fit into a chunk is cut.
    """
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
    """Index of the chunk that holds a character; what stands between two belongs to the one before it."""
    return max(0, bisect_right(chunks, position, key=lambda window: window.span.start) - 1)


def chunk_of_occurrence(chunks: Sequence[EncoderChunk]) -> Callable[[int, Occurrence], int]:
    """In which chunk an occurrence stands."""
    return lambda _, occurrence: chunk_at(chunks, occurrence.span.start)


def everywhere(document: Document, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with every place where their words stand, whatever the tagger took them for, in text order.

    The papers look candidates up in the text, so "ice" is also found in "river ice" and in "to ice the road".
    """
    found, _ = given(document, [candidate.phrase for candidate in candidates])
    matched = {candidate.phrase: candidate.occurrences for candidate in found}
    complete = []
    for candidate in candidates:
        own = {occurrence.span: occurrence for occurrence in candidate.occurrences}
        places = {**{o.span: o for o in matched.get(candidate.phrase, ())}, **own}
        complete.append(Candidate(candidate.phrase, tuple(places[span] for span in sorted(places))))
    return complete
