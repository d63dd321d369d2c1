"""What `corpus.run` is given, checked before anything is read, locked or written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from mudy._support.validation import checked, known_names, seen
from mudy.corpus.columns import Columns
from mudy.corpus.row_writers import WRITERS
from mudy.errors import SettingError, unknown
from mudy.extraction.options import SHARED_OPTION_NAMES


def check_run(output: Any, columns: Any, form: Any, options: Any, **others: Any) -> None:
    """Raise where an argument is not what it must be."""
    if not isinstance(output, str | Path) or not str(output):
        raise SettingError(f"output is {seen(output)}, but must be the path of a file or folder.")
    if not isinstance(columns, Columns):
        raise SettingError(f"columns is {seen(columns)}, but must be corpus.Columns(text=..., id=..., keep=...).")
    checked("columns.text", columns.text, str)
    checked("columns.id", columns.id, str)
    checked("columns.keep", columns.keep, tuple[str, ...] | None)
    if checked("form", form, str | None) is not None and form not in WRITERS:
        raise SettingError(unknown("form", form, WRITERS))
    if options is not None and not isinstance(options, Mapping):
        raise SettingError(f"options is {seen(options)}, but must be a dict of options of Extractor.extract.")
    known_names("option", map(str, options or ()), SHARED_OPTION_NAMES)
    checked("part_rows", others["part_rows"], int, least=1)
    checked("restart", others["restart"], bool)
    if checked("workers", others["workers"], int, least=1) > 1 and others["engine"] == "ray":
        raise SettingError("workers are processes on this machine; with engine='ray' the number of actors counts.")
    checked("engine", others["engine"], Literal["local", "ray"])
    checked("address", others["address"], str | None)
    checked("actors", others["actors"], int | None, least=1)
    checked("report", others["report"], Callable | None)
