"""Input rows -> output rows, in their order; short texts are computed together, and a failure stays with its row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from mudy._support.version import __version__
from mudy._support.workers import WorkerPool, ordered_outcomes
from mudy.corpus.row import InputRow, OutputRow
from mudy.errors import ModelError, MudyError, WorkerError
from mudy.extraction.batching import FATAL, batch_size, batches, score_each
from mudy.extraction.extractor import Extractor
from mudy.extraction.many_texts import portable_arguments
from mudy.extraction.preparation import PreparedText
from mudy.extraction.run_identity import json_values, model_fingerprints, requested_settings

_ENDS_THE_RUN: tuple[type[Exception], ...] = (*FATAL, ModelError)  # no row's fault, and no row would fare better


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an extractor is made, and what is asked of it: sent to the processes that compute."""

    extractor: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def build(self) -> Extractor:
        return Extractor(**self.extractor)

    def for_workers(self, workers: int) -> Recipe:
        """The same for each of several processes; SettingError if it cannot be sent to them."""
        return Recipe(portable_arguments(self.build(), workers), self.options)

    def identity(self) -> dict[str, Any]:
        """What decides the results: settings, options, models and version."""
        extractor = self.build()
        return {
            "extractor": requested_settings(extractor),
            "options": json_values(self.options),
            "models": model_fingerprints(extractor, with_encoder=self.options.get("near") is not None),
            "version": __version__,
        }


@dataclass(frozen=True)
class RowWork:
    """Rows in, rows out, by an extractor that each worker process makes for itself."""

    recipe: Recipe

    def start(self) -> Callable[[Sequence[InputRow]], list[OutputRow]]:
        extractor, options = self.recipe.build(), self.recipe.options
        return lambda rows: list(score_rows(rows, extractor, options))

    def lost(self, item: InputRow, error: WorkerError) -> OutputRow:
        return OutputRow.of(item, None, error_message(error), 0.0)


def score_by_workers(rows: Iterable[InputRow], recipe: Recipe, workers: int) -> Iterator[OutputRow]:
    """Every row with its keyphrases or its error, by several processes."""
    work = RowWork(recipe.for_workers(workers))
    with WorkerPool(work, workers) as pool:
        yield from ordered_outcomes(pool, batches(rows, lambda row: len(row.text.split())))


@dataclass(frozen=True, slots=True)
class PreparedRow:
    """A row whose text was tagged, or why it has none."""

    row: InputRow
    text: PreparedText | None
    error: str | None
    seconds: float

    @property
    def words(self) -> int:
        return self.text.words if self.text else 0


def score_rows(rows: Iterable[InputRow], extractor: Extractor, options: Mapping[str, Any]) -> Iterator[OutputRow]:
    """Every row with its keyphrases or its error."""
    return score_prepared((prepare_row(row, extractor, options) for row in rows), extractor)


def prepare_row(row: InputRow, extractor: Extractor, options: Mapping[str, Any]) -> PreparedRow:
    """Tag a row's text and find its candidates."""
    if row.problem is not None:
        return PreparedRow(row, None, row.problem, 0.0)
    start = perf_counter()
    text, error = None, None
    try:
        text = extractor.prepare(row.text, source=row.id, pages=row.pages, **options)
    except _ENDS_THE_RUN:
        raise
    except Exception as problem:
        error = error_message(problem)
    return PreparedRow(row, text, error, perf_counter() - start)


def score_prepared(rows: Iterable[PreparedRow], extractor: Extractor) -> Iterator[OutputRow]:
    """Score rows that were prepared, short texts together."""
    for batch in batches(rows, lambda row: row.words, batch_size(extractor.method)):
        yield from _score_batch(batch, extractor)


def _score_batch(batch: Sequence[PreparedRow], extractor: Extractor) -> Iterator[OutputRow]:
    """The time of texts that are computed together is divided by their words."""
    texts = [row.text for row in batch if row.text is not None]
    start = perf_counter()
    outcomes = list(score_each(extractor, texts, fatal=_ENDS_THE_RUN))
    rate = (perf_counter() - start) / max(1, sum(text.words for text in texts))
    remaining = iter(outcomes)
    for row in batch:
        outcome = next(remaining) if row.text is not None else None
        result, error = (None, error_message(outcome)) if isinstance(outcome, Exception) else (outcome, row.error)
        yield OutputRow.of(row.row, result, error, row.seconds + rate * row.words)


def error_message(error: Exception) -> str:
    """An error as a row holds it."""
    return str(error) if isinstance(error, MudyError) else f"unexpected {type(error).__name__}: {error}"
