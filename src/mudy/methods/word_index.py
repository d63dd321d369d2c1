"""A document as a row of word forms, and candidates as places in it: what methods without a model read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mudy._support.callbacks import cancellable
from mudy.reading.candidates import QUOTES, Candidate
from mudy.reading.document import Document


class WordRange(NamedTuple):
    """The words that an occurrence touches: `first` up to and including `last`; none, if it lies outside of prose."""

    first: int
    last: int

    def of(self, forms: Sequence[str]) -> tuple[str, ...]:
        return tuple(forms[self.first : self.last + 1])


@dataclass(frozen=True)
class WordIndex:
    """A document's words in lower case, and where each candidate stands among them, in text order."""

    forms: tuple[str, ...]  # (words,)
    places: tuple[tuple[WordRange, ...], ...]  # (candidates, its occurrences)

    @classmethod
    def of(cls, document: Document, candidates: Sequence[Candidate]) -> WordIndex:
        starts = [word.span.start for word in document.words]
        ends = [word.span.end for word in document.words]
        places = tuple(
            tuple(
                WordRange(bisect_right(ends, o.span.start), bisect_left(starts, o.span.end) - 1)
                for o in candidate.occurrences
            )
            for candidate in cancellable(candidates, every=256)
        )
        return cls(tuple(form(word.span.of(document.text)) for word in document.words), places)

    def words(self) -> list[tuple[str, ...]]:
        """The words of each candidate, as they stand in its first occurrence."""
        return [places[0].of(self.forms) for places in self.places]

    def positions(self) -> list[int]:
        return [places[0].first for places in self.places]


def form(word: str) -> str:
    """A word without regard to case, or to quotes and mark-up stuck to it."""
    return word.lower().strip(QUOTES) or word


def is_word(text: str) -> bool:
    """Whether a token is more than punctuation."""
    return any(map(str.isalnum, text))
