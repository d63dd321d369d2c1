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
from mudy.extraction.outcomes import FATAL, Item, outcomes
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
