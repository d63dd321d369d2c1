"""Files -> rows, one after the other: JSON lines, CSV and Parquet, also compressed, and documents, one row each.

Nothing is read ahead, so memory does not grow with a corpus. A row that cannot be read becomes a row with a problem; a
file that breaks in the middle gives one such row in the place of what is missing, and the next file is read.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import IO, Any, cast

from mudy.corpus.rows import Place, Row
from mudy.errors import InputError, MissingExtra, MudyError
from mudy.readers import PLAIN, WEB, read

TABLES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
PACKED = (".gz", ".zst")
DOCUMENTS = (*PLAIN, *WEB, ".pdf", ".docx")
OURS = ("id", "keyphrases", "coverage", "seconds", "error")  # columns of the output
SAMPLES, SAMPLE = 16, 65536  # of a large file's bytes, for its fingerprint
ROWS = 64  # of a Parquet file, read at once

Values = Mapping[str, Any]
Found = tuple[str, Values | str]  # how a row is called where it has no id; and its columns, or what is wrong with it


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what."""

    text: str = "text"
    id: str = "id"
    keep: tuple[str, ...] | None = ()  # to be carried through; None: all others

    def row(self, place: Place, name: str, values: Values | str) -> Row:
        """A row from its columns."""
        if isinstance(values, str):
            return Row(place, name, problem=values)
        label = values.get(self.id)
        row_id = name if label is None else str(label)
        kept = self._kept(values)
        if self.text not in values:
            return Row(place, row_id, problem=f"has no column {self.text!r}, but {_some(values)}", kept=kept)
        text = values[self.text]
        if not isinstance(text, str):
            kind = "null" if text is None else type(text).__name__
            return Row(place, row_id, problem=f"column {self.text!r} is {kind}, not a text", kept=kept)
        return Row(place, row_id, text, kept=kept)

    def _kept(self, values: Values) -> dict[str, Any]:
        wanted = [name for name in values if name not in (self.text, self.id)] if self.keep is None else self.keep
        return {f"input_{name}" if name in OURS else name: values.get(name) for name in wanted}


def _some(values: Values) -> str:
    return ", ".join(map(repr, list(values)[:8])) or "none at all"


# -- Which files ------------------------------------------------------------------------------------------------------


