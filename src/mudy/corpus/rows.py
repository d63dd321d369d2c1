"""Rows of a corpus: what goes in, what comes out, and how they are read from files, one after the other.

JSON lines, CSV and Parquet are read row by row, also compressed; a document is one row. Nothing is read ahead, so
memory does not grow with a corpus. A row that cannot be read becomes a row with a problem. A file that breaks in the
middle yields one such row in place of the rest, and reading continues with the next file.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from mudy._support.extras import from_extra, missing_extra
from mudy.errors import InputError, MudyError, SettingError
from mudy.extraction.outcomes import error_message
from mudy.extraction.results import Result
from mudy.reading.document import Block
from mudy.reading.formats import FORMATS, read
from mudy.reading.formats import endings as readable_endings

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


# -- Files ------------------------------------------------------------------------------------------------------------

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
