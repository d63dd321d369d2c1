"""A text that was read, with its candidates: ready to be scored, alone or together with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mudy.candidates import MAX_CHARACTERS, Candidate
from mudy.text import Document


@dataclass(frozen=True, slots=True)
class PhraseFilter:
    """Which phrases a method may return beside the candidates."""

    excluded: frozenset[str]
    max_words: int | None

    def __call__(self, candidate: Candidate) -> bool:
        words, characters = len(candidate.phrase.split()), len(candidate.phrase)
        short = self.max_words is None or (words <= self.max_words and characters <= MAX_CHARACTERS)
        return short and candidate.phrase not in self.excluded


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text that was read, and all that is needed to rank its candidates."""

    document: Document
    candidates: tuple[Candidate, ...]
    missing: tuple[str, ...]  # given, but not in the text
    others: PhraseFilter | None  # which phrases beside the candidates may be returned
    ranking: Mapping[str, Any]  # merge, top_n, diversity
    source: str | None
    pages: tuple[int, ...]  # where each page begins, if the text has any

    @property
    def words(self) -> int:
        return len(self.document.text.split())
