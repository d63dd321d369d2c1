"""Rows of tables: CSV and Parquet. A row that cannot be read becomes an error in its place."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import IO, Any

from mudy._support.extras import from_extra
from mudy.corpus.columns import Columns, RowValues, twice
from mudy.errors import InputError

BATCH_ROWS = 64  # of a Parquet file, read at once
LONGEST_CELL = 1 << 26  # characters; a quote that is never closed must not fill the memory
_ARROW_ERRORS = (ValueError, OverflowError, ArithmeticError)  # what Arrow raises where Python has no such value


# -- CSV --------------------------------------------------------------------------------------------------------------


def csv_rows(stream: IO[bytes], columns: Columns, delimiter: str = ",") -> Iterator[tuple[str, RowValues | str]]:
    """The rows under a head, each with its number. A broken quote costs the lines that it took, which are named."""
    csv.field_size_limit(LONGEST_CELL)
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        records = (cells for cells in _records(_Lines(text), delimiter) if cells)
        head = _head(next(records, []), columns)
        for number, cells in enumerate(records, start=1):
            yield str(number), cells if isinstance(cells, str) else _cells(head, cells)
    finally:
        text.detach()  # or it would close what is not its own


class _Lines:
    """The lines of a file, the last of which can be read once more."""

    def __init__(self, text: Iterator[str]) -> None:
        self._text = text
        self._last = ""
        self._again = False
        self.number = 0  # of the last line, from 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if not self._again:
            self._last = next(self._text)
            self.number += 1
        self._again = False
        return self._last

    def repeat(self) -> None:
        self._again = True
        self.number -= 1


def _records(lines: _Lines, delimiter: str) -> Iterator[list[str] | str]:
    """The records of a CSV file, or what is wrong with one.

    Where a quote turns out to be broken in a later line, that line is taken for the first of a new record.
    """
    table = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first = lines.number + 1
        try:
            yield next(table)
        except StopIteration:
            return
        except csv.Error as error:
            ended = str(error) == "unexpected end of data"
            if not ended and lines.number > first:
                lines.repeat()
            yield _broken(first, lines.number, "the end of the file" if ended else str(error))


def _broken(first: int, last: int, reason: str) -> str:
    """What is wrong with the record in some lines of a file, in words."""
    where = f"lines {first} to {last} are" if last > first else f"line {first} is"
    return f"{where} not read: a quote that line {first} opens is not closed, or not where its cell ends ({reason})"


def _head(cells: list[str] | str, columns: Columns) -> list[str]:
    """The names of the columns; without them no row can be read."""
    if isinstance(cells, str):
        raise InputError(f"the head cannot be read: {cells}")
    if (name := twice(columns.of(cells))) is not None:
        raise InputError(f"the head names the column {name!r} twice, so it is not clear which is meant")
    return cells


def _cells(head: Sequence[str], cells: Sequence[str]) -> RowValues | str:
    if len(cells) != len(head):
        return f"has {len(cells)} cells, but the head names {len(head)} columns"
    if any("\udc80" <= c <= "\udcff" for cell in cells for c in cell):
        return "is not UTF-8"
    return dict(zip(head, cells, strict=True))


# -- Parquet and Arrow ------------------------------------------------------------------------------------------------


def parquet_rows(stream: IO[bytes], columns: Columns) -> Iterator[tuple[str, RowValues]]:
    """The rows of a Parquet file, of which only the columns that are needed are read."""
    file = arrow().parquet.ParquetFile(stream)
    wanted = needed(file.schema_arrow.names, columns)
    every = dict.fromkeys(file.schema_arrow.names)  # so that a row can name those that are not read
    number = 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
        for values in arrow_rows(batch, wanted):
            number += 1
            yield str(number), {**every, **values}


def needed(names: Sequence[str], columns: Columns) -> list[str]:
    """Those of a table's columns that are to be read."""
    wanted = columns.of(names)
    if (name := twice(wanted)) is not None:
        raise InputError(f"there are two columns {name!r}, so it is not clear which is meant")
    return wanted


def arrow_rows(batch: Any, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of a record batch, some columns of them."""
    columns = [_python(batch.column(name)) for name in names]
    for index in range(batch.num_rows):
        yield {name: column[index] for name, column in zip(names, columns, strict=True)}


def _python(column: Any) -> list[Any]:
    """A column's values; one that Python cannot hold, such as a date of the year 20000, as Arrow's text for it."""
    try:
        values: list[Any] = column.to_pylist()
        return values
    except _ARROW_ERRORS:
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except _ARROW_ERRORS:
        try:
            return str(scalar.cast("string"))
        except Exception:  # of whatever kind: there is no text for it
            return f"unreadable {scalar.type}"


def arrow() -> Any:
    """The package pyarrow, with pyarrow.parquet; MissingExtra where it is not installed."""
    with from_extra("corpus", "This format"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow
