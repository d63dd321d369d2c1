"""Results -> table, JSON, JSON lines or CSV; and where they are written."""

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import click

from mudy._support.storage import atomic_write, dump_json, same_file
from mudy.cli.sources import STDIN, Source
from mudy.extraction.results import Keyphrase, Result, keyphrase_row

if TYPE_CHECKING:
    from rich.console import Console

OUTPUT_FORMATS = ("table", "json", "jsonl", "csv")
CSV_COLUMNS = ("source", "rank", "text", "score", "variants", "start", "end", "page", "occurrences")
CONCEPT_COLUMNS = ("concept_id", "concept_label", "concept_match", "concept_similarity")


# -- Formats ----------------------------------------------------------------------------------------------------------


class ResultFormat:
    """Results as text, in one of OUTPUT_FORMATS; JSON is written at the end, so that it is whole or absent.

    `several`: more than one result may come. `terminal`: a person looks on. `concepts`: CSV has columns for them.
    """

    def __init__(self, name: str, several: bool, terminal: bool, concepts: bool = False) -> None:
        self._several, self._terminal, self._begun = several, terminal, False
        self._columns = CSV_COLUMNS + CONCEPT_COLUMNS if concepts else CSV_COLUMNS
        self._results: list[Any] = []  # for JSON
        self._form = {"table": self._table, "json": self._json, "jsonl": self._json_line, "csv": self._csv}[name]

    def one(self, result: Result) -> str:
        written = self._form(result)
        self._begun = True
        return written

    def end(self) -> str:
        if not self._results:
            return ""
        return dump_json(self._results if self._several else self._results[0], indent=2) + "\n"

    def _json_line(self, result: Result) -> str:
        return dump_json(result.to_dict()) + "\n"

    def _json(self, result: Result) -> str:
        self._json_line(result)  # what cannot be written fails here, alone
        self._results.append(result.to_dict())
        return ""

    def _csv(self, result: Result) -> str:
        """One row per keyphrase, at its best occurrence."""
        lines = io.StringIO()
        rows = csv.DictWriter(lines, self._columns, extrasaction="ignore", lineterminator="\n")
        if not self._begun:
            rows.writeheader()
        for keyphrase in result.keyphrases:
            variants = ";".join(keyphrase.variants)
            rows.writerow({"source": result.source, **keyphrase_row(keyphrase), "variants": variants})
        return lines.getvalue()

    def _table(self, result: Result) -> str:
        phrases = result.keyphrases
        columns = {
            "#": [str(phrase.rank) for phrase in phrases],
            "Keyphrase": [phrase.text for phrase in phrases],
            "Score": [f"{phrase.score:.4f}" for phrase in phrases],
            "Count": [str(len(phrase.occurrences)) for phrase in phrases],
            "Also as": ["; ".join(phrase.variants) for phrase in phrases],
            "Concept": [_concept(phrase) for phrase in phrases],
        }
        filled = {name: cells for name, cells in columns.items() if any(cells)}
        parts = ["\n"] if self._begun else []
        if self._several:
            parts.append(f"{printable(result.source or '')}\n")
        table = text_table([*filled], zip(*filled.values(), strict=True), {"#", "Score", "Count"}, self._terminal)
        parts.append(table if phrases else "No keyphrases.\n")
        if not result.coverage.complete:
            parts.append(f"{result.coverage}.\n")
        if len(result.sections) > 1:
            rows = [
                (section.heading or f"Part {number}", "; ".join(phrase.text for phrase in section.keyphrases))
                for number, section in enumerate(result.sections, start=1)
            ]
            parts.append("\n" + text_table(["Section", "Keyphrases"], rows, set(), self._terminal))
        return "".join(parts)


def _concept(keyphrase: Keyphrase) -> str:
    """A concept for people: its label and id; a near one, or one that does not occur in the text, says so."""
    concept = keyphrase.concept
    if concept is None:
        return ""
    name = concept.label if concept.id == concept.label else f"{concept.label} ({concept.id})"
    if keyphrase.source == "history":
        return f"history: {name}"
    return name if concept.similarity is None else f"near {name}, {concept.similarity:.2f}"


