"""The methods by name. Importing this package imports none of them."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any, get_type_hints

from mudy.errors import SettingError, unknown
from mudy.validation import checked

METHODS = {
    "mudy": "mudy.methods.mudy:Mudy",
    "promptrank": "mudy.methods.promptrank:PromptRank",
    "textrank": "mudy.methods.textrank:TextRank",
    "singlerank": "mudy.methods.singlerank:SingleRank",
    "topicrank": "mudy.methods.topicrank:TopicRank",
    "multipartiterank": "mudy.methods.multipartiterank:MultipartiteRank",
    "yake": "mudy.methods.yake:Yake",
    "embedrank": "mudy.methods.embedrank:EmbedRank",
    "jointgl": "mudy.methods.jointgl:JointGL",
    "mderank": "mudy.methods.mderank:MDERank",
    "samrank": "mudy.methods.samrank:SAMRank",
    "attentionseeker": "mudy.methods.attentionseeker:AttentionSeeker",
    "empirical": "mudy.methods.empirical:Empirical",
}

MODELS = frozenset({"backbone", "encoder", "chat"})  # fields of a method that hold a model


def method_class(name: str) -> Any:
    """The dataclass of a method."""
    if name not in METHODS:
        raise SettingError(unknown("method", name, METHODS))
    module, _, kind = METHODS[name].partition(":")
    return getattr(import_module(module), kind)


def settings_of(name: str) -> dict[str, Any]:
    """A method's settings and their defaults, without the models it is given."""
    return {f.name: f.default for f in fields(method_class(name)) if f.name not in MODELS}


def descriptions_of(name: str) -> dict[str, str]:
    """What each setting of a method does, in one line."""
    return {f.name: f.metadata["description"] for f in fields(method_class(name)) if f.name not in MODELS}


def title_of(name: str) -> str:
    """What a method does, in one line."""
    return str(method_class(name).__doc__ or "").strip().split("\n")[0]


def model_fields(name: str) -> set[str]:
    """Which models a method is given."""
    return {f.name for f in fields(method_class(name))} & MODELS


def settings_in_use(method: Any) -> dict[str, Any]:
    """The settings that a method was built with, ready for JSON; none for no method."""
    if method is None:
        return {}
    found = {f.name: getattr(method, f.name) for f in fields(method) if f.name not in MODELS}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


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


def checked_settings(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, each of the type that its field has; an unknown one, or one of another type, raises."""
    check_settings(name, settings)
    if not settings:
        return {}
    hints = get_type_hints(method_class(name))
    return {setting: checked(setting, value, hints[setting]) for setting, value in settings.items()}
