"""Files -> rows, one after the other: JSON lines, CSV and Parquet, also compressed, and documents, one row each.

Nothing is read ahead, so memory does not grow with a corpus. A row that cannot be read becomes a row with a problem; a
file that breaks in the middle gives one such row in the place of what is missing, and the next file is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mudy._support.extras import missing_extra
from mudy.corpus import manifests
from mudy.corpus.columns import Columns, RowValues
from mudy.corpus.compression import COMPRESSED, unpacked, zstandard
from mudy.corpus.row import InputRow, RowPosition
from mudy.corpus.table_rows import arrow_parquet, csv_rows, parquet_rows
from mudy.errors import InputError, MudyError
from mudy.reading.formats import PLAIN_ENDINGS, WEB_ENDINGS, read
from mudy.reading.formats import endings as readable_endings
from mudy.reading.formats.file_arguments import matching_files

TABLES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
DOCUMENT_ENDINGS = (*PLAIN_ENDINGS, *WEB_ENDINGS, ".pdf", ".docx")

LabelledValues = tuple[
    str, RowValues | str
]  # how a row is called where it has no id; and its columns, or what is wrong with it
IsOutput = Callable[[Path], bool]  # whether a run writes to a path


# -- Which files ------------------------------------------------------------------------------------------------------


def files(inputs: Sequence[str], is_output: IsOutput = lambda path: False) -> tuple[list[str], list[str]]:  # noqa: ARG005
    """The files that arguments stand for, in order; and those in folders that are of no known kind.

    What the run itself writes is left out of folders and patterns, and refused where it is named.
    """
    found: list[str] = []
    ignored: list[str] = []
    for argument in inputs:
        names = _expanded(argument)
        if not names or not Path(names[0]).exists():
            raise InputError(f"{argument}: there is no such file, and no file matches it.")
        if is_output(Path(argument)):
            raise InputError(f"{argument} is an input, but also what this run writes to. Name another output.")
        for name in names:
            if not is_output(Path(name)):
                (found if format_of_file(name) or name == argument else ignored).append(name)
    if not found:
        raise InputError(f"No file to read in {', '.join(inputs) or 'no input at all'}: {_known()} are read.")
    return found, ignored


def _expanded(argument: str) -> list[str]:
    path = Path(argument).expanduser()
    if path.is_dir():
        working = [
            folder for folder in path.rglob("*.parts") if manifests.read_manifest(folder / manifests.MANIFEST_NAME)
        ]  # of other runs
        paths = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")]
        return [str(file) for file in paths if not any(folder in file.parents for folder in working)]
    return matching_files(argument)


def format_of_file(name: str) -> str | None:
    """What a file is, by its ending."""
    path = Path(name)
    packed = path.suffix.lower() in COMPRESSED
    ending = (path.with_suffix("") if packed else path).suffix.lower()
    if ending in TABLES:
        return None if packed and ending == ".parquet" else TABLES[ending]
    return "document" if ending in DOCUMENT_ENDINGS else None


def check_packages(names: Iterable[str]) -> None:
    """Raise MissingExtra where a file needs a package that is not installed."""
    endings = {ending.lower() for name in names for ending in (Path(name).suffix, Path(_unpacked_name(name)).suffix)}
    if ".parquet" in endings:
        arrow_parquet()
    if ".zst" in endings:
        zstandard()
    for ending in sorted(endings.intersection(DOCUMENT_ENDINGS).difference(readable_endings())):
        raise missing_extra("readers", f"A {ending} file")


def _known() -> str:
    return (
        ", ".join([*TABLES, *DOCUMENT_ENDINGS]) + f" (tables but Parquet and texts also with {' or '.join(COMPRESSED)})"
    )


# -- Rows of a file ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class File:
    """A file, and how far it was read."""

    name: str
    raw: IO[bytes] | None = None  # open while it is read; packed, if it is

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Its bytes, unpacked."""
        with Path(self.name).open("rb") as self.raw, unpacked(self.raw, self.name) as stream:
            yield stream

    def position(self) -> int:
        """How many of its bytes were read."""
        if self.raw is None:
            return 0
        return Path(self.name).stat().st_size if self.raw.closed else self.raw.tell()

    def rows(self, number: int, columns: Columns, skip: int = 0) -> Iterator[InputRow]:
        """Its rows, without the first ones; where it breaks, one row with the problem."""
        count = 0
        try:
            for count, row in enumerate(self._rows(number, columns), start=1):
                if count > skip:
                    yield row
        except Exception as error:  # of whatever kind: a broken file breaks its reader anywhere
            if count >= skip:
                yield InputRow(RowPosition(number, count), self.name, problem=_reason(error))

    def _rows(self, number: int, columns: Columns) -> Iterator[InputRow]:
        if self.is_table:
            for count, (label, values) in enumerate(self._values(columns)):
                yield columns.row(RowPosition(number, count), f"{self.name}:{label}", values)
        else:
            yield self._document(number)

    @property
    def is_table(self) -> bool:
        return format_of_file(self.name) in ROW_READERS

    def _values(self, columns: Columns) -> Iterator[LabelledValues]:
        with self.opened() as stream:
            yield from ROW_READERS[format_of_file(self.name) or ""](stream, columns)

    def head(self, columns: Columns) -> Iterator[RowValues | str]:
        """The columns of its first rows, up to where it breaks; of a document there are none."""
        try:
            yield from (values for _, values in self._values(columns))
        except Exception as error:
            yield _reason(error)

    def _document(self, number: int) -> InputRow:
        with self.opened() as stream:
            reading = read(stream.read(), _unpacked_name(self.name))
        return InputRow(RowPosition(number, 0), self.name, reading.text, pages=reading.pages)


def _unpacked_name(name: str) -> str:
    return str(Path(name).with_suffix("")) if Path(name).suffix.lower() in COMPRESSED else name


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


ROW_READERS: Mapping[str, Callable[[IO[bytes], Columns], Iterator[LabelledValues]]] = {
    "jsonl": _jsonl,
    "csv": csv_rows,
    "tsv": lambda stream, columns: csv_rows(stream, columns, "\t"),
    "parquet": parquet_rows,
}
