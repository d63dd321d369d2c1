"""Where the rows of a corpus come from: files, or a table in memory that speaks Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

from mudy._support.extras import from_extra
from mudy._support.storage import encode_text
from mudy.corpus import row_readers
from mudy.corpus.columns import Columns, RowValues
from mudy.corpus.input_hashes import Known, input_fingerprint, stamp_of
from mudy.corpus.row import InputRow, RowPosition
from mudy.corpus.row_readers import File, IsOutput
from mudy.corpus.table_rows import BATCH_ROWS, arrow_rows, needed
from mudy.errors import InputError

HEAD_FILES = 10  # whose columns are looked at before a run


class RowSource(Protocol):
    """Rows that can be read again from any place."""

    def rows(self, columns: Columns, after: RowPosition) -> Iterator[InputRow]: ...

    def heads(self, columns: Columns) -> Iterator[tuple[str, Iterator[RowValues | str]]]:
        """The first tables by name, each with the columns of its rows."""

    def fingerprint(self, known: Known) -> list[dict[str, Any]]:
        """What tells this input from another; `known` is what an earlier run has found, by name."""

    def changed(self) -> str | None:
        """What of it has changed since its fingerprint was taken."""

    def share(self, after: RowPosition) -> float:
        """How much of the input comes before a place, from 0 to 1."""


@dataclass(frozen=True)
class Files:
    """Files in the order of their arguments."""

    names: tuple[str, ...]
    ignored: tuple[str, ...] = ()  # in folders, and of no known kind
    _reading: dict[int, File] = field(default_factory=dict)  # the one that is being read, by its number
    _before: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # stamps and hashes, when these were taken

    @cached_property
    def _starts(self) -> list[int]:
        """How many bytes come before each file, and before the end."""
        sizes = [Path(name).stat().st_size if Path(name).is_file() else 0 for name in self.names]
        return list(accumulate(sizes, initial=0))

    @classmethod
    def of(cls, arguments: Sequence[str | Path], is_output: IsOutput = lambda path: False) -> Files:  # noqa: ARG005
        names, ignored = row_readers.files([str(argument) for argument in arguments], is_output)
        row_readers.check_packages(names)
        return cls(tuple(names), tuple(ignored))

    def rows(self, columns: Columns, after: RowPosition) -> Iterator[InputRow]:
        for number in range(after.file, len(self.names)):
            file = File(self.names[number])
            self._reading.clear()
            self._reading[number] = file
            yield from file.rows(number, columns, after.row if number == after.file else 0)

    def heads(self, columns: Columns) -> Iterator[tuple[str, Iterator[RowValues | str]]]:
        tables = [name for name in self.names if File(name).is_table]
        return ((name, File(name).head(columns)) for name in tables[:HEAD_FILES])

    def fingerprint(self, known: Known) -> list[dict[str, Any]]:
        stamps = [_stamp(name) for name in self.names]
        found = [input_fingerprint(name, known) for name in self.names]
        self._before.update({entry["name"]: (stamp, entry["hash"]) for stamp, entry in zip(stamps, found, strict=True)})
        return found

    def changed(self) -> str | None:
        moved = [name for name, (stamp, _) in self._before.items() if _stamp(name) != stamp]
        return next((name for name in moved if input_fingerprint(name, {})["hash"] != self._before[name][1]), None)

    def share(self, after: RowPosition) -> float:
        """By the bytes that were read here; where others read, by the files before a place."""
        number, file = next(iter(self._reading.items()), (after.file, File("")))
        return (self._starts[number] + file.position()) / max(1, self._starts[-1])


def _stamp(name: str) -> list[int] | None:
    return stamp_of(name) if Path(name).is_file() else None


@dataclass(frozen=True)
class _Table:
    """A table in memory."""

    table: Any  # pyarrow.Table

    @classmethod
    def of(cls, value: Any) -> _Table:
        with from_extra("corpus", "A table in memory"):
            import pyarrow as pa
        return cls(value if isinstance(value, pa.Table) else pa.table(value))

    def rows(self, columns: Columns, after: RowPosition) -> Iterator[InputRow]:
        wanted = needed(self.table.schema.names, columns)
        for number, values in enumerate(self._values(wanted, after.row), start=after.row):
            yield columns.row(RowPosition(0, number), str(number + 1), values)

    def _values(self, names: Sequence[str], start: int = 0) -> Iterator[dict[str, Any]]:
        for batch in self.table.slice(start).to_batches(max_chunksize=BATCH_ROWS):
            yield from arrow_rows(batch, names)

    def heads(self, columns: Columns) -> Iterator[tuple[str, Iterator[RowValues | str]]]:  # noqa: ARG002
        yield "the table", iter([dict.fromkeys(self.table.schema.names)])

    def fingerprint(self, known: Known) -> list[dict[str, Any]]:  # noqa: ARG002
        names = self.table.schema.names
        digest = hashlib.sha256(str(names).encode())
        for values in self._values(list(dict.fromkeys(name for name in names if names.count(name) == 1))):
            digest.update(encode_text(repr(values)))
        return [{"name": "table", "rows": self.table.num_rows, "hash": digest.hexdigest()}]

    def changed(self) -> str | None:
        return None

    def share(self, after: RowPosition) -> float:
        return after.row / max(1, int(self.table.num_rows))


def source_of(value: Any, is_output: IsOutput = lambda path: False) -> RowSource:  # noqa: ARG005
    """Files, by one name or by many; or a table. A run's own paths are no files of it."""
    if isinstance(value, Files | _Table):
        return value
    if hasattr(value, "__arrow_c_stream__"):
        return _Table.of(value)
    if hasattr(value, "with_format"):  # of the library datasets, which gives Arrow in its own way
        return _Table.of(value.with_format("arrow")[:])
    if isinstance(value, str | Path):
        return Files.of([value], is_output)
    if isinstance(value, Sequence) and all(isinstance(name, str | Path) for name in value):
        return Files.of(value, is_output)
    kinds = "files, or a table that speaks Arrow (pandas, polars, pyarrow, datasets)"
    raise InputError(f"A corpus is {kinds}, not {type(value).__name__}.")
