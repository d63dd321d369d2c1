"""Rows -> rows of the output, in their order, short texts computed together; a failure stays with its row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import mudy
from mudy.corpus.row import InputRow, OutputRow
from mudy.errors import EndpointRefused, ModelError, MudyError, SettingError
from mudy.extractor import GATHERED_TEXTS, GATHERED_WORDS, Extractor, Task
from mudy.methods import is_batched
from mudy.storage import fingerprints

MACHINE = frozenset({"device", "threads", "batch_tokens", "report"})
SIMPLE = (str, int, float, bool, type(None))
FATAL = (SettingError, EndpointRefused)  # what would be the same for every row


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an extractor is made, and what is asked of it: to be sent to whoever computes."""

    extractor: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def made(self, **more: Any) -> Extractor:
        return Extractor(**self.extractor, **more)

    def identity(self) -> dict[str, Any]:
        """What decides the result: settings, model and version; what only decides the speed is left out."""
        made = self.made()
        settings = {name: value for name, value in self.extractor.items() if name not in MACHINE}
        return {
            "extractor": {
                name: value if isinstance(value, SIMPLE) else repr(value) for name, value in settings.items()
            },
            "options": {
                name: value if isinstance(value, SIMPLE) else list(value) for name, value in self.options.items()
            },
            "models": fingerprints(made),
            "version": mudy.__version__,
        }


@dataclass(slots=True)
class Prepared:
    """A row that was read, or that could not be."""

    row: InputRow
    task: Task | None
    error: str | None
    seconds: float

    @property
    def words(self) -> int:
        return len(self.task.document.text.split()) if self.task else 0


def score_rows(rows: Iterable[InputRow], extractor: Extractor, options: Mapping[str, Any]) -> Iterator[OutputRow]:
    """Every row with its keyphrases or its error."""
    return finished_all((prepared(row, extractor, options) for row in rows), extractor)


def finished_all(items: Iterable[Prepared], extractor: Extractor) -> Iterator[OutputRow]:
    """Score what was prepared, short texts together."""
    together = GATHERED_TEXTS if is_batched(extractor.method) else 1
    for group in groups(items, together):
        yield from finished(group, extractor)


def prepared(row: InputRow, extractor: Extractor, options: Mapping[str, Any]) -> Prepared:
    """Tag a row's text and find its candidates."""
    if row.problem is not None:
        return Prepared(row, None, row.problem, 0.0)
    start = perf_counter()
    try:
        task, error = extractor.prepare(row.text, source=row.id, pages=row.pages, **options), None
    except FATAL:
        raise
    except Exception as problem:
        task, error = None, told(problem)
    return Prepared(row, task, error, perf_counter() - start)


def groups(items: Iterable[Prepared], most: int) -> Iterator[list[Prepared]]:
    """Rows in their order, as many together as make one good batch."""
    group: list[Prepared] = []
    words = 0
    for item in items:
        group.append(item)
        words += item.words
        if words >= GATHERED_WORDS or len(group) >= most:
            yield group
            group, words = [], 0
    if group:
        yield group


def finished(group: Sequence[Prepared], extractor: Extractor) -> Iterator[OutputRow]:
    """Score a group together; if that fails, one by one, so that one row spoils no other."""
    good = [item for item in group if item.task is not None]
    start = perf_counter()
    try:
        results = iter(extractor.finish([item.task for item in good if item.task]))
    except FATAL:
        raise
    except Exception as problem:
        if len(good) == 1:
            good[0].task, good[0].error = None, told(problem)
            results = iter(())
        else:
            for item in group:
                yield from finished([item], extractor)
            return
    rate = (perf_counter() - start) / max(1, sum(item.words for item in good))
    for item in group:
        found = next(results) if item.task is not None else None
        yield OutputRow.of(item.row, found, item.error, item.seconds + rate * item.words)


def told(problem: Exception) -> str:
    """An error as a row holds it."""
    if isinstance(problem, ModelError):
        raise problem  # no row's fault, and no row would fare better
    return str(problem) if isinstance(problem, MudyError) else f"unexpected {type(problem).__name__}: {problem}"
