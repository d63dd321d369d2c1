"""The command line: options in, data to standard output or a file, messages to standard error. It scores nothing.

Exit codes: 0 good, 1 some inputs failed or a model is unavailable, 2 wrong usage, 130 interrupted, 141 the reader of
our output went away.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

import click

from mudy import __version__
from mudy._support.callbacks import reported_to
from mudy._support.storage import atomic_write, same_file
from mudy._support.this_process import own_process
from mudy._support.validation import SHORT
from mudy.cli.parameters import STDIN
from mudy.errors import MudyError, SettingError, unknown
from mudy.extraction.extractor import Extractor
from mudy.extraction.outcomes import error_message

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

INTERRUPTED, BROKEN_PIPE = 130, 141
_SECONDS_BETWEEN_LINES = 10
_NAMED = 5  # inputs or phrases named in a warning
_interrupted = False  # a library may turn the interrupt of its import into an error of its own


def debugging() -> bool:
    return os.environ.get("MUDY_DEBUG", "0") not in ("", "0")


def first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def first_phrases(phrases: Iterable[str]) -> str:
    """The first few of many phrases, in quotes, long ones shortened."""
    return first_names([SHORT.repr(phrase) for phrase in phrases])


class Screen(AbstractContextManager["Screen"]):
    """Messages, and on a terminal a line that moves while work goes on.

    `quiet` leaves errors, and the licence of a model at its first pull. With `lines`, progress is written where there
    is no terminal too: a line every ten seconds, for logs.
    """

    def __init__(self, quiet: bool = False, *, lines: bool = False) -> None:
        self._quiet = quiet
        self._moving = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._lines = lines and not quiet and not self._moving
        self._last_line = monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._step: str | None = None
        self._named: set[str] = set()

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def error(self, message: str) -> None:
        with self.paused():
            click.echo(f"mudy: {printable(message)}", err=True)

    def warning(self, message: str) -> None:
        if not self._quiet:
            self.error(message)

    def report(self, step: str, done: int, total: int | None) -> None:
        """The `Report` of a pull: it counts bytes, and the step that names a licence stays readable afterwards."""
        if "licence:" in step and step not in self._named:
            self._named.add(step)
            self.error(step)
        amount = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB" if total else ""
        if total and total < 1e6:  # not bytes
            amount = f"{done:,} of {total:,}"
        self.show(step.split(" (licence:")[0], done, total, amount=amount)

    def show(self, step: str, done: int = 0, total: int | None = None, *, amount: str = "", detail: str = "") -> None:
        if self._lines and amount and monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = monotonic()
            self.warning(f"{step}: {amount}")
        if not self._moving:
            return
        if self._progress is None:
            self._progress = _progress()
            self._progress.start()
        if step != self._step:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._step, self._task = step, self._progress.add_task(step, total=total, amount="", detail="")
        assert self._task is not None
        self._progress.update(self._task, completed=done, total=total, amount=amount, detail=printable(detail))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the moving line off the terminal while something else is written to it."""
        progress = self._progress
        if progress is not None:
            progress.stop()
        yield
        if progress is not None:
            progress.start()


def made_extractor(screen: Screen, **arguments: Any) -> Extractor:
    """An extractor, with progress; says what examples changed, and which texts of a history cannot be read."""

    def show(share: float) -> None:
        screen.show("Reading the examples", round(1000 * share), 1000, amount=f"{share:.0%}")

    with reported_to(show):
        extractor = Extractor(**arguments, report=screen.report)
    if extractor.adaptation is not None:
        screen.warning(str(extractor.adaptation))
    for note in extractor.history.notes if extractor.history is not None else ():
        screen.warning(f"history: {note}")
    return extractor


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=30)]
    columns += [TextColumn("{task.fields[amount]}", markup=False), TimeRemainingColumn()]
    columns += [TextColumn("{task.fields[detail]}", markup=False)]
    # Standard output is never redirected: it may be a file or a pipe while this line moves.
    return Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )


