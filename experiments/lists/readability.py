"""How a list of keyphrases reads to a person: subjects covered, empty words, and phrases that repeat one another.

F1 against gold keyphrases says nothing of these. The gold here is a text's subjects, written down by a person before
any list was seen, each with the forms that count for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from mudy.reading.candidates.stemming import stems_of as stems


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that a text is about, and the forms under which a list may name it."""

    name: str
    accept: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedText:
    """What a reader said of one text before seeing any list."""

    id: str
    subjects: tuple[Subject, ...]  # most important first
    generic: tuple[str, ...]  # words that say nothing about this text
    not_subjects: tuple[str, ...]  # prominent, but not what it is about: the sender, what it rules out

    @classmethod
    def load(cls, path: Path) -> list[JudgedText]:
        """The judgements in a file of JSON lines."""
        rows = (json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip())
        return [
            cls(
                row["id"],
                tuple(Subject(subject["name"], tuple(subject["accept"])) for subject in row["subjects"]),
                tuple(row["generic"]),
                tuple(row["not_subjects"]),
            )
            for row in rows
        ]


@dataclass(frozen=True, slots=True)
class Readability:
    """The counts of one list; of several lists, their sums."""

    lists: int = 0
    phrases: int = 0
    subjects: int = 0
    covered: int = 0
    main_subjects: int = 0  # the first five of a text
    main_covered: int = 0
    generic: int = 0
    not_subjects: int = 0
    pairs: int = 0
    overlapping: int = 0
    tokens: int = 0
    repeated_tokens: int = 0

    def __add__(self, other: Readability) -> Readability:
        return Readability(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def readability(phrases: Sequence[str], judged: JudgedText, main: int = 5) -> Readability:
    """What a list says and does not say about its text."""
    shown = [stems(phrase) for phrase in phrases]
    covered = [any(stems(form) in shown for form in subject.accept) for subject in judged.subjects]
    generic, wrong = _stemmed(judged.generic), _stemmed(judged.not_subjects)
    tokens = [token for words in shown for token in words]
    return Readability(
        lists=1,
        phrases=len(shown),
        subjects=len(covered),
        covered=sum(covered),
        main_subjects=len(covered[:main]),
        main_covered=sum(covered[:main]),
        generic=sum(words in generic for words in shown),
        not_subjects=sum(words in wrong for words in shown),
        pairs=len(shown) * (len(shown) - 1) // 2,
        overlapping=sum(overlapping(*pair) for pair in combinations(shown, 2)),
        tokens=len(tokens),
        repeated_tokens=len(tokens) - len(set(tokens)),
    )


def overlapping(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether one phrase is made of words of the other."""
    shorter, longer = sorted((set(first), set(second)), key=len)
    return shorter <= longer


def _stemmed(phrases: Iterable[str]) -> set[tuple[str, ...]]:
    return {stems(phrase) for phrase in phrases}
