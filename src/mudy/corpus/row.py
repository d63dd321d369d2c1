"""Rows of a corpus: what goes in, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mudy.extraction.results import Result


@dataclass(frozen=True, slots=True)
class RowPosition:
    """Where a row stands: in which file, and how many rows of that file come before it."""

    file: int
    row: int


START = RowPosition(0, 0)


@dataclass(frozen=True, slots=True)
class InputRow:
    """One text of a corpus, or why there is none."""

    place: RowPosition
    id: str
    text: str = ""
    problem: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)  # columns to carry through
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One row of the output: keyphrases, or an error."""

    place: RowPosition
    id: str
    result: Mapping[str, Any] | None  # Result.to_dict()
    error: str | None
    seconds: float
    kept: Mapping[str, Any]

    @classmethod
    def of(cls, row: InputRow, result: Result | None, error: str | None, seconds: float) -> OutputRow:
        return cls(row.place, row.id, None if result is None else result.to_dict(), error, seconds, row.kept)

    def to_dict(self) -> dict[str, Any]:
        """As it is written: the same names whether it went well or not."""
        found = self.result or {"keyphrases": [], "coverage": None}
        return {
            "id": self.id,
            "keyphrases": found["keyphrases"],
            "coverage": found["coverage"],
            "seconds": round(self.seconds, 4),
            "warning": " ".join(found.get("warnings", ())) or None,
            "error": self.error,
            **self.kept,
        }
