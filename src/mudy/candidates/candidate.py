"""A candidate: a phrase that may be a keyphrase, with every occurrence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mudy.reading.document import Span


@dataclass(frozen=True, slots=True)
class Occurrence:
    span: Span  # characters in document.text
    sentence: int  # which sentence holds it: local attention asks (Sec. 4.3.3)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One phrase, in lower case, and every place where it stands, in text order."""

    phrase: str
    occurrences: tuple[Occurrence, ...]


def grouped(found: Iterable[tuple[str, Occurrence]]) -> list[Candidate]:
    """One candidate a phrase, its occurrences in the order given."""
    places: dict[str, list[Occurrence]] = {}
    for phrase, occurrence in found:
        places.setdefault(phrase, []).append(occurrence)
    return [Candidate(phrase, tuple(occurrences)) for phrase, occurrences in places.items()]
