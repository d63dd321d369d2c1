"""Results -> table, JSON, JSON lines or CSV; and where they are written."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import click

from mudy._support.storage import atomic_write, dump_json, encode_text, new_file, publish, same_file
from mudy.cli.sources import STDIN, Source
from mudy.extraction.results import Keyphrase, Result

if TYPE_CHECKING:
    from rich.console import Console

OUTPUT_FORMATS = ("table", "json", "jsonl", "csv")
CONCEPT_COLUMNS = ("concept_id", "concept_label", "concept_match", "concept_similarity")
CSV_COLUMNS = ("source", "rank", "text", "score", "variants", "start", "end", "page", "occurrences")


class Format(Protocol):
    """How results become text; what is returned is ready to be written."""

    def one(self, result: Result) -> str: ...

    def end(self) -> str: ...


def format_of(name: str, several: bool, terminal: bool, concepts: bool = False) -> Format:
    """A format by name. `several`: more than one result may come. `terminal`: a person looks on."""
    makers: dict[str, Callable[[], Format]] = {
        "table": lambda: Tables(several, terminal),
        "json": lambda: Json(several),
        "jsonl": JsonLines,
        "csv": lambda: Csv(concepts),
    }
    return makers[name]()


# -- Formats ----------------------------------------------------------------------------------------------------------


class JsonLines:
    """One object per line, each written as soon as it is there."""

    def one(self, result: Result) -> str:
        return dump_json(result.to_dict()) + "\n"

    def end(self) -> str:
        return ""


class Json:
    """One object for one input, a list for several; written at the end, so that it is whole or absent."""

    def __init__(self, several: bool) -> None:
        self._several = several
        self._found: list[Any] = []

    def one(self, result: Result) -> str:
        found = result.to_dict()
        dump_json(found)  # what cannot be written fails here, alone
        self._found.append(found)
        return ""

    def end(self) -> str:
        if not self._found:
            return ""
        return dump_json(self._found if self._several else self._found[0], indent=2) + "\n"


class Csv:
    """One row per keyphrase, at its best occurrence, with a header; `concepts`: with the columns for concepts."""

    def __init__(self, concepts: bool = False) -> None:
        self._begun, self._concepts = False, concepts

    def one(self, result: Result) -> str:
        lines = io.StringIO()
        rows = csv.writer(lines, lineterminator="\n")
        if not self._begun:
            rows.writerow((*CSV_COLUMNS, *(CONCEPT_COLUMNS if self._concepts else ())))
            self._begun = True
        for phrase in result.keyphrases:
            best = phrase.occurrences[0]
            variants = ";".join(phrase.variants)
            row = (phrase.rank, phrase.text, phrase.score, variants, best.start, best.end, best.page)
            concept = concept_cells(phrase) if self._concepts else ()
            rows.writerow((result.source or "", *row, len(phrase.occurrences), *concept))
        return lines.getvalue()

    def end(self) -> str:
        return ""


def concept_cells(phrase: Keyphrase) -> tuple[Any, ...]:
    """What CONCEPT_COLUMNS hold of a keyphrase."""
    concept = phrase.concept
    if concept is None:
        return ("",) * len(CONCEPT_COLUMNS)
    return (concept.id, concept.label, concept.match, "" if concept.similarity is None else concept.similarity)


class Tables:
    """One table per document, for people."""

    def __init__(self, several: bool, terminal: bool) -> None:
        self._several, self._terminal = several, terminal
        self._begun = False

    def one(self, result: Result) -> str:
        gap = "\n" if self._begun else ""
        self._begun = True
        return gap + self._table(result)

    def _table(self, result: Result) -> str:
        title = f"{result.source}\n" if self._several else ""
        note = "" if result.coverage.complete else f"{result.coverage}.\n"
        if not result.keyphrases:
            return f"{printable(title)}No keyphrases.\n{note}"
        head = ["#", "Keyphrase", "Score", "Places", "Also as"]
        rows = [
            [str(k.rank), k.text, f"{k.score:.4f}", str(len(k.occurrences)), "; ".join(k.variants)]
            for k in result.keyphrases
        ]
        if not any(k.variants for k in result.keyphrases):
            head, rows = head[:-1], [row[:-1] for row in rows]
        if any(k.concept for k in result.keyphrases):
            head = [*head, "Concept"]
            rows = [[*row, _concept(k)] for row, k in zip(rows, result.keyphrases, strict=True)]
        return printable(title) + text_table(head, rows, {"#", "Score", "Places"}, self._terminal) + note

    def end(self) -> str:
        return ""


def _concept(keyphrase: Keyphrase) -> str:
    """A concept for people: its label and id; a near one says so."""
    concept = keyphrase.concept
    if concept is None:
        return ""
    name = concept.label if concept.id == concept.label else f"{concept.label} ({concept.id})"
    return name if concept.similarity is None else f"near {name}, {concept.similarity:.2f}"


def printable(text: str) -> str:
    """The text without characters that would act on a terminal instead of showing on it."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: set[str], terminal: bool) -> str:
    """Rows under a head: drawn for a terminal, else plain, aligned and never cut. `right`: columns set to the right."""
    safe = [[printable(cell) for cell in row] for row in rows]
    return drawn(head, safe, right) if terminal else aligned(head, safe, right)


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], right: set[str]) -> str:
    from rich.cells import cell_len  # Chinese characters are two columns wide

    widths = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        padding = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [p + c if name in right else c + p for name, c, p in zip(head, row, padding, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def drawn(head: Sequence[str], rows: Sequence[Sequence[str]], right: set[str]) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawing = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in head:
        drawing.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        drawing.add_row(*map(Text, row))
    return captured(Console(), drawing)


def captured(console: Console, drawing: Any) -> str:
    with console.capture() as capture:
        console.print(drawing)
    return capture.get()


# -- Where they are written -------------------------------------------------------------------------------------------


class Output:
    """Standard output, or a file that takes its name only when it is whole.

    `streaming` writes to the file itself as data comes. Nothing is opened before the first byte is there to write.
    """

    def __init__(self, path: str | None, streaming: bool = False, option: str = "--output") -> None:
        self.option = option  # that named it
        self._path = Path(path).resolve() if path is not None else None
        special = self._path is not None and self._path.exists() and not self._path.is_file()  # a pipe, /dev/null
        self._direct = streaming or special
        self._stream: IO[bytes] | None = None
        self._unfinished: Path | None = None

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def terminal(self) -> bool:
        return self._path is None and sys.stdout is not None and sys.stdout.isatty()

    def check(self) -> None:
        """Say before the work, not after it, that the file cannot be written."""
        if self._path is None:
            if sys.stdout is None:
                raise click.UsageError(f"Standard output is closed; use {self.option} FILE.")
            return
        if self._path.is_dir():
            raise click.UsageError(f"{self.option} {self._path} is a directory; a file is needed.")
        if not self._path.parent.is_dir():
            raise click.UsageError(f"{self.option} {self._path}: the folder {self._path.parent} does not exist.")
        place = self._path if self._direct and self._path.exists() else self._path.parent
        if not os.access(place, os.W_OK):
            raise click.UsageError(f"{self.option} {self._path}: {place} may not be written (permission denied).")

    def write(self, data: str | bytes) -> None:
        if not data:
            return
        try:
            if self._stream is None:
                self._stream = self._opened()
            self._stream.write(encode_text(data) if isinstance(data, str) else data)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._failed(error)

    def close(self) -> None:
        """All is written: give the file its name."""
        if self._path is None or self._stream is None:
            return
        try:
            self._stream.close()
            if self._unfinished is not None:
                publish(self._unfinished, self._path)
                self._unfinished = None
        except OSError as error:
            self._failed(error)

    def discard(self) -> None:
        """Leave no half file behind."""
        if self._path is not None and self._stream is not None:
            with suppress(OSError):
                self._stream.close()
        if self._unfinished is not None:
            self._unfinished.unlink(missing_ok=True)

    def _opened(self) -> IO[bytes]:
        if self._path is None:
            return sys.stdout.buffer
        if self._direct:
            return self._path.open("wb")
        self._unfinished = new_file(self._path)
        return self._unfinished.open("wb")

    def _failed(self, error: OSError) -> None:
        self.discard()
        if self._path is None:
            silence_stdout()
        place = self._path or "standard output"
        raise click.ClickException(f"{place} cannot be written: {error.strerror or error}") from error


def check_output(target: Output, files: Iterable[str | None]) -> None:
    """The output can be written, and is none of the files that are read, through whatever links."""
    target.check()
    if target.path is None or not target.path.is_file():
        return
    for name in filter(None, files):
        if _is_input(name, target.path):
            raise click.UsageError(f"{target.option} {target.path} is also an input ({name}); it would be overwritten.")


def _is_input(name: str, output: Path) -> bool:
    if name != STDIN:
        return same_file(name, output)
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), output.stat())
    except (OSError, ValueError, AttributeError):  # it is closed, or no file at all
        return False


