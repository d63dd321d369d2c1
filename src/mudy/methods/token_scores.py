"""What SAMRank and Attention-Seeker share: where candidates count, and the score of a phrase from those of tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from mudy._support.progress import reported
from mudy.candidates import Candidate
from mudy.engines.backbone import Backbone, Floats
from mudy.engines.tokens import Tokens
from mudy.methods.chunks import IndexedOccurrence, chunks
from mudy.methods.encoder_chunks import everywhere
from mudy.methods.method import Scores, same_at_each
from mudy.reading.document import Document, Span


@dataclass(frozen=True, slots=True)
class CountedChunk:
    """A chunk, and the occurrences in it that count."""

    index: int
    span: Span
    places: tuple[IndexedOccurrence, ...]  # the occurrences it answers for, those that do not count left out
    inside: tuple[Span, ...]  # all text of candidates in it, also what another chunk answers for


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """A document, cut into chunks, and the candidates to be scored."""

    candidates: Sequence[Candidate]
    chunks: tuple[CountedChunk, ...]
    homes: Mapping[IndexedOccurrence, int]  # which chunk answers for each occurrence

    @classmethod
    def of(cls, document: Document, candidates: Sequence[Candidate], backbone: Backbone, limit: int) -> ChunkedDocument:
        """Chunks of at most `limit` tokens, and of no more than the backbone has room for.

        Candidates count wherever their words stand in the text, as in the papers. Single words within an occurrence of
        a candidate of several words do not.
        """
        complete = everywhere(document, candidates)
        left_out = nested(complete)
        ends = backbone.token_ends(document.text)
        found, homes = [], {}
        for chunk in chunks(document, complete, ends, min(limit, backbone.room())):
            homes.update(dict.fromkeys(chunk.places, chunk.index))
            counted = tuple(place for place in chunk.places if place not in left_out)
            found.append(CountedChunk(chunk.index, chunk.span, counted, clipped(complete, chunk.span)))
        return cls(candidates, tuple(found), homes)

    def each(self) -> Iterator[CountedChunk]:
        """The chunks one after the other; progress is the share of them."""
        return reported(self.chunks, lambda _: 1, len(self.chunks))

    def scored(self, scores: Sequence[float], parts: Sequence[Mapping[str, float]]) -> Scores:
        """One score a phrase, the same at each of its occurrences."""
        homes = self.homes
        same = same_at_each(self.candidates, scores, parts, lambda index, place: homes[IndexedOccurrence(index, place)])
        return Scores(same, language_model=[chunk.span for chunk in self.chunks])

    def phrases(self, chunk: CountedChunk, tokens: Tokens, scores: Floats) -> dict[int, float]:
        """The score of each candidate in a chunk: the sum over its occurrences of the sum over their tokens.

        For candidates of one word it is the mean over their occurrences.
        """
        sums: dict[int, list[float]] = {}
        for place in chunk.places:
            held = tokens.of(place.span)
            sums.setdefault(place.candidate, []).append(float(scores[held.start : held.stop].sum()))
        return {
            index: sum(values) / (len(values) if is_single(self.candidates[index]) else 1)
            for index, values in sums.items()
        }


def is_single(candidate: Candidate) -> bool:
    return len(candidate.phrase.split()) == 1


def nested(candidates: Sequence[Candidate]) -> set[IndexedOccurrence]:
    """Occurrences of single words that lie within one of a candidate of several words."""
    spans = sorted(o.span for c in candidates if not is_single(c) for o in c.occurrences)
    starts = [span.start for span in spans]
    reach = [0, *accumulate((span.end for span in spans), max)]  # the farthest end of the first so many
    return {
        IndexedOccurrence(index, occurrence)
        for index, candidate in enumerate(candidates)
        if is_single(candidate)
        for occurrence in candidate.occurrences
        if reach[bisect_right(starts, occurrence.span.start)] >= occurrence.span.end
    }


def clipped(candidates: Sequence[Candidate], span: Span) -> tuple[Span, ...]:
    """The occurrences of all candidates, as far as they lie within a span."""
    spans = (Span(max(o.span.start, span.start), min(o.span.end, span.end)) for c in candidates for o in c.occurrences)
    return tuple(sorted({inside for inside in spans if inside.start < inside.end}))


def candidate_mask(chunk: CountedChunk, tokens: Tokens, sink: int | None) -> Floats:
    """1 for tokens of candidates; the attention sink is none; (tokens,)."""
    mask = np.zeros(len(tokens), np.float32)
    for span in chunk.inside:
        held = tokens.of(span)
        mask[held.start : held.stop] = 1
    return without_sink(mask, sink)


def without_sink(scores: Floats, sink: int | None) -> Floats:
    """Scores with 0 for the token that takes the attention which is not needed elsewhere, if there is one."""
    scores = scores.copy()
    if sink is not None:
        scores[sink] = 0
    return scores
