"""Which columns of a table hold what, and whether they are there at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any

from mudy.corpus.row import InputRow, RowPosition
from mudy.errors import SettingError

OURS = ("id", "keyphrases", "coverage", "seconds", "warning", "error")  # columns of the output
HEAD_ROWS = 1000  # of a file, whose columns are looked at before a run
_SHOWN_COLUMNS = 12  # columns named in a message

RowValues = Mapping[str, Any]


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
        label = values.get(self.id)
        row_id = name if label is None else str(label)
        kept = self._kept(values)
        if self.text not in values:
            return InputRow(place, row_id, problem=f"has no column {self.text!r}, but {named(values)}", kept=kept)
        text = values[self.text]
        if not isinstance(text, str):
            kind = "null" if text is None else type(text).__name__
            return InputRow(place, row_id, problem=f"column {self.text!r} is {kind}, not a text", kept=kept)
        return InputRow(place, row_id, text, kept=kept)

    def _kept(self, values: RowValues) -> dict[str, Any]:
        wanted = [name for name in values if name not in (self.text, self.id)] if self.keep is None else self.keep
        return {carried(name): values.get(name) for name in wanted}

    def of(self, names: Iterable[str]) -> list[str]:
        """Those of a table's columns that are needed."""
        return [name for name in names if self.keep is None or name in (self.text, self.id, *self.keep)]

    @property
    def required(self) -> dict[str, str]:
        """Columns that must be there, and the option that names each; a table need not have the usual `id`."""
        others = {self.id: "--id-column"} if self.id != "id" else {}
        return {self.text: "--text-column", **others, **dict.fromkeys(self.keep or (), "--keep")}

    def check(self, heads: Iterable[tuple[str, Iterator[RowValues | str]]]) -> None:
        """SettingError for a column that no row has, in the first rows of the files."""
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
            raise SettingError(self._missing_message(missing, files, list(seen)))

    def _missing_message(self, missing: str, files: Sequence[str], seen: Sequence[str]) -> str:
        nearest = get_close_matches(missing.lower(), seen, n=1, cutoff=0.5)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        where = f"{files[0]}" + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        option = self.required[missing]
        return f"There is no column {missing!r} in {where}, but {named(seen)}.{hint} Name the right one with {option}."


def named(columns: Iterable[str]) -> str:
    """The first columns of many, in words."""
    names = list(columns)
    more = f" and {len(names) - _SHOWN_COLUMNS:,} more" if len(names) > _SHOWN_COLUMNS else ""
    return (", ".join(map(repr, names[:_SHOWN_COLUMNS])) or "none at all") + more


def carried(name: str, ours: Sequence[str] = OURS) -> str:
    """What a column of the input is called in the output: one that is called like ours is set apart, and keeps apart.

    "error" becomes "input_error", and "input_error" therefore "input_input_error".
    """
    return f"input_{name}" if _stem(name) in ours else name


def _stem(name: str) -> str:
    while name.startswith("input_"):
        name = name.removeprefix("input_")
    return name


def twice(names: Iterable[str]) -> str | None:
    """A name that stands among names more than once."""
    known: set[str] = set()
    return next((name for name in names if name in known or known.add(name)), None)  # type: ignore[func-returns-value]
