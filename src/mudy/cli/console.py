"""What a person sees while waiting. All of it goes to standard error: standard output holds data alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import click

from mudy._support.callbacks import reported_to
from mudy._support.validation import SHORT
from mudy.cli.formats import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from mudy.extraction.extractor import Extractor


_SECONDS_BETWEEN_LINES = 10
_NAMED = 5  # inputs or phrases named in a warning


def debugging() -> bool:
    return os.environ.get("MUDY_DEBUG", "0") not in ("", "0")


def first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def first_phrases(phrases: Iterable[str]) -> str:
    """The first few of many phrases, in quotes, long ones shortened."""
    return first_names([SHORT.repr(phrase) for phrase in phrases])


class Screen:
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

    def __enter__(self) -> Self:
        return self

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
        if self._progress is None:
            yield
            return
        self._progress.stop()
        yield
        self._progress.start()


def made_extractor(screen: Screen, **arguments: Any) -> Extractor:
    """An extractor, with progress; says what examples changed, and which texts of a history cannot be read."""
    from mudy.extraction.extractor import Extractor

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
