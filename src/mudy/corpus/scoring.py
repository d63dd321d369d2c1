"""Input rows -> output rows, in their order, on this machine or on a Ray cluster; a failure stays with its row."""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mudy._support import __version__
from mudy._support.extras import from_extra
from mudy.corpus.row_sources import File, Files, RowSource
from mudy.corpus.rows import Columns, InputRow, OutputRow, RowPosition
from mudy.errors import InputError, ModelError, SettingError
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import Options
from mudy.extraction.outcomes import BATCH_TEXTS, FATAL, Item, outcomes
from mudy.extraction.run_identity import json_values, model_fingerprints, requested_settings

_ENDS_THE_RUN: tuple[type[Exception], ...] = (*FATAL, ModelError)  # no row's fault, and no row would fare better


@dataclass(frozen=True, slots=True)
class Recipe:
    """Arguments of an extractor, and options of its extractions: sent to the processes that compute."""

    extractor: Mapping[str, Any]
    options: Options

    @classmethod
    def of(cls, arguments: Mapping[str, Any], options: Options, warn: Callable[[str], None] | None) -> Recipe:
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
