"""Documents as people have them, with readers' gold: loading them, and scoring lists of phrases.

A folder has the documents in `files`, and `gold.jsonl` with a line for each; its README says what the fields mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from mudy.evaluation.datasets import Dataset, Record
from mudy.reading import formats
from mudy.reading.candidates.stemming import stems_of

TOP = 10

Key = tuple[str, ...]


class Figures(NamedTuple):
    """What a list is worth, in per cent; of several documents, the means."""

    found: float  # main subjects that one of the phrases names
    right: float  # phrases that name a main or good subject, each subject counted once
    junk: float  # phrases that no reader would sign

    @property
    def f(self) -> float:
        """The harmonic mean of found and right."""
        return 2 * self.found * self.right / max(self.found + self.right, 1e-9)

    @classmethod
    def mean(cls, figures: Iterable[Figures]) -> Figures:
        columns = list(zip(*figures, strict=True))
        return cls(*(sum(column) / len(column) for column in columns))


@dataclass(frozen=True)
class Gold:
    """A document's gold: subjects, each with all its names, and examples of junk."""

    id: str
    file: Path
    genre: str
    language: str
    main: Sequence[Sequence[str]]
    good: Sequence[Sequence[str]]
    junk: Sequence[str]

    @cached_property
    def _subjects(self) -> Mapping[Key, tuple[str, int]]:
        """The subject that each name stands for."""
        return {
            self._key(name): (kind, number)
            for kind, subjects in (("good", self.good), ("main", self.main))
            for number, names in enumerate(subjects)
            for name in names
        }

    def _key(self, phrase: str) -> Key:
        return stems_of(phrase.lower().replace("-", " "), self.language)

    def figures(self, phrases: Sequence[str], top: int | None = TOP) -> Figures:
        """How well the first phrases of a list name the subjects; all of them if `top` is None."""
        keys = [self._key(phrase) for phrase in phrases[:top]]
        named = {self._subjects[key] for key in keys if key in self._subjects}
        main = sum(kind == "main" for kind, _ in named)
        junk = {self._key(phrase) for phrase in self.junk}
        return Figures(
            100 * main / len(self.main), 100 * len(named) / TOP, 100 * sum(key in junk for key in keys) / TOP
        )

    @property
    def main_names(self) -> tuple[str, ...]:
        """All names of the main subjects."""
        return tuple(name for names in self.main for name in names)

    @property
    def names(self) -> tuple[str, ...]:
        """All names of all subjects, those of the main ones first."""
        return (*self.main_names, *(name for names in self.good for name in names))

    def record(self) -> Record:
        """The document as a record of a data set."""
        reading = formats.read(self.file.read_bytes(), self.file.name)
        return Record(self.id, None, reading.text, self.names, reading.blocks)


def load_gold(folder: Path) -> list[Gold]:
    rows = [json.loads(line) for line in (folder / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        Gold(
            row["id"],
            folder / "files" / row["file"],
            row["genre"],
            row["language"],
            row["main"],
            row["good"],
            row["junk"],
        )
        for row in rows
    ]


def by_genre(documents: Iterable[Gold]) -> list[Dataset]:
    """A data set per genre, so that whole genres are left out together."""
    genres: dict[str, list[Gold]] = {}
    for gold in documents:
        genres.setdefault(gold.genre, []).append(gold)
    return [
        Dataset(genre, "documents", tuple(gold.record() for gold in documents)) for genre, documents in genres.items()
    ]
