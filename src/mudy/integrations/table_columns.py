"""A column of texts -> a column of keyphrases, for every kind of table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mudy.extraction.results import Result
from mudy.integrations.extraction import results_of

FIELDS = {"text": str, "score": float, "start": int, "end": int, "occurrences": int}  # of one keyphrase


def phrase_column(texts: Iterable[str | None], settings: Mapping[str, Any]) -> list[list[str] | None]:
    """The phrases of each text, best first; None where there is no text."""
    return [None if result is None else [k.text for k in result] for result in _results(texts, settings)]


def keyphrase_column(texts: Iterable[str | None], settings: Mapping[str, Any]) -> list[list[dict[str, Any]] | None]:
    """The keyphrases of each text with their scores and their best occurrences; None where there is no text."""
    return [None if result is None else _rows(result) for result in _results(texts, settings)]


def _rows(result: Result) -> list[dict[str, Any]]:
    return [
        {
            "text": keyphrase.text,
            "score": keyphrase.score,
            "start": keyphrase.occurrences[0].start,
            "end": keyphrase.occurrences[0].end,
            "occurrences": len(keyphrase.occurrences),
        }
        for keyphrase in result
    ]


def _results(texts: Iterable[str | None], settings: Mapping[str, Any]) -> list[Result | None]:
    column = list(texts)
    results = results_of(("" if text is None else text for text in column), settings)  # an error names the position
    return [None if text is None else result for text, result in zip(column, results, strict=True)]
