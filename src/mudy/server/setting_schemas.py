"""The settings of methods in requests: strictly typed, bounded, and described to OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from mudy._support.validation import checked
from mudy.errors import SettingError
from mudy.methods import METHODS, check_settings, descriptions_of, model_fields, setting_types, settings_of
from mudy.server.problems import HttpProblem
from mudy.server.scorer import SettingItems

LARGEST_VALUE = 1e12  # of a setting; the largest default is 1.2e8
LARGEST_VALUES = {"window": 100, "section_tokens": 4096, "segment_tokens": 4096}  # where work grows with the square
FILE_SETTINGS = frozenset({"weights"})  # paths: only who runs the service may name them
MAX_ENTRIES = 64  # of a setting that is a list


def served_methods() -> tuple[str, ...]:
    """The methods that can be requested: all but those that need a chat model."""
    return tuple(name for name in METHODS if "chat" not in model_fields(name))


def validated_settings(method: str, given: Mapping[str, Any], where: str) -> SettingItems:
    """A method's settings, each of the type of its field; lists become tuples."""
    return tuple(sorted((name, _validated(method, name, value, where)) for name, value in given.items()))


def _validated(method: str, name: str, value: Any, where: str) -> Any:
    try:
        check_settings(method, {name: None})
    except SettingError as error:
        raise HttpProblem("unknown-setting", str(error), errors=[(where, str(error))]) from None
    try:
        setting = checked(name, value, setting_types(method)[name])
        _check_bounds(name, setting)
    except ValueError as error:  # SettingError is one
        raise HttpProblem("not-valid", f"{where}: {error}", errors=[(f"{where}.{name}", str(error))]) from None
    return setting


def _check_bounds(name: str, value: Any) -> None:
    """Refuse values that could exhaust memory or overflow, and names of files on this machine."""
    if name in FILE_SETTINGS and value is not None:
        raise ValueError(f"{name} is a file on the server, which a request cannot choose")
    entries = value if isinstance(value, tuple) else (value,)
    largest = LARGEST_VALUES.get(name, LARGEST_VALUE)
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"{name} has {len(entries)} entries, but at most {MAX_ENTRIES} are allowed")
    if any(isinstance(entry, int | float) and abs(entry) > largest for entry in entries):
        raise ValueError(f"{name} is too large: numbers up to {largest:,.0f} are allowed")


def settings_schema(method: str) -> dict[str, Any]:
    """A method's settings as JSON Schema."""
    return {
        "type": "object",
        "title": f"Settings of {method}",
        "properties": {name: _setting_schema(method, name, default) for name, default in settings_of(method).items()},
        "additionalProperties": False,
    }


def _setting_schema(method: str, name: str, default: Any) -> dict[str, Any]:
    maximum = {"maximum": LARGEST_VALUES[name]} if name in LARGEST_VALUES else {}
    kind: Any = str | None if name in FILE_SETTINGS else setting_types(method)[name]
    schema = TypeAdapter(kind).json_schema()
    if entries := schema.pop("prefixItems", None):  # a tuple, which generators and linters know as a list of one type
        assert all(entry == entries[0] for entry in entries)
        schema["items"] = entries[0]
    return {
        **schema,
        "description": descriptions_of(method)[name],
        "default": list(default) if isinstance(default, tuple) else default,
        **maximum,
    }
