"""Files -> rows, one after the other: JSON lines, CSV and Parquet, also compressed, and documents, one row each.

Nothing is read ahead, so memory does not grow with a corpus. A row that cannot be read becomes a row with a problem. A
file that breaks in the middle yields one such row in place of the rest, and reading continues with the next file.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from mudy._support.extras import missing_extra
from mudy.corpus.columns import Columns, RowValues
from mudy.corpus.row import InputRow, RowPosition
from mudy.corpus.table_rows import arrow, csv_rows, parquet_rows
from mudy.errors import InputError, MudyError
from mudy.reading.formats import PLAIN_ENDINGS, WEB_ENDINGS, read
from mudy.reading.formats import endings as readable_endings

LabelledValues = tuple[str, RowValues | str]  # a name for rows without an id; and the row's columns, or its problem
TableReader = Callable[[IO[bytes], Columns], Iterator[LabelledValues]]

COMPRESSED = (".gz", ".zst")
DOCUMENTS = (*PLAIN_ENDINGS, *WEB_ENDINGS, ".pdf", ".docx")


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
            yield InputRow(RowPosition(number, 0), self.name, reading.text, pages=reading.pages)
            return
        for count, (label, values) in enumerate(self._values(columns)):
            yield columns.row(RowPosition(number, count), f"{self.name}:{label}", values)

    def _values(self, columns: Columns) -> Iterator[LabelledValues]:
        assert self.table_reader is not None
        with self.opened() as stream:
            yield from self.table_reader(stream, columns)

    def head(self, columns: Columns) -> Iterator[RowValues | str]:
        """The columns of a table's rows, up to where it breaks."""
        try:
            yield from (values for _, values in self._values(columns))
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
            yield str(number), _object(line)


def _object(line: bytes) -> RowValues | str:
    try:
        values = json.loads(line)
    except RecursionError:
        return "is nested too deeply"
    except ValueError as error:  # also of bytes that are not UTF-8
        return f"is not JSON: {str(error)[:120]}"
    return values if isinstance(values, dict) else f"is {type(values).__name__}, not an object with columns"


TABLES: Mapping[str, TableReader] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".csv": csv_rows,
    ".tsv": partial(csv_rows, delimiter="\t"),
    ".parquet": parquet_rows,
}
