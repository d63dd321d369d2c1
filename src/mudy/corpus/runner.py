"""A corpus from its files to its output, on one machine or many. Resumable: the same call continues after a kill."""

import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Self, get_type_hints

from mudy._support import __version__
from mudy._support.callbacks import reported_to
from mudy._support.extras import from_extra
from mudy._support.storage import output_lock
from mudy._support.validation import checked, known_names, seen
from mudy.corpus.checkpoint import Parts, Reached
from mudy.corpus.row_sources import File, Files, RowSource, source_of
from mudy.corpus.rows import WRITERS, Columns, InputRow, OutputRow, RowPosition, writer_for
from mudy.corpus.trends import Period
from mudy.corpus.views import Views
from mudy.errors import InputError, ModelError, SettingError, unknown
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import SHARED_OPTION_NAMES, Options
from mudy.extraction.outcomes import BATCH_TEXTS, FATAL, Item, outcomes, portable_arguments
from mudy.extraction.run_identity import json_values, model_fingerprints, requested_settings

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
    if isinstance(options, Options):
        return options
    if options is not None and not isinstance(options, Mapping):
        raise SettingError(f"options is {seen(options)}, but must be a dict of options of Extractor.extract.")
    allowed = [name for name in SHARED_OPTION_NAMES if name != "per_section"]  # rows have no sections
    known_names("option", map(str, options or ()), allowed)
    return Options(**(options or {}))


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


_ENDS_THE_RUN: tuple[type[Exception], ...] = (*FATAL, ModelError)  # no row's fault, and no row would fare better


@dataclass(frozen=True, slots=True)
class Recipe:
    """Arguments of an extractor, and options of its extractions: sent to the processes that compute."""

    extractor: Mapping[str, Any]
    options: Options

    @classmethod
    def of(cls, arguments: Mapping[str, Any], options: Options, warn: Callable[[str], None] | None) -> Self:
        """With the weights that examples give, if there are any: every process uses the same."""
        if arguments.get("examples") is None:
            return cls(arguments, options)
        extractor = Extractor(**arguments)
        if warn is not None:
            warn(str(extractor.adaptation))
        return cls(extractor.arguments(), options)

    def build(self) -> Extractor:
        return Extractor(**self.extractor)

    def identity(self) -> dict[str, Any]:
        """What decides the results: settings, options, models and version."""
        extractor = self.build()
        return {
            "extractor": requested_settings(extractor),
            "options": json_values(self.options.shared()),
            "models": model_fingerprints(extractor, with_encoder=self.options.near is not None),
            "version": __version__,
        }


def score_rows(
    extractor: Extractor, options: Options, rows: Iterable[InputRow], workers: int = 1
) -> Iterator[OutputRow]:
    """Every row with its keyphrases or its error, computed in this process or several."""

    def item(row: InputRow) -> Item[InputRow]:
        if row.problem is not None:
            return Item(row, InputError(row.problem))
        return Item(row, row.text, options.changed({"source": row.id, "pages": row.pages, "blocks": row.blocks}))

    with closing(outcomes(extractor, map(item, rows), workers=workers, fatal=_ENDS_THE_RUN)) as computed:
        for outcome in computed:
            yield OutputRow.of(outcome.key, outcome.result, outcome.seconds)


# -- On a cluster -----------------------------------------------------------------------------------------------------

# Files are read where there is room, and each actor loads the models once. Streaming, back-pressure and retries of what
# a lost node was doing are left to Ray Data. A row travels as bytes, since rows of one corpus need not have one shape.

Batch = Mapping[str, Any]
_BLOCK_BYTES = 1 << 15  # bytes of rows that travel together: one file must keep many actors busy
_READER_CPUS = 0.5  # of a CPU: other than what scoring asks for, else Ray would put both into one actor