def files(inputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The files that arguments stand for, in order; and those in folders that are of no known kind."""
    found: list[str] = []
    ignored: list[str] = []
    for argument in inputs:
        names = _expanded(argument)
        if not names or not Path(names[0]).exists():
            raise InputError(f"{argument}: there is no such file, and no file matches it.")
        for name in names:
            (found if kind_of(name) or name == argument else ignored).append(name)
    if not found:
        raise InputError(f"No file to read in {', '.join(inputs) or 'no input at all'}: {_known()} are read.")
    return found, ignored


def _expanded(argument: str) -> list[str]:
    path = Path(argument).expanduser()
    if path.is_dir():
        return [str(each) for each in sorted(path.rglob("*")) if each.is_file() and not each.name.startswith(".")]
    if path.exists() or not has_magic(argument):
        return [argument]
    return sorted(name for name in glob(str(path), recursive=True) if not Path(name).is_dir())  # noqa: PTH207


def kind_of(name: str) -> str | None:
    """What a file is, by its ending."""
    path = Path(name)
    packed = path.suffix.lower() in PACKED
    ending = (path.with_suffix("") if packed else path).suffix.lower()
    if ending in TABLES:
        return None if packed and ending == ".parquet" else TABLES[ending]
    return "document" if ending in DOCUMENTS else None


def _known() -> str:
    return ", ".join([*TABLES, *DOCUMENTS]) + f" (tables but Parquet and texts also with {' or '.join(PACKED)})"


def fingerprint(name: str) -> dict[str, Any]:
    """A file's size and a hash: of all of it, or of samples from its beginning to its end if it is large."""
    digest = hashlib.sha256()
    try:
        size = Path(name).stat().st_size
        with Path(name).open("rb") as stream:
            step = max(SAMPLE, (size - SAMPLE) // (SAMPLES - 1)) if size > SAMPLES * SAMPLE else SAMPLE
            for start in range(0, max(1, size), step):
                stream.seek(start)
                digest.update(stream.read(SAMPLE))
    except OSError as error:
        return {"name": name, "bytes": None, "hash": f"unreadable: {error.strerror}"}
    return {"name": name, "bytes": size, "hash": digest.hexdigest()[:16]}


# -- Rows of a file ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class File:
    """A file, and how far it was read."""

    name: str
    raw: IO[bytes] | None = None  # open while it is read; packed, if it is

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Its bytes, unpacked."""
        with Path(self.name).open("rb") as self.raw:
            if self.name.endswith(".gz"):
                with gzip.open(self.raw, "rb") as stream:
                    yield cast(IO[bytes], stream)
            elif self.name.endswith(".zst"):
                with io.BufferedReader(
                    _zstandard().ZstdDecompressor().stream_reader(self.raw, read_across_frames=True)
                ) as stream:
                    yield stream
            else:
                yield self.raw

    def position(self) -> int:
        """How many of its bytes were read."""
        if self.raw is None:
            return 0
        return Path(self.name).stat().st_size if self.raw.closed else self.raw.tell()

    def rows(self, number: int, columns: Columns, skip: int = 0) -> Iterator[Row]:
        """Its rows, without the first ones; where it breaks, one row with the problem."""
        count = 0
        try:
            for count, row in enumerate(self._rows(number, columns), start=1):
                if count > skip:
                    yield row
        except Exception as error:  # of whatever kind: a broken file breaks its reader anywhere
            if count >= skip:
                yield Row(Place(number, count), self.name, problem=_reason(error))

    def _rows(self, number: int, columns: Columns) -> Iterator[Row]:
        reader = READERS.get(kind_of(self.name) or "")
        if reader is None:
            yield self._document(number)
        else:
            for count, (label, values) in enumerate(reader(self)):
                yield columns.row(Place(number, count), f"{self.name}:{label}", values)

    def _document(self, number: int) -> Row:
        with self.opened() as stream:
            reading = read(stream.read(), self.name.removesuffix(".gz").removesuffix(".zst"))
        return Row(Place(number, 0), self.name, reading.text, pages=reading.pages)


def _reason(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "may not be read (permission denied)"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read ({error.strerror})"
    return str(error) if isinstance(error, MudyError) else f"cannot be read: {type(error).__name__}: {error}"


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra('Files ending in .zst need: pip install "mudy[corpus]"') from None
    return zstandard


def _jsonl(file: File) -> Iterator[Found]:
    with file.opened() as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield str(number), _object(line)


def _object(line: bytes) -> Values | str:
    try:
        values = json.loads(line)
    except RecursionError:
        return "is nested too deeply"
    except ValueError as error:  # also of bytes that are not UTF-8
        return f"is not JSON: {str(error)[:120]}"
    return values if isinstance(values, dict) else f"is {type(values).__name__}, not an object with columns"


def _csv(file: File, delimiter: str = ",") -> Iterator[Found]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # texts are longer than Python's 128 kB
    with file.opened() as stream:
        lines = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
        table = csv.reader(lines, delimiter=delimiter)
        head = next(table, None)
        if head is None:
            return
        for number, cells in enumerate((cells for cells in table if cells), start=1):
            yield str(number), _cells(head, cells)


def _cells(head: Sequence[str], cells: Sequence[str]) -> Values | str:
    if len(cells) != len(head):
        return f"has {len(cells)} cells, but the head names {len(head)} columns"
    if any("\udc80" <= c <= "\udcff" for cell in cells for c in cell):
        return "is not UTF-8"
    return dict(zip(head, cells, strict=True))


def _parquet(file: File) -> Iterator[Found]:
    parquet = arrow_parquet()
    with file.opened() as stream:
        number = 0
        for batch in parquet.ParquetFile(stream).iter_batches(batch_size=ROWS):
            for values in batch.to_pylist():
                number += 1
                yield str(number), values


def arrow_parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra('Parquet and tables need: pip install "mudy[corpus]"') from None
    return parquet


READERS: Mapping[str, Callable[[File], Iterator[Found]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "tsv": lambda file: _csv(file, "\t"),
    "parquet": _parquet,
}
