"""Files -> rows, one after the other: JSON lines, CSV and Parquet, also compressed, and documents, one row each.

Nothing is read ahead, so memory does not grow with a corpus. A row that cannot be read becomes a row with a problem. A
file that breaks in the middle yields one such row in place of the rest, and reading continues with the next file.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from mudy._support.extras import from_extra, missing_extra
from mudy.corpus.row import Columns, InputRow, RowPosition, RowValues
from mudy.errors import InputError, MudyError
from mudy.reading.formats import FORMATS, read
from mudy.reading.formats import endings as readable_endings

LabelledValues = tuple[str, RowValues | str]  # a name for rows without an id; and the row's columns, or its problem
TableReader = Callable[[IO[bytes], Columns], Iterator[LabelledValues]]

COMPRESSED = (".gz", ".zst")
DOCUMENTS = tuple(ending for form in FORMATS.values() for ending in form.endings)  # tables are read row by row
BATCH_ROWS = 64  # of a Parquet file, read at once
LONGEST_CELL = 1 << 26  # characters; a quote that is never closed must not fill the memory


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

    def head(self, columns: Columns) -> Iterator[RowValues | str]:
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


def _cells(head: Sequence[str], cells: Sequence[str]) -> RowValues | str:
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


def arrow() -> Any:
    """The package pyarrow, with pyarrow.parquet; MissingExtra where it is not installed."""
    with from_extra("corpus", "This format"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow


TABLES: Mapping[str, TableReader] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": _csv_rows,
    ".tsv": partial(_csv_rows, delimiter="\t"),
    ".parquet": _parquet_rows,
}