def score_with_ray(
    source: RowSource, columns: Columns, after: RowPosition, recipe: Recipe, address: str | None, actors: int | None
) -> Iterator[OutputRow]:
    """The rows of the output from a place on, in the order of the input, computed by a cluster."""
    if not isinstance(source, Files):
        raise SettingError("With engine='ray' a corpus is files, which every node can read; write the table to one.")
    ray = imported_ray()
    begun = _connect(ray, address)
    try:
        with _in_order(ray.data.DataContext.get_current()):
            for batch in _plan(ray, source, columns, after, recipe, actors).iter_batches(batch_size=None):
                yield from map(pickle.loads, batch.get("row", ()))
    finally:
        if begun:
            ray.shutdown()


@contextmanager
def _in_order(context: Any) -> Iterator[None]:
    """Ray Data as we need it; how it was set before is put back."""
    before = context.execution_options.preserve_order, context.enable_progress_bars, context.target_max_block_size
    context.execution_options.preserve_order, context.enable_progress_bars = True, False
    context.target_max_block_size = _BLOCK_BYTES
    try:
        yield
    finally:
        context.execution_options.preserve_order, context.enable_progress_bars, context.target_max_block_size = before


def _plan(ray: Any, source: Files, columns: Columns, after: RowPosition, recipe: Recipe, actors: int | None) -> Any:
    """Files are read, then scored by actors: `actors` of them, or as many as there is work and room for."""
    work = [{"file": i, "skip": after.row if i == after.file else 0} for i in range(after.file, len(source.names))]
    rows = ray.data.from_items(work, override_num_blocks=len(work)).map_batches(
        _read, fn_args=(source.names, columns), batch_size=1, num_cpus=_READER_CPUS
    )
    resources = ray.cluster_resources()
    gpus = 0 if recipe.extractor.get("device") == "cpu" else int(resources.get("GPU", 0))
    most = gpus or max(1, int(resources.get("CPU", 2)) - 1)  # but for one CPU, else nothing would ever be read
    pool = ray.data.ActorPoolStrategy(**{"size": actors} if actors else {"min_size": 1, "max_size": most})
    needs = {"num_gpus": 1} if gpus else {"num_cpus": 1}
    return rows.map_batches(_Actor, fn_constructor_args=(recipe,), batch_size=BATCH_TEXTS, compute=pool, **needs)


def imported_ray() -> Any:
    """The package; MissingExtra where it is not installed."""
    with from_extra("ray", 'engine="ray"'):
        import ray
        import ray.data
        import ray.job_config
    return ray


def _connect(ray: Any, address: str | None) -> bool:
    """Join a cluster, or start one on this machine; whether that was us."""
    if ray.is_initialized():
        return False
    for name in ("ray", "ray.data"):  # whose warnings are about progress bars and tokens of a cluster of our own
        logging.getLogger(name).setLevel(logging.ERROR)
    room = {} if address else {"num_cpus": (os.cpu_count() or 1) + 1}  # one more by name, for those who read
    job = ray.job_config.JobConfig()
    job._py_driver_sys_path = _Places()
    ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, job_config=job, **room)
    return True


class _Places(list[str]):
    """Where workers look for modules: not in the current folder, which Ray would add, unless this process does."""

    def extend(self, places: Iterable[str]) -> None:
        known = {os.path.abspath(place) for place in sys.path}  # noqa: PTH100 ("" is the current folder)
        super().extend(place for place in places if place in known)


def _read(batch: Batch, names: Sequence[str], columns: Columns) -> Iterator[dict[str, list[bytes]]]:
    """Files as batches of rows."""
    for file, skip in zip(batch["file"], batch["skip"], strict=True):
        rows = map(pickle.dumps, File(names[file]).rows(int(file), columns, int(skip)))
        while block := list(islice(rows, BATCH_TEXTS)):
            yield {"row": block}


class _Actor:
    def __init__(self, recipe: Recipe) -> None:
        self.extractor, self.options = recipe.build(), recipe.options

    def __call__(self, batch: Batch) -> dict[str, list[bytes]]:
        rows = map(pickle.loads, batch["row"])
        return {"row": [pickle.dumps(row) for row in score_rows(self.extractor, self.options, rows)]}
