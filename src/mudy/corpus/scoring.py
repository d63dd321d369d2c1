"""Input rows -> output rows, in their order; a failure stays with its row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from mudy._support import __version__
from mudy.corpus.row import InputRow, OutputRow
from mudy.errors import InputError, ModelError
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import Options
from mudy.extraction.outcomes import FATAL, Item, error_message, outcomes, portable_arguments
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

    def check_portable(self, workers: int) -> None:
        """SettingError if it cannot be sent to worker processes."""
        portable_arguments(self.build(), workers)

    def identity(self) -> dict[str, Any]:
        """What decides the results: settings, options, models and version."""
        extractor = self.build()
        return {
            "extractor": requested_settings(extractor),
            "options": json_values(self.options.shared()),
            "models": model_fingerprints(extractor, with_encoder=self.options.near is not None),
            "version": __version__,
        }


class RowScorer:
    """Scores rows by a recipe, in this process or several."""

    def __init__(self, recipe: Recipe, workers: int = 1) -> None:
        self.extractor, self.options, self.workers = recipe.build(), recipe.options, workers

    def score(self, rows: Iterable[InputRow]) -> Iterator[OutputRow]:
        """Every row with its keyphrases or its error."""
        items = map(self._item, rows)
        with closing(outcomes(self.extractor, items, workers=self.workers, fatal=_ENDS_THE_RUN)) as computed:
            for outcome in computed:
                result = outcome.result
                if isinstance(result, Exception):
                    yield OutputRow.of(outcome.key, None, error_message(result), outcome.seconds)
                else:
                    yield OutputRow.of(outcome.key, result, None, outcome.seconds)

    def _item(self, row: InputRow) -> Item[InputRow]:
        if row.problem is not None:
            return Item(row, InputError(row.problem))
        return Item(row, row.text, self.options.changed({"source": row.id, "pages": row.pages, "blocks": row.blocks}))