def printable(text: str) -> str:
    """The text without characters that would act on a terminal instead of showing on it."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: set[str], drawn: bool | None = None) -> str:
    """Rows under a head: drawn for a terminal, else plain, aligned and never cut. `right`: columns set to the right."""
    safe = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty() if drawn is None else drawn:
        return _drawn(head, safe, right)
    from rich.cells import cell_len  # Chinese characters are two columns wide

    widths = [max(map(cell_len, column)) for column in zip(head, *safe, strict=True)]
    lines = []
    for row in (head, *safe):
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


def captured(console: Console, drawing: Any) -> str:
    with console.capture() as capture:
        console.print(drawing)
    return capture.get()


class Output(AbstractContextManager["Output"]):
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
        with writing(self.path):
            if self._stream is None:
                self._stream = sys.stdout.buffer if self.path is None else self.path.open("wb")
            self._stream.write(data.encode(errors="replace"))
            self._stream.flush()

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self.path is not None and self._stream is not None:
            with suppress(OSError) if error else writing(self.path):
                self._stream.close()
        if self.path is not None and self._content and not error:
            with writing(self.path), atomic_write(self.path) as unfinished:
                unfinished.write_bytes(b"".join(self._content))


@contextmanager
def writing(path: Path | None) -> Iterator[None]:
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


def silence_stdout() -> None:
    """Let what is still buffered go nowhere, so that Python's own last flush does not fail too."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Handle SIGINT as Python does, and remember it."""
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def run_cli() -> None:
    if not debugging():
        warnings.simplefilter("ignore")  # of libraries, for their authors
    own_process()
    if isinstance(sys.stdout, TextIOWrapper):  # a file or pipe on Windows has a code page, which few characters fit
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # as `Output` writes
    cli.main(prog_name="mudy")


class Commands(click.Group):
    """Commands whose every failure becomes one line on standard error and an exit code."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]  # the others by name
        standalone = extra.pop("standalone_mode", True)
        try:
            code: Any = super().main(args, prog_name, standalone_mode=False, **extra)
        except Exception as error:
            if not standalone:
                raise
            code = INTERRUPTED if _interrupted or isinstance(error, click.Abort) else _explain(error)
        return sys.exit(code) if standalone else code

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if not args[0].startswith("-") and args[0] not in self.commands:
            file = f" To read a file: mudy extract {args[0]}" if os.path.exists(args[0]) else ""  # noqa: PTH110 (raises nothing)
            raise click.UsageError(unknown("command", args[0], self.commands) + file, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            silence_stdout()
            ctx.exit(BROKEN_PIPE)


def _explain(error: Exception) -> int:
    if debugging():
        traceback.print_exception(error)
    hint = ""
    if isinstance(error, click.ClickException):
        message, code = error.format_message(), error.exit_code
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f"\nTry '{error.ctx.command_path} --help' for help."
    elif isinstance(error, MudyError):
        message, code = str(error), 2 if isinstance(error, SettingError) else 1
    else:
        message, code = error_message(error), 1
        hint = "" if debugging() else "\nSet MUDY_DEBUG=1 to see where it came from."
    with suppress(OSError):
        click.echo(f"mudy: {printable(message)}{hint}", err=True)
    return code


_EXAMPLES = """
\b
Examples:
  mudy extract report.txt
  mudy extract "docs/**/*.txt" --format jsonl --output keyphrases.jsonl
  curl -s https://example.org/a.txt | mudy extract --format json | jq '.keyphrases[].text'
  mudy extract --text "Deep learning has changed computer vision." --top-n 3
  mudy explain report.txt --methods promptrank,mudy --html report.html
  mudy models pull smollm2-135m
"""


@click.group(
    cls=Commands,
    invoke_without_command=True,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, "-V", "--version", prog_name="mudy", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Extract keyphrases from any text with a pre-trained language model, without training data."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