class Texts:
    """A folder of texts, each under the name of what it was read from; none is written over a file that is read."""

    def __init__(self, folder: str, read: Iterable[str | None] = ()) -> None:
        self.folder = Path(folder)
        self._taken: set[str] = set()
        self._read = [name for name in read if name]

    def check(self) -> None:
        """Make the folder, or say before the work that it cannot be."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"--save-text {self.folder}: {error.strerror or error}.") from error
        if not os.access(self.folder, os.W_OK):
            raise click.UsageError(f"--save-text {self.folder} may not be written (permission denied).")

    def keep(self, source: Source, text: str) -> None:
        """Write a text; line ends stay as they are, so that offsets count in it."""
        path = self.folder / self._name(source)
        try:
            with atomic_write(path) as unfinished:
                unfinished.write_bytes(encode_text(text))
        except OSError as error:
            raise click.ClickException(f"{path} cannot be written: {error.strerror or error}") from error

    def _name(self, source: Source) -> str:
        """The file's name with .txt behind it, and a number if it was taken."""
        base = {"-": "stdin", "--text": "text"}.get(source.name, Path(source.name).name)
        names = chain([f"{base}.txt"], (f"{base}-{number}.txt" for number in count(2)))
        name = next(name for name in names if name not in self._taken and not self._is_read(name))
        self._taken.add(name)
        return name

    def _is_read(self, name: str) -> bool:
        path = self.folder / name
        return path.exists() and any(same_file(path, other) for other in self._read)


def silence_stdout() -> None:
    """Let what is still buffered go nowhere, so that Python's own last flush does not fail too."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
