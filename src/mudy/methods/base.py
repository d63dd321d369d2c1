"""What a method is: one verb, `score`, over the shared document and candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mudy.candidates import Candidate, Occurrence
from mudy.errors import SettingError
from mudy.text import Document


@dataclass(frozen=True, slots=True)
class OccurrenceScore:
    """One occurrence of one candidate, scored: higher is better, for every method."""

    candidate: int  # index into the candidates given
    occurrence: Occurrence
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)  # what the score was made of, under the paper's symbols
    section: int = 0  # which part of a long document it was read in


def require(name: str, value: object, fine: bool, needed: str) -> None:
    """A setting out of its range raises, and says what was seen and what was needed."""
    if not fine:
        raise SettingError(f"{name} is {value!r}, but must be {needed}.")


class Method(Protocol):
    """A way to rank candidates. Its fields are its paper's hyper-parameters."""

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]: ...
