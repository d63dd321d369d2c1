"""Where the rows of a corpus come from: files, read one row after the other, or a table in memory that speaks Arrow.

JSON lines, CSV and Parquet are read row by row, also compressed; a document is one row. Nothing is read ahead, so
memory does not grow with a corpus. A row that cannot be read becomes a row with a problem. A file that breaks in the
middle yields one such row in place of the rest, and reading continues with the next file.
"""

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, Self, cast

from mudy._support.extras import missing_extra
from mudy._support.storage import file_sha256
from mudy.corpus.checkpoint import MANIFEST_NAME, read_manifest
from mudy.corpus.rows import BATCH_ROWS, LONGEST_CELL, Columns, InputRow, Row, RowPosition, arrow
from mudy.errors import InputError, MudyError
from mudy.reading.formats import FORMATS, matching_files, read
from mudy.reading.formats import endings as readable_endings

HEAD_FILES = 10  # tables whose columns are checked before a run

Fingerprint = Mapping[str, Any]  # name, size and hash of an input
IsOutput = Callable[[Path], bool]  # whether a run writes to a path
LabelledValues = tuple[str, Row | str]  # a name for rows without an id; and the row's columns, or its problem
TableReader = Callable[[IO[bytes], Columns], Iterator[LabelledValues]]

COMPRESSED = (".gz", ".zst")
DOCUMENTS = tuple(ending for form in FORMATS.values() for ending in form.endings)  # tables are read row by row


@dataclass(slots=True)
class File:
    """A file, and how far it was read."""

    name: str
    raw: IO[bytes] | None = None  # open while it is read; compressed, if the file is

    @property
    def compression(self) -> str | None:
        """The ending of a compressed file."""
        return next((ending for ending in COMPRESSED if self.name.lower().endswith(ending)), None)

    @property
    def content_name(self) -> str:
        """The name without the ending of a compressed file."""
        return self.name.removesuffix(Path(self.name).suffix) if self.compression else self.name

    @property
    def table_reader(self) -> TableReader | None:
        """The reader of its rows, by its ending; None for a document. A Parquet file is never compressed again."""
        ending = Path(self.content_name).suffix.lower()
        return None if self.compression and ending == ".parquet" else TABLES.get(ending)

    @property
    def known(self) -> bool:
        """Whether its ending is one of those that are read."""
        return self.table_reader is not None or Path(self.content_name).suffix.lower() in DOCUMENTS

    def check_packages(self) -> None:
        """MissingExtra if reading it needs a package that is not installed."""
        ending = Path(self.content_name).suffix.lower()
        if ending == ".parquet" or self.compression == ".zst":
            arrow()
        if ending in DOCUMENTS and ending not in readable_endings():
            raise missing_extra("readers", f"A {ending} file")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Its bytes, decompressed."""
        with Path(self.name).open("rb") as self.raw:
            if self.compression is None:
                yield self.raw
                return
            if not self.raw.read(1):
                raise InputError(
                    f"is empty, so it is not a {self.compression} file: even without content, one has bytes"
                )
            self.raw.seek(0)
            with gzip.open(self.raw, "rb") if self.compression == ".gz" else _zstd_stream(self.raw) as stream:
                yield cast(IO[bytes], stream)

    def position(self) -> int:
        """How many of its bytes were read."""
        if self.raw is None:
            return 0
        return Path(self.name).stat().st_size if self.raw.closed else self.raw.tell()

    def rows(self, number: int, columns: Columns, skip: int = 0) -> Iterator[InputRow]:
        """Its rows after the first ones; where it breaks, one row with the problem."""
        count = 0
        try:
            for count, row in enumerate(self._rows(number, columns), start=1):
                if count > skip:
                    yield row
        except Exception as error:  # of any kind: a broken file breaks its reader anywhere
            if count >= skip:
                yield InputRow(RowPosition(number, count), self.name, problem=_reason(error))

    def _rows(self, number: int, columns: Columns) -> Iterator[InputRow]:
        if self.table_reader is None:
            with self.opened() as stream:
                reading = read(stream.read(), self.content_name)
            yield InputRow(RowPosition(number, 0), self.name, reading.text, pages=reading.pages, blocks=reading.blocks)
            return
        with self.opened() as stream:
            for count, (label, values) in enumerate(self.table_reader(stream, columns)):
                yield columns.row(RowPosition(number, count), f"{self.name}:{label}", values)

    def head(self, columns: Columns) -> Iterator[Row | str]:
        """The columns of a table's rows, up to where it breaks."""
        assert self.table_reader is not None
        try:
            with self.opened() as stream:
                yield from (values for _, values in self.table_reader(stream, columns))
        except Exception as error:
            yield _reason(error)


def _zstd_stream(raw: IO[bytes]) -> io.BufferedReader:
    """The content of all frames of a .zst file; OSError where the file ends within a frame."""
    pa = arrow()
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))


