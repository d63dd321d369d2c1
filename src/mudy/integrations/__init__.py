"""MUDY inside other tools: one module per tool, imported only by its users.

Every module takes the same plain settings, see `extraction`. If the tool is not installed, the error names the command
that installs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mudy._support.extras import from_extra
from mudy.extraction.results import Result
from mudy.integrations.extraction import results_of

__all__ = ["from_extra", "keyphrase_column", "phrase_column", "plain_settings"]


def plain_settings(tool: Any) -> dict[str, Any]:
    """The settings of an object with the attributes method, speed, top_n and settings (further ones, or None)."""
    return {"method": tool.method, "speed": tool.speed, "top_n": tool.top_n, **(tool.settings or {})}


def phrase_column(texts: Iterable[str | None], settings: Mapping[str, Any]) -> list[list[str] | None]:
    """The phrases of each text, best first; None where there is no text."""
    return [None if result is None else [k.text for k in result] for result in _results(texts, settings)]


def keyphrase_column(texts: Iterable[str | None], settings: Mapping[str, Any]) -> list[list[dict[str, Any]] | None]:
    """The keyphrases of each text with score, offsets of the best occurrence, and number of occurrences."""
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
    results = results_of(("" if text is None else text for text in column), settings)  # so an error names the position
    return [None if text is None else result for text, result in zip(column, results, strict=True)]
