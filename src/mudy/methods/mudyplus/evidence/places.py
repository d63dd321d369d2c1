"""Where phrases stand in a text, by their stems, also inside longer ones: what all evidence of counting begins with."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mudy.candidates import Candidate
from mudy.candidates.phrase_index import PhraseIndex
from mudy.candidates.stemming import stem_of
from mudy.reading.document import Document

Numbers = NDArray[np.float64]
Key = tuple[str, ...]


@dataclass(frozen=True)
class Places:
    """The words of a text as stems, and for each candidate the words at which its stems begin."""

    stems: tuple[str, ...]  # of every word, marks too
    keys: tuple[Key, ...]  # the stems of each candidate
    starts: tuple[tuple[int, ...], ...]  # words at which each candidate begins, in text order; never empty

    @classmethod
    def of(cls, document: Document, candidates: Sequence[Candidate]) -> Places:
        """Look up every candidate in the text; candidates with the same stems stand in the same places."""
        word_starts = [word.span.start for word in document.words]
        word_ends = [word.span.end for word in document.words]
        stems = tuple(stem_of(word.span.of(document.text), document.language) for word in document.words)
        first_places = [_first_place(word_starts, word_ends, candidate) for candidate in candidates]
        keys = tuple(stems[start:end] for start, end in first_places)
        wanted = list(dict.fromkeys(keys))
        found: dict[Key, list[int]] = {key: [] for key in wanted}
        for match in PhraseIndex(wanted).matches(stems):
            found[wanted[match.phrase]].append(match.start)
        return cls(stems, keys, tuple(tuple(sorted(found[key])) for key in keys))

    @property
    def words(self) -> int:
        return len(self.stems)

    @cached_property
    def counts(self) -> Numbers:
        """How often each candidate stands in the text, also inside longer ones."""
        return np.array([len(starts) for starts in self.starts], dtype=np.float64)

    @cached_property
    def lengths(self) -> Numbers:
        """Words of each candidate."""
        return np.array([len(key) for key in self.keys], dtype=np.float64)

    @cached_property
    def word_counts(self) -> dict[str, int]:
        """How often each stem stands in the text."""
        counts: dict[str, int] = {}
        for word in self.stems:
            counts[word] = counts.get(word, 0) + 1
        return counts


def _first_place(starts: Sequence[int], ends: Sequence[int], candidate: Candidate) -> tuple[int, int]:
    """The words that a candidate's first occurrence touches: at least one."""
    span = candidate.occurrences[0].span
    first = min(bisect_right(ends, span.start), len(starts) - 1)
    return first, max(bisect_left(starts, span.end), first + 1)