def _reason(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "may not be read (permission denied)"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read ({error.strerror})"
    return str(error) if isinstance(error, MudyError) else f"cannot be read: {type(error).__name__}: {error}"


def _jsonl(stream: IO[bytes], columns: Columns) -> Iterator[LabelledValues]:  # noqa: ARG001
    for number, line in enumerate(stream, start=1):
        if line.strip():
            try:
                values = json.loads(line)
                problem = f"is {type(values).__name__}, not an object with columns"
            except RecursionError:
                values, problem = None, "is nested too deeply"
            except ValueError as error:  # also of bytes that are not UTF-8
                values, problem = None, f"is not JSON: {str(error)[:120]}"
            yield str(number), values if isinstance(values, dict) else problem


def _csv_rows(stream: IO[bytes], columns: Columns, delimiter: str = ",") -> Iterator[LabelledValues]:
    """The rows under a head, each with its number. A broken quote costs the lines that it took, which are named."""
    csv.field_size_limit(LONGEST_CELL)
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        records = (cells for cells in _records(text, delimiter) if cells)
        head = next(records, [])
        if isinstance(head, str):
            raise InputError(f"the head cannot be read: {head}")
        columns.of(head)  # raises if one of these stands there twice
        for number, cells in enumerate(records, start=1):
            yield str(number), cells if isinstance(cells, str) else _cells(head, cells)
    finally:
        text.detach()  # or it would close what is not its own


def _records(text: Iterator[str], delimiter: str) -> Iterator[list[str] | str]:
    """The records of a CSV file, or what is wrong with one; what follows a broken quote begins in the next line."""
    table = csv.reader(text, delimiter=delimiter, strict=True)
    while True:
        first = table.line_num + 1
        try:
            yield next(table)
        except StopIteration:
            return
        except csv.Error as error:
            last = table.line_num
            where = f"lines {first} to {last} are" if last > first else f"line {first} is"
            what = f"a quote that line {first} opens is not closed, or not where its cell ends"
            yield f"{where} not read: {what} ({error})"


def _cells(head: Sequence[str], cells: Sequence[str]) -> Row | str:
    if len(cells) != len(head):
        return f"has {len(cells)} cells, but the head names {len(head)} columns"
    if any("\udc80" <= c <= "\udcff" for cell in cells for c in cell):
        return "is not UTF-8"
    return dict(zip(head, cells, strict=True))


def _parquet_rows(stream: IO[bytes], columns: Columns) -> Iterator[LabelledValues]:
    """The rows of a Parquet file, of which only the columns that are needed are read."""
    file = arrow().parquet.ParquetFile(stream)
    wanted = columns.of(file.schema_arrow.names)
    every = dict.fromkeys(file.schema_arrow.names)  # so that a row can name those that are not read
    number = 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
        for values in arrow_rows(batch, wanted):
            number += 1
            yield str(number), {**every, **values}


def arrow_rows(batch: Any, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of a record batch, some columns of them."""
    columns = [_python(batch.column(name)) for name in names]
    for index in range(batch.num_rows):
        yield {name: column[index] for name, column in zip(names, columns, strict=True)}


def _python(column: Any) -> list[Any]:
    """A column's values; as texts if Python cannot hold one, such as a date of the year 20000."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError, ArithmeticError):
        values = column.cast("string").to_pylist()
    return values


TABLES: Mapping[str, TableReader] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _csv_rows,
    ".tsv": partial(_csv_rows, delimiter="\t"),
    ".parquet": _parquet_rows,
}


@dataclass(frozen=True)
class Files:
    """Files in the order of their arguments."""

    names: tuple[str, ...]
    ignored: tuple[str, ...] = ()  # in folders, and of no known format
    _reading: dict[int, File] = field(default_factory=dict)  # the one that is being read, by its number
    _taken: dict[str, tuple[Any, Fingerprint]] = field(default_factory=dict)  # stamps and fingerprints, by name

    @classmethod
    def of(cls, arguments: Sequence[str | Path], is_output: IsOutput = lambda path: False) -> Self:  # noqa: ARG005
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

    def heads(self, columns: Columns) -> Iterator[tuple[str, Iterator[Row | str]]]:
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
    def of(cls, value: Any) -> Self:
        pa = arrow()
        return cls(value if isinstance(value, pa.Table) else pa.table(value))

    def rows(self, columns: Columns, after: RowPosition) -> Iterator[InputRow]:
        wanted = columns.of(self.table.schema.names)
        for number, values in enumerate(self._values(wanted, after.row), start=after.row):
            yield columns.row(RowPosition(0, number), str(number + 1), values)

    def _values(self, names: Sequence[str], start: int = 0) -> Iterator[dict[str, Any]]:
        for batch in self.table.slice(start).to_batches(max_chunksize=BATCH_ROWS):
            yield from arrow_rows(batch, names)

    def heads(self, columns: Columns) -> Iterator[tuple[str, Iterator[Row | str]]]:  # noqa: ARG002
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
