"""A corpus from its files to its output, on one machine or many. Resumable: the same call continues after a kill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, get_type_hints

from mudy._support.callbacks import reported_to
from mudy._support.storage import output_lock
from mudy._support.validation import checked, known_names, seen
from mudy.corpus.checkpoint import Parts, Reached
from mudy.corpus.row_sources import RowSource, source_of
from mudy.corpus.rows import WRITERS, Columns, OutputRow, RowPosition, writer_for
from mudy.corpus.scoring import Recipe, imported_ray, score_rows, score_with_ray
from mudy.corpus.trends import Period
from mudy.corpus.views import Views
from mudy.errors import SettingError, unknown
from mudy.extraction.options import SHARED_OPTION_NAMES, Options
from mudy.extraction.outcomes import portable_arguments

PART_ROWS, PART_SECONDS = 500, 60  # a part is written when it has so many rows, or took so long
REPORT_SECONDS = 1.0  # between two reports of progress
Engine = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Summary:
    """The outcome of a run."""

    output: str
    rows: int
    failed: int  # rows with an error
    resumed: int  # rows of earlier runs
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
    warn: Callable[[str], None] | None = None,
    options: Options | Mapping[str, Any] | None = None,
    summary: str | Path | None = None,
    tfidf: str | Path | None = None,
    graph: str | Path | None = None,
    trends: str | Path | None = None,
    explore: str | Path | None = None,
    time_column: str | None = None,
    period: Period | None = None,
    **extractor: Any,
) -> Summary:
    """Find the keyphrases of all rows of a corpus. Resumable: the same call continues after an interruption.

    `inputs` are files, folders or patterns, or a table that speaks Arrow (pandas, polars, pyarrow, datasets). `output`
    ends in .jsonl, .parquet, .csv or .tsv, or is a folder of parts in the format named by `form`. `options` are those
    of `Extractor.extract`, further arguments those of `Extractor`. `workers` is the number of worker processes on this
    machine; it does not change the rows. `warn` is called with a message if files or dates are not read, and with what
    examples changed.

    Further files are made from the complete output, also of an earlier run: `summary`, the phrases of the whole corpus
    with their numbers of documents; `tfidf`, the rows with scores weighted by how rare phrases are; `graph`, phrases
    that share chunks more often than chance; `trends`, phrases that rise and fall over the periods (year, quarter,
    month, week or day) of the dates in `time_column`; `explore`, a page to search and read all of this.
    """
    settings = {"part_rows": part_rows, "restart": restart, "workers": workers, "engine": engine, "form": form}
    _check_arguments(output, columns, **settings, address=address, actors=actors, report=report, warn=warn)
    checked_options = _checked_options(options)
    if engine == "ray":
        imported_ray()
    path = Path(output)
    parts = Parts(path, writer_for(path, form))
    files = {"summary": summary, "tfidf": tfidf, "graph": graph, "trends": trends, "explore": explore}
    views = Views.of(files, path, parts.form, time_column, period)
    source = source_of(inputs, lambda file: parts.owns(file) or views.owns(file))
    if source.ignored and warn is not None:
        warn(f"{len(source.ignored):,} files of unknown format are not read: {', '.join(source.ignored[:3])}")
    columns.check(source.heads(columns))
    again = columns if time_column is None else _with_time(columns, time_column, source)
    recipe = Recipe.of(extractor, checked_options, warn)
    if workers > 1:
        portable_arguments(recipe.build(), workers)  # raises if it cannot be sent
    start = perf_counter()
    with output_lock(path):
        parts.check()
        inputs_by_index = {str(index): entry for index, entry in enumerate(source.fingerprints())}
        asked = {"input": inputs_by_index, "columns": asdict(columns), "form": parts.form.ending, **recipe.identity()}
        if restart:
            parts.discard()
        if (done := parts.finished(asked)) is not None:
            ended = Summary(str(path), done["rows"], done["failed"], done["rows"], 0.0)
        else:
            before = parts.begin(asked)
            reporter = ProgressReporter(report, source, before.rows, before, start)
            if engine == "ray":
                rows = score_with_ray(source, columns, before.after, recipe, address, actors)
            else:
                rows = score_rows(recipe.build(), recipe.options, source.rows(columns, before.after), workers)
            reached = _write_parts(rows, parts, before, part_rows, reporter)
            source.refuse_changes()
            parts.finish(asked, reached)
            ended = Summary(str(path), reached.rows, reached.failed, before.rows, perf_counter() - start)
        views.write(parts, lambda: source.rows(again, RowPosition(0, 0)), warn)
    return ended


def _check_arguments(output: Any, columns: Any, form: Any, workers: Any, engine: Any, **others: Any) -> None:
    """SettingError for an argument of `run` of the wrong type or size."""
    if not isinstance(output, str | Path) or not str(output):
        raise SettingError(f"output is {seen(output)}, but must be the path of a file or folder.")
    if checked("form", form, str | None) is not None and form not in WRITERS:
        raise SettingError(unknown("form", form, WRITERS))
    if not isinstance(columns, Columns):
        raise SettingError(f"columns is {seen(columns)}, but must be corpus.Columns(text=..., id=..., keep=...).")
    for name, kind in get_type_hints(Columns).items():
        checked(f"columns.{name}", getattr(columns, name), kind)
    if checked("workers", workers, int, least=1) > 1 and engine == "ray":
        raise SettingError("workers are processes on this machine; with engine='ray', set the number of actors.")
    checked("engine", engine, Engine)
    checked("part_rows", others["part_rows"], int, least=1)
    checked("actors", others["actors"], int | None, least=1)
    kinds = {"restart": bool, "address": str | None, "report": Callable | None, "warn": Callable | None}
    for name, kind in kinds.items():
        checked(name, others[name], kind)


def _with_time(columns: Columns, time_column: str, source: RowSource) -> Columns:
    """The columns by which dates are read; SettingError where there are none."""
    again = replace(columns, keep=(time_column,))
    heads = list(source.heads(again))
    if not heads:
        raise SettingError("--time-column names a column of a table, but all inputs are documents without columns.")
    again.check(heads, "--time-column")
    return again


def _checked_options(options: Any) -> Options:
    """The options of a run, checked once for all rows."""
    if isinstance(options, Options):
        return options
    if options is not None and not isinstance(options, Mapping):
        raise SettingError(f"options is {seen(options)}, but must be a dict of options of Extractor.extract.")
    allowed = [name for name in SHARED_OPTION_NAMES if name != "per_section"]  # rows have no sections
    known_names("option", map(str, options or ()), allowed)
    return Options(**(options or {}))


def _write_parts(rows: Any, parts: Parts, reached: Reached, part_rows: int, reporter: ProgressReporter) -> Reached:
    """Write a part whenever there are enough rows or enough time has passed; return how far the run has come."""
    part: list[OutputRow] = []
    start = perf_counter()
    with reported_to(reporter.within), closing(rows):
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


@dataclass
class ProgressReporter:
    """Reports how far a run is: after each part, every second in between, and within long texts."""

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
        return self.report is not None and perf_counter() - self.last > REPORT_SECONDS

    def report_now(self, share: float | None = None) -> None:
        self.last = perf_counter()
        if self.report is not None:
            rows, failed, passed = self.reached.rows, self.reached.failed, self.last - self.start
            self.report(Progress(rows, rows - self.resumed, failed, passed, self.share if share is None else share))

    def within(self, share: float) -> None:
        """Report that a share is computed of the texts that were read, but are not done."""
        if self.due():
            read = max(self.share, self.source.share(self.reached.after))
            self.report_now(self.share + share * (read - self.share))
