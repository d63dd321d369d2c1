"""What SAMRank and Attention-Seeker share: where candidates count, and the score of a phrase from those of tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from mudy.backbones.backbone import Backbone
from mudy.backbones.tokens import Tokens
from mudy.candidates import Candidate
from mudy.methods.chunks import Place, sections
from mudy.methods.encoder_windows import everywhere
from mudy.methods.method import OccurrenceScore, same_at_each
from mudy.progress import reported
from mudy.text import Document, Span


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text read at once."""

    index: int
    span: Span
    places: tuple[Place, ...]  # the occurrences it answers for, those that do not count left out
    inside: tuple[Span, ...]  # every stretch of candidates in it, also those that another segment answers for


@dataclass(frozen=True, slots=True)
class Segments:
    """A document, cut into segments, and the candidates to be scored."""

    candidates: Sequence[Candidate]
    segments: tuple[Segment, ...]
    homes: Mapping[Place, int]  # which segment answers for each occurrence

    @classmethod
    def of(cls, document: Document, candidates: Sequence[Candidate], backbone: Backbone, limit: int) -> Segments:
        """Segments of at most `limit` tokens, and of no more than the backbone has room for.

        Candidates count wherever their words stand in the text, as in the papers. Single words within an occurrence of
        a candidate of several words do not.
        """
        complete = everywhere(document, candidates)
        left_out = nested(complete)
        ends = backbone.token_ends(document.text)
        found, homes = [], {}
        for section in sections(document, complete, ends, min(limit, backbone.room())):
            homes.update(dict.fromkeys(section.places, section.index))
            counted = tuple(place for place in section.places if place not in left_out)
            found.append(Segment(section.index, section.span, counted, clipped(complete, section.span)))
        return cls(candidates, tuple(found), homes)

    def each(self) -> Iterator[Segment]:
        """The segments one after the other; progress is the share of them."""
        return reported(self.segments, lambda _: 1, len(self.segments))

    def scored(self, scores: Sequence[float], parts: Sequence[Mapping[str, float]]) -> list[OccurrenceScore]:
        """One score a phrase, the same at each of its occurrences."""
        return same_at_each(self.candidates, scores, parts, lambda index, place: self.homes[Place(index, place)])

    def phrases(self, segment: Segment, tokens: Tokens, scores: Tensor) -> dict[int, float]:
        """The score of each candidate in a segment: the sum over its occurrences of the sum over their tokens.

        For candidates of one word it is the mean over their occurrences.
        """
        found: dict[int, list[float]] = {}
        for place in segment.places:
            held = tokens.of(place.span)
            found.setdefault(place.candidate, []).append(float(scores[held.start : held.stop].sum()))
        return {
            index: sum(values) / (len(values) if is_single(self.candidates[index]) else 1)
            for index, values in found.items()
        }


def is_single(candidate: Candidate) -> bool:
    return len(candidate.phrase.split()) == 1


def nested(candidates: Sequence[Candidate]) -> set[Place]:
    """Occurrences of single words that lie within one of a candidate of several words."""
    spans = sorted(o.span for c in candidates if not is_single(c) for o in c.occurrences)
    starts = [span.start for span in spans]
    reach = [0, *accumulate((span.end for span in spans), max)]  # the farthest end of the first so many
    return {
        Place(index, occurrence)
        for index, candidate in enumerate(candidates)
        if is_single(candidate)
        for occurrence in candidate.occurrences
        if reach[bisect_right(starts, occurrence.span.start)] >= occurrence.span.end
    }


def clipped(candidates: Sequence[Candidate], span: Span) -> tuple[Span, ...]:
    """The occurrences of all candidates, as far as they lie within a span."""
    found = (Span(max(o.span.start, span.start), min(o.span.end, span.end)) for c in candidates for o in c.occurrences)
    return tuple(sorted({inside for inside in found if inside.start < inside.end}))


def candidate_mask(segment: Segment, tokens: Tokens, decoder_only: bool) -> Tensor:
    """1 for tokens of candidates; a decoder's first token, which all rows look at, is none; (tokens,)."""
    mask = torch.zeros(len(tokens))
    for span in segment.inside:
        held = tokens.of(span)
        mask[held.start : held.stop] = 1
    return without_first(mask, decoder_only)


def without_first(scores: Tensor, decoder_only: bool) -> Tensor:
    """Scores with 0 for a decoder's first token, which takes the attention that is not needed elsewhere."""
    scores = scores.clone()
    if decoder_only:
        scores[0] = 0
    return scores
