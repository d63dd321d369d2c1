"""Keyphrases by plain settings: what every integration does, written once.

Settings are arguments of `Extractor` and options of `extract` in one mapping of plain JSON values, so that they can be
copied, pickled and saved. An extractor is made when its first text comes, and shared by all that have equal settings.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import Any, TypeVar

from mudy._support.storage import dump_json
from mudy._support.validation import options_of
from mudy.errors import SettingError
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import SHARED_OPTION_NAMES, RankingFocus
from mudy.extraction.results import Result, keyphrase_row
from mudy.reading.document import Document

T = TypeVar("T")
PER_TEXT = (*SHARED_OPTION_NAMES, "blocks", *options_of(RankingFocus), "workers")  # for `extract_many`
KEYPHRASE_COLUMNS = ("text", "score", "start", "end", "occurrences")  # offsets of the best occurrence, and how many
MOST_SHARED = 4  # extractors with their models in memory; the one used longest ago goes first


@dataclass
class SharedExtractor:
    """An extractor that computes for one thread at a time."""

    extractor: Extractor
    turn: RLock = field(default_factory=RLock)


def results_of(texts: Iterable[str | Document], settings: Mapping[str, Any]) -> Iterator[Result]:
    """The keyphrases of each text, in order; short texts are computed together.

    Between two results another thread may have its turn at the extractor.
    """
    shared = shared_extractor(settings)
    results = shared.extractor.extract_many(texts, **{name: settings[name] for name in PER_TEXT if name in settings})
    while True:
        with shared.turn:
            result = next(results, None)
        if result is None:
            return
        yield result


def phrase_column(texts: Iterable[str | None], settings: Mapping[str, Any]) -> list[list[str] | None]:
    """The phrases of each text, best first; None where there is no text."""
    return _column(texts, settings, lambda result: [keyphrase.text for keyphrase in result])


def keyphrase_column(texts: Iterable[str | None], settings: Mapping[str, Any]) -> list[list[dict[str, Any]] | None]:
    """The keyphrases of each text, with the columns of KEYPHRASE_COLUMNS."""

    def rows(result: Result) -> list[dict[str, Any]]:
        return [{name: row[name] for name in KEYPHRASE_COLUMNS} for row in map(keyphrase_row, result)]

    return _column(texts, settings, rows)


def _column(texts: Iterable[str | None], settings: Mapping[str, Any], entry: Callable[[Result], T]) -> list[T | None]:
    column = list(texts)
    results = results_of(("" if text is None else text for text in column), settings)  # so an error names the position
    return [None if text is None else entry(result) for text, result in zip(column, results, strict=True)]


def plain_settings(tool: Any) -> dict[str, Any]:
    """The settings of an object with the attributes method, speed, top_n and settings (further ones, or None)."""
    return {"method": tool.method, "speed": tool.speed, "top_n": tool.top_n, **(tool.settings or {})}


def check_plain_settings(settings: Mapping[str, Any]) -> None:
    """Raise what is wrong with settings now, not at the first text. Loads no model."""
    options = {name: value for name, value in settings.items() if name in PER_TEXT}
    Extractor(**_arguments(settings)).extract_many((), **options)


def shared_extractor(settings: Mapping[str, Any]) -> SharedExtractor:
    """The extractor for some settings, made now if there is none yet."""
    arguments = _arguments(settings)
    key = dump_json(dict(sorted(arguments.items())))
    with _lock:
        shared = _extractors.get(key) or SharedExtractor(Extractor(**arguments))
        _extractors[key] = shared
        _extractors.move_to_end(key)
        if len(_extractors) > MOST_SHARED:
            _extractors.popitem(last=False)
    return shared


def _arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {name: value for name, value in settings.items() if name not in PER_TEXT}
    for name, value in arguments.items():
        if not _is_plain(value):
            raise SettingError(f"{name} is of type {type(value).__name__}, but must be a plain value, such as a name.")
    return arguments


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | bool | None)


_extractors: OrderedDict[str, SharedExtractor] = OrderedDict()
_lock = Lock()


def _renew_locks() -> None:
    """After a fork: a thread that only the parent has may have held a lock. The models in memory are kept."""
    global _lock
    _lock = Lock()
    for shared in _extractors.values():
        shared.turn = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
