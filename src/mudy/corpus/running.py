"""A corpus from its files to its output, by one machine or by many, to be gone on with after any end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from mudy.corpus.forms import form_of
from mudy.corpus.inputs import Columns
from mudy.corpus.parts import Parts, Reached
from mudy.corpus.rows import Done, Place
from mudy.corpus.scoring import Recipe, scored
from mudy.corpus.sources import Source, source_of
from mudy.errors import SettingError
from mudy.resuming import locked

PART_ROWS, PART_SECONDS = 500, 60  # a part is written when it has so many rows, or took so long
TOLD_SECONDS = 1.0
Engine = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of a run."""

    output: str
    rows: int
    failed: int  # rows with an error
    resumed: int  # rows that an earlier run had done
    seconds: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    rows: int  # of all runs
    new: int  # of this run
    failed: int
    seconds: float
    share: float  # of the input, by its files' bytes


def run(
    inputs: Any,
    output: str | Path,
    *,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    form: str | None = None,
    part_rows: int = PART_ROWS,
    restart: bool = False,
    engine: Engine = "local",
    address: str | None = None,
    actors: int | None = None,
    report: Callable[[Progress], None] | None = None,
    options: Mapping[str, Any] | None = None,
    **extractor: Any,
) -> Summary:
    """Find the keyphrases of all rows of a corpus; the same call again goes on where a killed one ended.

    `inputs` are files, folders or patterns, or a table that speaks Arrow (pandas, polars, pyarrow, datasets). `output`
    ends in .jsonl or .parquet, or is a folder of parts in the form named. `options` are those of `Extractor.extract`,
    further arguments those of `Extractor`.
    """
    if part_rows < 1:
        raise SettingError(f"part_rows is {part_rows}, but must be at least 1.")
    path = Path(output)
    parts = Parts(path, form_of(path, form))
    source = source_of(inputs)
    recipe = Recipe(extractor, {"top_n": 10, **(options or {})})
    asked = {
        "input": {str(index): entry for index, entry in enumerate(source.fingerprint())},
        "columns": asdict(columns),
        **recipe.identity(),
    }
    start = perf_counter()
    with locked(path):
        if restart:
            parts.forget()
        if (before := parts.finished(asked)) is not None:
            return Summary(str(path), before["rows"], before["failed"], before["rows"], 0.0)
        reached = parts.begin(asked)
        resumed = reached.rows
        tell = Telling(report, source, resumed, start)
        part: list[Done] = []
        begun = perf_counter()
        for row in _done(source, columns, reached.after, recipe, engine, address, actors):
            part.append(row)
            if len(part) >= part_rows or perf_counter() - begun > PART_SECONDS:
                reached, part, begun = parts.add(part, reached), [], perf_counter()
                tell.now(reached)
            elif tell.due():
                tell.now(reached.after_rows(part))
        if part:
            reached = parts.add(part, reached)
            tell.now(reached)
        parts.finish(asked, reached)
    return Summary(str(path), reached.rows, reached.failed, resumed, perf_counter() - start)


@dataclass
class Telling:
    """Says how far a run is, after each part, and each second between them."""

    report: Callable[[Progress], None] | None
    source: Source
    resumed: int
    start: float
    last: float = 0.0

    def due(self) -> bool:
        return self.report is not None and perf_counter() - self.last > TOLD_SECONDS

    def now(self, reached: Reached) -> None:
        self.last = perf_counter()
        if self.report is not None:
            share, passed = self.source.share(reached.after), self.last - self.start
            self.report(Progress(reached.rows, reached.rows - self.resumed, reached.failed, passed, share))


def _done(
    source: Source,
    columns: Columns,
    after: Place,
    recipe: Recipe,
    engine: Engine,
    address: str | None,
    actors: int | None,
) -> Iterator[Done]:
    """The rows of the output from a place on, in the order of the input."""
    if engine == "ray":
        from mudy.corpus import rayed

        return rayed.scored(source, columns, after, recipe, address, actors)
    return scored(source.rows(columns, after), recipe.made(), recipe.options)
