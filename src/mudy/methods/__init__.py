"""The methods by name. Importing this package imports none of them."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

from mudy.errors import SettingError, unknown

METHODS = {
    "mudy": "mudy.methods.mudy:Mudy",
    "promptrank": "mudy.methods.promptrank:PromptRank",
}


def method_class(name: str) -> Any:
    """The dataclass of a method."""
    if name not in METHODS:
        raise SettingError(unknown("method", name, METHODS))
    module, _, kind = METHODS[name].partition(":")
    return getattr(import_module(module), kind)


def settings_of(name: str) -> dict[str, Any]:
    """A method's settings and their defaults, without the models it is given."""
    models = {"backbone", "encoder"}
    return {f.name: f.default for f in fields(method_class(name)) if f.name not in models}


def check_settings(name: str, settings: dict[str, Any]) -> None:
    """Unknown settings raise; nothing is ignored."""
    if name not in METHODS:
        raise SettingError(unknown("method", name, METHODS))
    if not settings:
        return  # nothing to check, and no need yet for what a method imports
    known = settings_of(name)
    for setting in settings:
        if setting not in known:
            raise SettingError(unknown(f"setting of {name}", setting, known))
