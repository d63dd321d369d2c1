"""A whole method in one file, as CONTRIBUTING describes it: long phrases first, and of these the early ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from mudy.methods.method import Method, OccurrenceScore, ScorePart, same_at_each, setting
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document


@dataclass(frozen=True)
class Toy(Method):
    """The number of a phrase's words, for those who like them long."""

    title = "Toy"
    citation = "Nobody, Nowhere 2026"
    parts = (ScorePart("words", "words in the phrase", "n"),)

    power: float = setting(1.0, "Exponent of the number of words.")

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:  # noqa: ARG002
        words = [len(candidate.phrase.split()) for candidate in candidates]
        return same_at_each(candidates, [n**self.power for n in words], [{"words": n} for n in words])
