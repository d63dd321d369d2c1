"""Where the rows of a corpus come from: files, or a table in memory that speaks Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from mudy.corpus import inputs
from mudy.corpus.inputs import Columns, File
from mudy.corpus.rows import Place, Row
from mudy.errors import InputError, MissingExtra


class Source(Protocol):
    """Rows that can be read again from any place."""

    def rows(self, columns: Columns, after: Place) -> Iterator[Row]: ...

    def fingerprint(self) -> list[dict[str, Any]]:
        """What tells this input from another."""

    def share(self, after: Place) -> float:
        """How much of the input comes before a place, from 0 to 1."""


@dataclass(frozen=True)
class Files:
    """Files in the order of their arguments."""

    names: tuple[str, ...]
    ignored: tuple[str, ...] = ()  # in folders, and of no known kind
    _reading: list[File] = field(default_factory=lambda: [File("")])  # the one that is being read

    @cached_property
    def _sizes(self) -> list[int]:
        return [Path(name).stat().st_size if Path(name).is_file() else 0 for name in self.names]

    @classmethod
    def of(cls, arguments: Sequence[str | Path]) -> Files:
        names, ignored = inputs.files([str(argument) for argument in arguments])
        return cls(tuple(names), tuple(ignored))

    def rows(self, columns: Columns, after: Place) -> Iterator[Row]:
        for number in range(after.file, len(self.names)):
            file = self._reading[0] = File(self.names[number])
            yield from file.rows(number, columns, after.row if number == after.file else 0)

    def fingerprint(self) -> list[dict[str, Any]]:
        return [inputs.fingerprint(name) for name in self.names]

    def share(self, after: Place) -> float:
        """By the bytes of the files before, and of the one that is read here."""
        before = sum(self._sizes[: after.file])
        now = sum(file.position() for file in self._reading)
        return (before + now) / max(1, sum(self._sizes))


@dataclass(frozen=True)
class Table:
    """A table in memory."""

    table: Any  # pyarrow.Table

    @classmethod
    def of(cls, value: Any) -> Table:
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtra('Tables need: pip install "mudy[corpus]"') from None
        return cls(value if isinstance(value, pa.Table) else pa.table(value))

    def rows(self, columns: Columns, after: Place) -> Iterator[Row]:
        number = after.row
        for batch in self.table.slice(after.row).to_batches(max_chunksize=inputs.ROWS):
            for values in batch.to_pylist():
                yield columns.row(Place(0, number), str(number + 1), values)
                number += 1

    def fingerprint(self) -> list[dict[str, Any]]:
        digest = hashlib.sha256(str(self.table.schema.names).encode())
        for batch in self.table.to_batches(max_chunksize=inputs.ROWS):
            for values in batch.to_pylist():
                digest.update(repr(values).encode(errors="replace"))
        return [{"name": "table", "rows": self.table.num_rows, "hash": digest.hexdigest()[:16]}]

    def share(self, after: Place) -> float:
        return after.row / max(1, int(self.table.num_rows))


def source_of(value: Any) -> Source:
    """Files, by one name or by many; or a table."""
    if hasattr(value, "__arrow_c_stream__"):
        return Table.of(value)
    if hasattr(value, "with_format"):  # of the library datasets, which gives Arrow in its own way
        return Table.of(value.with_format("arrow")[:])
    if isinstance(value, str | Path):
        return Files.of([value])
    if isinstance(value, Sequence) and all(isinstance(each, str | Path) for each in value):
        return Files.of(value)
    kinds = "files, or a table that speaks Arrow (pandas, polars, pyarrow, datasets)"
    raise InputError(f"A corpus is {kinds}, not {type(value).__name__}.")