def printable(text: str) -> str:
    """The text without characters that would act on a terminal instead of showing on it."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: set[str], drawn: bool | None = None) -> str:
    """Rows under a head: drawn for a terminal, else plain, aligned and never cut. `right`: columns set to the right."""
    safe = [[printable(cell) for cell in row] for row in rows]
    drawn = sys.stdout.isatty() if drawn is None else drawn
    return _drawn(head, safe, right) if drawn else _aligned(head, safe, right)


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]], right: set[str]) -> str:
    from rich.cells import cell_len  # Chinese characters are two columns wide

    widths = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        padding = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [p + c if name in right else c + p for name, c, p in zip(head, row, padding, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _drawn(head: Sequence[str], rows: Sequence[Sequence[str]], right: set[str]) -> str:
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


def captured(console: "Console", drawing: Any) -> str:
    with console.capture() as capture:
        console.print(drawing)
    return capture.get()


# -- Where they are written -------------------------------------------------------------------------------------------


class Output:
    """Standard output, or a file that is written when the `with` block ends without an error: whole, or not at all.

    `streaming` writes to the file itself as data comes, and opens it when the first is there.
    """

    def __init__(self, path: str | None, streaming: bool = False, option: str = "--output") -> None:
        self.path = Path(path).resolve() if path is not None else None
        self._option = option  # that named it
        special = self.path is not None and self.path.exists() and not self.path.is_file()  # a pipe, /dev/null
        self._direct = self.path is None or streaming or special
        self._stream: IO[bytes] | None = None
        self._content: list[bytes] = []  # of a file that is written at the end

    @property
    def terminal(self) -> bool:
        return self.path is None and sys.stdout is not None and sys.stdout.isatty()

    def check(self, inputs: Iterable[str | None]) -> None:
        """Say before the work, not after it, that the file cannot be written, or is one of the inputs."""
        if self.path is None:
            if sys.stdout is None:
                raise click.UsageError(f"Standard output is closed; use {self._option} FILE.")
            return
        if self.path.is_dir():
            raise click.UsageError(f"{self._option} {self.path} is a directory; a file is needed.")
        if not self.path.parent.is_dir():
            raise click.UsageError(f"{self._option} {self.path}: the folder {self.path.parent} does not exist.")
        place = self.path if self._direct and self.path.exists() else self.path.parent
        if not os.access(place, os.W_OK):
            raise click.UsageError(f"{self._option} {self.path}: {place} may not be written (permission denied).")
        same = [name for name in inputs if name and self.path.is_file() and _is_input(name, self.path)]
        if same:
            raise click.UsageError(f"{self._option} {self.path} is also an input ({same[0]}) and would be overwritten.")

    def write(self, data: str) -> None:
        if not data:
            return
        if not self._direct:
            self._content.append(data.encode(errors="replace"))
            return
        with _writing(self.path):
            if self._stream is None:
                self._stream = sys.stdout.buffer if self.path is None else self.path.open("wb")
            self._stream.write(data.encode(errors="replace"))
            self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self.path is not None and self._stream is not None:
            with suppress(OSError) if error else _writing(self.path):
                self._stream.close()
        if self.path is not None and self._content and not error:
            with _writing(self.path), atomic_write(self.path) as unfinished:
                unfinished.write_bytes(b"".join(self._content))


@contextmanager
def _writing(path: Path | None) -> Iterator[None]:
    """Report an error of writing to a file, or to standard output, in words; a broken pipe ends the command."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if path is None:
            silence_stdout()
        name = path or "standard output"
        raise click.ClickException(f"{name} cannot be written: {error.strerror or error}") from error


def _is_input(name: str, output: Path) -> bool:
    """Whether a file that is read is the output, through whatever links."""
    if name != STDIN:
        return same_file(name, output)
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), output.stat())
    except (OSError, ValueError, AttributeError):  # it is closed, or no file at all
        return False


class Texts:
    """A folder of texts, each under the name of what it was read from; none is written over a file that is read.

    The folder is made at once, so that one that cannot be made is reported before the work.
    """

    def __init__(self, folder: str, read: Iterable[str | None] = ()) -> None:
        self.folder = Path(folder)
        self._taken: set[str] = set()
        self._read = [name for name in read if name]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"--save-text {self.folder}: {error.strerror or error}.") from error
        if not os.access(self.folder, os.W_OK):
            raise click.UsageError(f"--save-text {self.folder} may not be written (permission denied).")

    def keep(self, source: Source, text: str) -> None:
        """Write a text; line ends stay as they are, so that offsets count in it."""
        base = {"-": "stdin", "--text": "text"}.get(source.name, Path(source.name).name)
        names = chain([f"{base}.txt"], (f"{base}-{number}.txt" for number in count(2)))
        name = next(name for name in names if name.casefold() not in self._taken and not self._is_read(name))
        self._taken.add(name.casefold())  # Windows and macOS take A.txt for a.txt
        with _writing(self.folder / name), atomic_write(self.folder / name) as unfinished:
            unfinished.write_bytes(text.encode(errors="replace"))

    def _is_read(self, name: str) -> bool:
        path = self.folder / name
        return path.exists() and any(same_file(path, other) for other in self._read)


def silence_stdout() -> None:
    """Let what is still buffered go nowhere, so that Python's own last flush does not fail too."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
