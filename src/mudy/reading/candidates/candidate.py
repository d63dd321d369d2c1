"""Candidates, and those of the caller: given phrases, looked up in a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from mudy._support.cancellation import cancellable
from mudy.errors import InputError
from mudy.reading.candidates.phrase_index import PhraseIndex
from mudy.reading.candidates.stemming import UNSPACED
from mudy.reading.document import Document, Span, squeeze

MOST_KEPT = 500_000  # characters of a list whose index is cached
_UNIT = re.compile(rf"\s+|{UNSPACED}|(?:(?!{UNSPACED})\w)+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Occurrence:
    span: Span  # characters in document.text
    sentence: int  # which sentence holds it: local attention asks (Sec. 4.3.3)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase that may be a keyphrase, in lower case, with every occurrence in text order."""

    phrase: str
    occurrences: tuple[Occurrence, ...]


def grouped(occurrences: Iterable[tuple[str, Occurrence]]) -> list[Candidate]:
    """One candidate per phrase, its occurrences in the order given."""
    by_phrase: dict[str, list[Occurrence]] = {}
    for phrase, occurrence in occurrences:
        by_phrase.setdefault(phrase, []).append(occurrence)
    return [Candidate(phrase, tuple(group)) for phrase, group in by_phrase.items()]


# -- Phrases given by the caller ---------------------------------------------------------------------------------------


def given(document: Document, phrases: Iterable[str]) -> tuple[list[Candidate], tuple[str, ...]]:
    """The given phrases that occur in the text, with every occurrence, and those that do not.

    Case does not matter, any white space matches any other, and a phrase is found only as whole words: "C" is not found
    in "C++", nor "art" in "start". Phrases may overlap one another, and may reach across the end of a sentence.
    """
    index = PhraseLookup.of(tuple(checked_phrases(phrases)))
    occurrences = list(index.occurrences(document))
    present = {phrase for phrase, _ in occurrences}
    missing = tuple(phrase for phrase in index.phrases if squeeze(phrase).lower() not in present)
    return grouped(occurrences), missing


def checked_phrases(phrases: Iterable[str]) -> Iterator[str]:
    if isinstance(phrases, str):
        raise InputError(f"A list of phrases was expected, not the single text {phrases!r}. Put it in a list.")
    for phrase in phrases:
        if not isinstance(phrase, str) or not phrase.strip():
            raise InputError(f"A phrase must be a text with at least one visible character, not {phrase!r}.")
        yield phrase


@dataclass(frozen=True, slots=True)
class PhraseLookup:
    """A list of phrases, to be looked up in any number of texts."""

    phrases: tuple[str, ...]  # one of each spelling: neither case nor white space make two
    names: tuple[str, ...]  # as candidates: in lower case
    index: PhraseIndex

    @staticmethod
    def of(phrases: tuple[str, ...]) -> PhraseLookup:
        """The lookup for a list; the last ones are cached, since many texts may share a list."""
        return _cached_lookup(phrases) if sum(map(len, phrases)) <= MOST_KEPT else _lookup(phrases)

    def occurrences(self, document: Document) -> Iterator[tuple[str, Occurrence]]:
        """Every occurrence of a phrase as whole words, in text order; of two with the same start the shorter first."""
        units = list(cancellable(text_units(document.text), every=4096))
        places = self.index.places(unit for unit, _ in units)
        for start, end, phrase in cancellable(places, every=1024):
            span = Span(units[start][1].start, units[end - 1][1].end)
            if stands_alone(document.text, span):
                yield self.names[phrase], Occurrence(span, document.sentence_at(span.start))


def _lookup(phrases: tuple[str, ...]) -> PhraseLookup:
    wanted: dict[tuple[str, ...], str] = {}
    for phrase in cancellable(phrases, every=64):
        wanted.setdefault(tuple(unit for unit, _ in text_units(squeeze(phrase))), phrase)
    kept = tuple(wanted.values())
    return PhraseLookup(kept, tuple(squeeze(phrase).lower() for phrase in kept), PhraseIndex(list(wanted)))


_cached_lookup = lru_cache(maxsize=2)(_lookup)


def text_units(text: str) -> Iterator[tuple[str, Span]]:
    """Words, single punctuation marks and characters of unspaced scripts, and white space as one space; casefolded."""
    for match in _UNIT.finditer(text):
        unit = match[0]
        yield (" " if unit.isspace() else unit.casefold()), Span(match.start(), match.end())


def stands_alone(text: str, span: Span) -> bool:
    """Whether a span is not part of a longer word: next to no letter, digit or accent, nor cut off "C++" or "C#"."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    first, last = text[span.start], text[span.end - 1]
    if _extends_word(before) and not is_unspaced(first):
        return False
    if _extends_word(after) and not is_unspaced(last):
        return False
    return not (after and after in "+#" and last.isalnum())


def _extends_word(character: str) -> bool:
    if not character or is_unspaced(character):
        return False
    return character.isalnum() or unicodedata.category(character).startswith("M")


def is_unspaced(character: str) -> bool:
    return bool(re.match(UNSPACED, character))
