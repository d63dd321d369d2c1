"""The methods by name. Importing this package imports none of them."""

from __future__ import annotations

import sys
from dataclasses import Field, fields
from importlib import import_module
from types import NoneType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from mudy._support.validation import checked
from mudy.errors import SettingError, unknown

if TYPE_CHECKING:
    from mudy.engines import Speed
    from mudy.methods.method import Method, ModelField

METHODS = {
    "mudyplus": "mudy.methods.mudyplus:MudyPlus",
    "mudy": "mudy.methods.mudy:Mudy",
    "promptrank": "mudy.methods.promptrank:PromptRank",
    "textrank": "mudy.methods.textrank:TextRank",
    "singlerank": "mudy.methods.textrank:SingleRank",
    "topicrank": "mudy.methods.topicrank:TopicRank",
    "multipartiterank": "mudy.methods.topicrank:MultipartiteRank",
    "yake": "mudy.methods.yake:Yake",
    "embedrank": "mudy.methods.embedrank:EmbedRank",
    "jointgl": "mudy.methods.jointgl:JointGL",
    "mderank": "mudy.methods.mderank:MDERank",
    "samrank": "mudy.methods.samrank:SAMRank",
    "attentionseeker": "mudy.methods.samrank:AttentionSeeker",
    "empirical": "mudy.methods.empirical:Empirical",
}

Style = Literal["subjects", "terms", "keywords", "tags"]  # of a reader, an indexer, an author, a tagger
STYLES: dict[Style, str] = {
    "subjects": "what a reader would file the text under",
    "terms": "every technical term that an indexer would mark",
    "keywords": "the few that an author would give",
    "tags": "short, and reusable for other texts",
}
STYLES_IN_WORDS = "; ".join(f"{name} ({words})" for name, words in STYLES.items())
DEFAULT_STYLE: Style = "subjects"
_STEERED = "can be steered by seeds or a query"
_ONLY_MUDYPLUS = {  # settings that no other method has
    "seeds": _STEERED,
    "query": _STEERED,
    "style": "has styles",
    "examples": "can be adapted to them",
}


def method_class(name: str) -> type[Method]:
    if name not in METHODS:
        raise SettingError(unknown("method", name, METHODS))
    module, _, kind = METHODS[name].partition(":")
    found: type[Method] = getattr(import_module(module), kind)
    return found


def model_fields(name: str) -> frozenset[ModelField]:
    return frozenset(method_class(name).needs)


def shared_speed(method: str, speed: Speed) -> Speed:
    """The speed of a method on models that were loaded for some speed: quick is for those that can be."""
    kind = method_class(method)
    return "fast" if speed == "quick" and "backbone" in kind.needs and speed not in kind.speeds else speed


def is_batched(name: str) -> bool:
    from mudy.methods.method import BatchMethod

    return issubclass(method_class(name), BatchMethod)


def settings_of(name: str) -> dict[str, Any]:
    """A method's settings and their defaults, without the models it is given."""
    return {f.name: f.default for f in _settings(method_class(name))}


def descriptions_of(name: str) -> dict[str, str]:
    return {f.name: f.metadata["description"] for f in _settings(method_class(name))}


def has_styles(name: str) -> bool:
    return "style" in settings_of(name)


def description(name: str) -> dict[str, Any]:
    kind = method_class(name)
    return {
        "name": name,
        "title": kind.title,
        "description": kind.summary(),
        "citation": kind.citation,
        "needs": list(kind.needs),
        "parts": [part.to_dict() for part in kind.parts],
        "presets": list(kind.presets),
        "settings": {setting: _plain(default) for setting, default in settings_of(name).items()},
        "descriptions": descriptions_of(name),
    }


def settings_in_use(method: Method | None) -> dict[str, Any]:
    """The settings that a method was built with, ready for JSON; none for no method."""
    return {} if method is None else {f.name: _plain(getattr(method, f.name)) for f in _settings(type(method))}


def _settings(kind: type[Method]) -> list[Field[Any]]:
    return [f for f in fields(kind) if f.name not in kind.needs]  # type: ignore[arg-type]  # every method is a dataclass


def _plain(value: Any) -> Any:
    plain = isinstance(value, str | int | float | NoneType)
    return value if plain else list(value) if isinstance(value, tuple) else repr(value)


def check_settings(name: str, settings: dict[str, Any]) -> None:
    """Unknown settings raise; nothing is ignored."""
    if name not in METHODS:
        raise SettingError(unknown("method", name, METHODS))
    if not settings:
        return  # nothing to check, and no need yet for what a method imports
    known = settings_of(name)
    for setting in settings:
        if setting not in known and setting in _ONLY_MUDYPLUS:
            raise SettingError(f"{name} takes no {setting}: only mudyplus {_ONLY_MUDYPLUS[setting]}.")
        if setting not in known:
            raise SettingError(unknown(f"setting of {name}", setting, known))


def checked_settings(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, each of the type that its field has; an unknown one, or one of another type, raises."""
    check_settings(name, settings)
    if not settings:
        return {}
    types = setting_types(name)
    for first, second in method_class(name).exclusive:
        if settings.get(first) is not None and settings.get(second) is not None:
            raise SettingError(f"Both {first} and {second} are given, but only one of them can be used.")
    return {setting: checked(setting, value, types[setting]) for setting, value in settings.items()}


def setting_types(name: str) -> dict[str, Any]:
    """The type of each setting of a method, looked up where it is declared; a model's may not be imported yet."""
    kind = method_class(name)
    wanted = {field.name for field in _settings(kind)}
    types: dict[str, Any] = {}
    for declaring in reversed(kind.__mro__):
        own = {field: hint for field, hint in vars(declaring).get("__annotations__", {}).items() if field in wanted}
        types |= get_type_hints(SimpleNamespace(__annotations__=own), vars(sys.modules[declaring.__module__]))
    return types
