"""Where the rows of a corpus come from: files, or a table in memory that speaks Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from mudy._support.storage import file_sha256
from mudy.corpus.checkpoint import MANIFEST_NAME, read_manifest
from mudy.corpus.rows import (
    BATCH_ROWS,
    COMPRESSED,
    DOCUMENTS,
    TABLES,
    Columns,
    File,
    InputRow,
    RowPosition,
    RowValues,
    arrow,
    arrow_rows,
)
from mudy.errors import InputError
from mudy.reading.formats import matching_files

HEAD_FILES = 10  # tables whose columns are checked before a run

Fingerprint = Mapping[str, Any]  # name, size and hash of an input
IsOutput = Callable[[Path], bool]  # whether a run writes to a path


@dataclass(frozen=True)
class Files:
    """Files in the order of their arguments."""

    names: tuple[str, ...]
    ignored: tuple[str, ...] = ()  # in folders, and of no known format
    _reading: dict[int, File] = field(default_factory=dict)  # the one that is being read, by its number
    _taken: dict[str, tuple[Any, Fingerprint]] = field(default_factory=dict)  # stamps and fingerprints, by name

    @classmethod
    def of(cls, arguments: Sequence[str | Path], is_output: IsOutput = lambda path: False) -> Files:  # noqa: ARG005
        """The files that arguments stand for, in order.

        What the run itself writes is left out of folders and patterns, and refused where it is named.
        """
        names: list[str] = []
        ignored: list[str] = []
        for argument in map(str, arguments):
            matches = _expanded(argument)
            if not matches or not Path(matches[0]).exists():
                raise InputError(f"{argument}: there is no such file, and no file matches it.")
            if is_output(Path(argument)):
                raise InputError(f"{argument} is an input, but also what this run writes to. Name another output.")
            for name in matches:
                if not is_output(Path(name)):
                    (names if File(name).known or name == argument else ignored).append(name)
        if not names:
            known = f"{', '.join([*TABLES, *DOCUMENTS])} (all but .parquet also with {' or '.join(COMPRESSED)})"
            raise InputError(f"No file to read in {', '.join(map(str, arguments)) or 'no input'}: {known} are read.")
        for name in names:
            File(name).check_packages()
        return cls(tuple(names), tuple(ignored))

    def rows(self, columns: Columns, after: RowPosition) -> Iterator[InputRow]:
        """The rows from a position on."""
        for number in range(after.file, len(self.names)):
            file = File(self.names[number])
            self._reading.clear()
            self._reading[number] = file
            yield from file.rows(number, columns, after.row if number == after.file else 0)

    def heads(self, columns: Columns) -> Iterator[tuple[str, Iterator[RowValues | str]]]:
        """The first tables by name, each with the columns of its rows."""
        tables = [name for name in self.names if File(name).table_reader is not None]
        return ((name, File(name).head(columns)) for name in tables[:HEAD_FILES])

    def fingerprints(self) -> list[Fingerprint]:
        """What distinguishes these inputs from others."""
        for name in self.names:
            self._taken[name] = _stamp(name), _fingerprint(name)
        return [self._taken[name][1] for name in self.names]

    def refuse_changes(self) -> None:
        """InputError if an input has changed since its fingerprint was taken."""
        for name, (stamp, before) in self._taken.items():
            if _stamp(name) != stamp and _fingerprint(name)["hash"] != before["hash"]:
                raise InputError(
                    f"{name} changed while it was read, so old and new rows may be mixed. Pass --restart to start over."
                )

    @cached_property
    def _starts(self) -> list[int]:
        """How many bytes come before each file, and before the end."""
        sizes = [Path(name).stat().st_size if Path(name).is_file() else 0 for name in self.names]
        return list(accumulate(sizes, initial=0))

    def share(self, after: RowPosition) -> float:
        """How much of the input comes before a position, from 0 to 1: by the bytes that were read here.

        Where other processes read, by the files before the position.
        """
        number, file = next(iter(self._reading.items()), (after.file, File("")))
        return (self._starts[number] + file.position()) / max(1, self._starts[-1])


def _expanded(argument: str) -> list[str]:
    """The files of a folder, without those of unfinished runs in it; or those that match a pattern."""
    folder = Path(argument).expanduser()
    if not folder.is_dir():
        return matching_files(argument)
    unfinished = [parts for parts in folder.rglob("*.parts") if read_manifest(parts / MANIFEST_NAME)]
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.startswith(".")]
    return [str(file) for file in files if not any(parts in file.parents for parts in unfinished)]


def _stamp(name: str) -> list[int] | None:
    """What changes when a file is written to: its size, and when it and its entry were changed; None for no file."""
    try:
        state = Path(name).stat()
    except OSError:
        return None
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns]


def _fingerprint(name: str) -> Fingerprint:
    try:
        return {"name": name, "bytes": Path(name).stat().st_size, "hash": file_sha256(Path(name))}
    except OSError as error:
        return {"name": name, "bytes": None, "hash": f"unreadable: {error.strerror}"}


@dataclass(frozen=True)
class Table:
    """A table in memory, with the methods of `Files`."""

    table: Any  # pyarrow.Table
    ignored: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: Any) -> Table:
        pa = arrow()
        return cls(value if isinstance(value, pa.Table) else pa.table(value))

    def rows(self, columns: Columns, after: RowPosition) -> Iterator[InputRow]:
        wanted = columns.of(self.table.schema.names)
        for number, values in enumerate(self._values(wanted, after.row), start=after.row):
            yield columns.row(RowPosition(0, number), str(number + 1), values)

    def _values(self, names: Sequence[str], start: int = 0) -> Iterator[dict[str, Any]]:
        for batch in self.table.slice(start).to_batches(max_chunksize=BATCH_ROWS):
            yield from arrow_rows(batch, names)

    def heads(self, columns: Columns) -> Iterator[tuple[str, Iterator[RowValues | str]]]:  # noqa: ARG002
        yield "the table", iter([dict.fromkeys(self.table.schema.names)])

    def fingerprints(self) -> list[Fingerprint]:
        names = self.table.schema.names
        digest = hashlib.sha256(str(names).encode())
        for values in self._values([name for name in names if names.count(name) == 1]):
            digest.update(repr(values).encode(errors="replace"))
        return [{"name": "table", "rows": self.table.num_rows, "hash": digest.hexdigest()}]

    def refuse_changes(self) -> None:
        """A table in memory stays as it is."""

    def share(self, after: RowPosition) -> float:
        return after.row / max(1, int(self.table.num_rows))


RowSource = Files | Table  # rows that can be read again from any position


def source_of(value: Any, is_output: IsOutput) -> RowSource:
    """The files that one or several names stand for, without those that the run writes; or a table."""
    if hasattr(value, "__arrow_c_stream__"):
        return Table.of(value)
    if hasattr(value, "with_format"):  # a dataset of the library datasets
        return Table.of(value.with_format("arrow")[:])
    names = [value] if isinstance(value, str | Path) else value
    if isinstance(names, Sequence) and all(isinstance(name, str | Path) for name in names):
        return Files.of(names, is_output)
    kinds = "files, or a table that speaks Arrow (pandas, polars, pyarrow, datasets)"
    raise InputError(f"A corpus is {kinds}, not {type(value).__name__}.")
