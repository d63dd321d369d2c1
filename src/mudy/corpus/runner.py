"""A corpus from its files to its output, on one machine or many. Resumable: the same call continues after a kill."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from mudy._support.progress import reported_to
from mudy._support.storage import output_lock
from mudy.corpus.checkpoint import Parts, Reached
from mudy.corpus.columns import Columns
from mudy.corpus.row import OutputRow, RowPosition
from mudy.corpus.row_sources import RowSource, source_of
from mudy.corpus.row_writers import RowWriter, writer_for
from mudy.corpus.run_arguments import check_run
from mudy.corpus.scoring import Recipe, RowScorer
from mudy.corpus.views import Views
from mudy.errors import InputError

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
    workers: int = 1,
    engine: Engine = "local",
    address: str | None = None,
    actors: int | None = None,
    report: Callable[[Progress], None] | None = None,
    options: Mapping[str, Any] | None = None,
    summary: str | Path | None = None,
    tfidf: str | Path | None = None,
    **extractor: Any,
) -> Summary:
    """Find the keyphrases of all rows of a corpus. Resumable: the same call continues after an interruption.

    `inputs` are files, folders or patterns, or a table that speaks Arrow (pandas, polars, pyarrow, datasets). `output`
    ends in .jsonl, .parquet, .csv or .tsv, or is a folder of parts in the form named. `options` are those of
    `Extractor.extract`, further arguments those of `Extractor`. `workers` is the number of processes that compute on
    this machine; it changes no row.

    `summary` is a file for the phrases of the whole corpus, each with the number of its documents; `tfidf` one for the
    rows with scores weighed by that. Both are made of the finished output, also of a run that was done before.
    """
    machinery = {"workers": workers, "engine": engine, "address": address, "actors": actors, "report": report}
    check_run(output, columns, form, options, part_rows=part_rows, restart=restart, **machinery)
    if engine == "ray":
        from mudy.corpus import ray_engine

        ray_engine.imported_ray()
    path = Path(output)
    parts = Parts(path, writer_for(path, form))
    views = Views.of(summary, tfidf, path, parts.form)
    source = source_of(inputs, lambda file: parts.owns(file) or views.owns(file))
    columns.check(source.heads(columns))
    recipe = Recipe(extractor, {"top_n": 10, **(options or {})})
    if workers > 1:
        recipe.check_portable(workers)
    start = perf_counter()
    with output_lock(path):
        parts.check()
        prints = source.fingerprint(parts.known())
        asked = run_identity(prints, columns, parts.form, recipe)
        if restart:
            parts.forget()
        if (before := parts.finished(asked)) is not None:
            views.write(parts.written(), parts.form)
            return Summary(str(path), before["rows"], before["failed"], before["rows"], 0.0)
        reached = parts.begin(asked, prints)
        reporter = ProgressReporter(report, source, reached.rows, reached, start)
        with reported_to(reporter.within):
            rows = _output_rows(source, columns, reached.after, recipe, engine, address, actors, workers)
            with closing(rows):
                reached = _write_parts(rows, parts, reached, part_rows, reporter)
        _check_unchanged(source)
        parts.finish(asked, prints, reached)
        views.write(parts.written(), parts.form)
    return Summary(str(path), reached.rows, reached.failed, reporter.resumed, perf_counter() - start)


def _check_unchanged(source: RowSource) -> None:
    if (changed := source.changed()) is not None:
        raise InputError(
            f"{changed} changed while it was read, so old and new rows may be mixed. Pass --restart to begin anew."
        )


def _write_parts(
    rows: Iterator[OutputRow], parts: Parts, reached: Reached, part_rows: int, reporter: ProgressReporter
) -> Reached:
    """Write rows as parts of so many rows, or of what took so long; how far the run is then."""
    part: list[OutputRow] = []
    start = perf_counter()
    for row in rows:
        part.append(row)
        reporter.add(row)
        if len(part) >= part_rows or perf_counter() - start > PART_SECONDS:
            reached, part, start = parts.add(part, reached), [], perf_counter()
            reporter.report_now()
        elif reporter.due():
            reporter.report_now()
    if part:
        reached = parts.add(part, reached)
        reporter.report_now()
    return reached


def run_identity(
    inputs: Iterable[Mapping[str, Any]], columns: Columns, writer: RowWriter, recipe: Recipe
) -> dict[str, Any]:
    """What decides the output, in JSON's types: inputs, columns, format and recipe."""
    plain = [{name: value for name, value in entry.items() if name != "stamp"} for entry in inputs]
    return {
        "input": {str(index): entry for index, entry in enumerate(plain)},
        "columns": asdict(columns),
        "form": writer.ending,
        **recipe.identity(),
    }


@dataclass
class ProgressReporter:
    """Reports how far a run is: after each part, each second between them, and within texts that take longer."""

    report: Callable[[Progress], None] | None
    source: RowSource
    resumed: int
    reached: Reached
    start: float
    share: float = 0.0  # of the input, when the last row was done
    last: float = 0.0

    def add(self, row: OutputRow) -> None:
        self.reached = self.reached.after_rows([row])
        self.share = self.source.share(self.reached.after)

    def due(self) -> bool:
        return self.report is not None and perf_counter() - self.last > TOLD_SECONDS

    def report_now(self, share: float | None = None) -> None:
        self.last = perf_counter()
        if self.report is not None:
            rows, failed, passed = self.reached.rows, self.reached.failed, self.last - self.start
            self.report(Progress(rows, rows - self.resumed, failed, passed, self.share if share is None else share))

    def within(self, share: float) -> None:
        """A share of the texts that were read, but are not done, is computed."""
        if self.due():
            read = max(self.share, self.source.share(self.reached.after))
            self.report_now(self.share + share * (read - self.share))


def _output_rows(
    source: RowSource,
    columns: Columns,
    after: RowPosition,
    recipe: Recipe,
    engine: Engine,
    address: str | None,
    actors: int | None,
    workers: int,
) -> Generator[OutputRow, None, None]:
    """The rows of the output from a place on, in the order of the input."""
    if engine == "ray":
        from mudy.corpus import ray_engine

        yield from ray_engine.score_with_ray(source, columns, after, recipe, address, actors)
    else:
        yield from RowScorer(recipe, workers).score(source.rows(columns, after))
