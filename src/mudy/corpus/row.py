"""Rows of a corpus: which columns of a table they come from, what goes in, and what comes out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Any

from mudy.errors import InputError, SettingError
from mudy.extraction.outcomes import error_message
from mudy.extraction.results import Result
from mudy.reading.document import Block

OURS = ("id", "keyphrases", "coverage", "seconds", "warning", "error")  # columns of the output
HEAD_ROWS = 1000  # of a file, whose columns are looked at before a run
_SHOWN_COLUMNS = 12  # columns named in a message

RowValues = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowPosition:
    """Where a row stands: in which file, and how many rows of that file come before it."""

    file: int
    row: int


@dataclass(frozen=True, slots=True)
class InputRow:
    """One text of a corpus, or why there is none."""

    place: RowPosition
    id: str
    text: str = ""
    problem: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)  # columns to carry through
    pages: tuple[int, ...] = ()
    blocks: tuple[Block, ...] | None = None


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One row of the output: keyphrases, or an error."""

    place: RowPosition
    values: Mapping[str, Any]  # as they are written

    @classmethod
    def of(cls, row: InputRow, result: Result | Exception, seconds: float) -> OutputRow:
        """A row with the same columns whether it went well or not."""
        error = error_message(result) if isinstance(result, Exception) else None
        values: Mapping[str, Any] = {} if isinstance(result, Exception) else result.to_dict()
        ours = {
            "id": row.id,
            "keyphrases": values.get("keyphrases", []),
            "coverage": values.get("coverage"),
            "seconds": round(seconds, 4),
            "warning": " ".join(values.get("warnings", ())) or None,
            "error": error,
        }
        return cls(row.place, {**ours, **row.kept})


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what."""

    text: str = "text"
    id: str = "id"
    keep: tuple[str, ...] | None = ()  # to be carried through; None: all others

    def row(self, place: RowPosition, name: str, values: RowValues | str) -> InputRow:
        """A row from its columns."""
        if isinstance(values, str):
            return InputRow(place, name, problem=values)
        label, text, kept = values.get(self.id), values.get(self.text), self._kept(values)
        row_id = name if label is None else str(label)
        if isinstance(text, str):
            return InputRow(place, row_id, text, kept=kept)
        if self.text in values:
            problem = f"column {self.text!r} is {'null' if text is None else type(text).__name__}, not a text"
        else:
            problem = f"has no column {self.text!r}, but {named(values)}"
        return InputRow(place, row_id, problem=problem, kept=kept)

    def _kept(self, values: RowValues) -> dict[str, Any]:
        wanted = [name for name in values if name not in (self.text, self.id)] if self.keep is None else self.keep
        return {carried(name): values.get(name) for name in wanted}

    def of(self, names: Iterable[str]) -> list[str]:
        """Those of a table's columns that are to be read; InputError if two of them have one name."""
        wanted = Counter(name for name in names if self.keep is None or name in (self.text, self.id, *self.keep))
        if twice := [name for name, number in wanted.items() if number > 1]:
            raise InputError(f"there are two columns {twice[0]!r}, so it is not clear which is meant")
        return list(wanted)

    @property
    def required(self) -> dict[str, str]:
        """Columns that must be there, and the option that names each; a table need not have the usual `id`."""
        others = {self.id: "--id-column"} if self.id != "id" else {}
        return {self.text: "--text-column", **others, **dict.fromkeys(self.keep or (), "--keep")}

    def check(self, heads: Iterable[tuple[str, Iterator[RowValues | str]]], keep_option: str = "--keep") -> None:
        """SettingError for a column that no row has, in the first rows of the files; an option names those to keep."""
        seen: dict[str, None] = {}
        files = []
        for file, rows in heads:
            usable = [values for values in islice(rows, HEAD_ROWS) if not isinstance(values, str)]
            seen.update(dict.fromkeys(name for values in usable for name in values))
            files += [file] if usable else []
            if seen.keys() >= self.required.keys():
                return
        if seen:
            missing = next(name for name in self.required if name not in seen)
            option = keep_option if missing in (self.keep or ()) else self.required[missing]
            nearest = get_close_matches(missing.lower(), seen, n=1, cutoff=0.5)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            where = files[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "")
            raise SettingError(
                f"There is no column {missing!r} in {where}, but {named(seen)}.{hint} Name the right one with {option}."
            )


def named(columns: Iterable[str]) -> str:
    """The first columns of many, in words."""
    names = list(columns)
    more = f" and {len(names) - _SHOWN_COLUMNS:,} more" if len(names) > _SHOWN_COLUMNS else ""
    return (", ".join(map(repr, names[:_SHOWN_COLUMNS])) or "none at all") + more


def carried(name: str, ours: Sequence[str] = OURS) -> str:
    """What a column of the input is called in the output: one that is called like ours is set apart, and keeps apart.

    "error" becomes "input_error", and "input_error" therefore "input_input_error".
    """
    return f"input_{name}" if re.sub("^(input_)+", "", name) in ours else name
