"""Document -> candidates: the phrases that may be keyphrases, each with every occurrence."""

from typing import Literal

from mudy.reading.candidates.candidate import (
    Candidate,
    Occurrence,
    PhraseLookup,
    given,
    grouped,
    stands_alone,
    text_units,
)
from mudy.reading.candidates.grammar import MAX_CHARACTERS, MAX_PHRASE_WORDS, candidates, nested_candidates

__all__ = [
    "MAX_CHARACTERS",
    "MAX_PHRASE_WORDS",
    "Candidate",
    "CandidateKind",
    "Occurrence",
    "PhraseLookup",
    "candidates",
    "given",
    "grouped",
    "nested_candidates",
    "stands_alone",
    "text_units",
]

CandidateKind = Literal["nouns", "nested"]  # noun phrases as long as possible; also phrases inside them, and others
