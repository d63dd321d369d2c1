"""The settings of methods in requests: strictly typed, bounded, and described to OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

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
        setting = _type_of(method, name).validate_python(tuple(value) if isinstance(value, list) else value)
        _check_bounds(name, setting)
    except ValueError as error:  # also the ValidationError of pydantic
        message = _message(error) if isinstance(error, ValidationError) else str(error)
        raise HttpProblem("not-valid", f"{where}.{name}: {message}", errors=[(f"{where}.{name}", message)]) from None
    return setting


@cache
def _type_of(method: str, name: str) -> TypeAdapter[Any]:
    kind = setting_types(method)[name]
    return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False))


def _check_bounds(name: str, value: Any) -> None:
    """Refuse values that could exhaust memory or overflow, and names of files on this machine."""
    if name in FILE_SETTINGS and value is not None:
        raise ValueError("a file of the server cannot be named in a request")
    entries = value if isinstance(value, tuple) else (value,)
    largest = LARGEST_VALUES.get(name, LARGEST_VALUE)
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"at most {MAX_ENTRIES} entries are allowed")
    if any(isinstance(entry, int | float) and abs(entry) > largest for entry in entries):
        raise ValueError(f"numbers up to {largest:,.0f} are allowed")


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
    schema = _type_of(method, name).json_schema()
    if entries := schema.pop("prefixItems", None):  # a tuple, which generators and linters know as a list of one type
        assert all(entry == entries[0] for entry in entries)
        schema["items"] = entries[0]
    return {
        **schema,
        "description": descriptions_of(method)[name],
        "default": list(default) if isinstance(default, tuple) else default,
        **maximum,
    }


def _message(error: ValidationError) -> str:
    message = "; ".join(dict.fromkeys(str(detail["msg"]) for detail in error.errors(include_input=False)))
    return message[:1].lower() + message[1:]
