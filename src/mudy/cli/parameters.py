"""Parameters that several commands share, and words of the command line -> values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isnan
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from mudy._support.validation import TopN, checked_top_n
from mudy.candidates import MAX_PHRASE_WORDS
from mudy.engines.compute import Precision, Speed
from mudy.errors import ModelError, SettingError, unknown
from mudy.extraction.extractor import DEFAULT_MODEL
from mudy.extraction.model_loader import DEFAULT_ENCODER
from mudy.extraction.protocols import ProtocolName
from mudy.methods import METHODS, check_settings, setting_types
from mudy.reading.languages import AUTO

TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


_Values = list[CompletionItem]
Command = Callable[..., Any]


def top_n(ctx: click.Context, param: click.Parameter, value: str) -> TopN:
    """A number, a share of the words (0.02 or 2%), "auto", or "all"."""
    try:
        return checked_top_n(_top_n(value.strip().lower()))
    except ValueError:  # SettingError is one
        reason = f"{value!r} is neither a number from 1 up, nor a share such as 0.02 or 2%, nor 'auto', nor 'all'."
        raise click.BadParameter(reason, ctx, param) from None


def _top_n(value: str) -> int | float | str | None:
    if value in ("all", "auto"):
        return None if value == "all" else value
    if value.endswith("%"):
        return float(value[:-1]) / 100
    return float(value) if "." in value else int(value)


def method(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The name of a method."""
    if value not in METHODS:
        raise click.BadParameter(unknown("method", value, METHODS), ctx, param)
    return value


def method_names(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """Names of methods with commas between them, none twice."""
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise click.BadParameter("No method is named; see `mudy methods`.", ctx, param)
    for name in names:
        method(ctx, param, name)
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is named twice; each method is shown once.", ctx, param)
    return names


def model(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The name of a known model, a folder, or an id on the hub; nothing is fetched yet. An endpoint knows its own."""
    from mudy import models

    if param.name == "model" and ctx.params.get("endpoint") is not None:
        return value
    try:
        models.check_name(value)
    except ModelError as error:
        raise click.BadParameter(str(error), ctx, param) from error
    return value


def _known_model_names(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Names of known models alone."""
    from mudy import models

    for value in values:
        if value not in models.KNOWN:
            raise click.BadParameter(unknown("model", value, models.KNOWN), ctx, param)
    return values


def _methods(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Values:  # noqa: ARG001
    return [CompletionItem(name) for name in METHODS if name.startswith(incomplete)]


def _models(ctx: click.Context, param: click.Parameter, incomplete: str) -> _Values:  # noqa: ARG001
    from mudy import models

    return [CompletionItem(name) for name in models.KNOWN if name.startswith(incomplete)]


TOP_N: dict[str, Any] = {"callback": top_n, "metavar": "NUMBER|SHARE|auto|all"}
METHOD: dict[str, Any] = {"callback": method, "metavar": "NAME", "shell_complete": _methods}
SEVERAL: dict[str, Any] = {"callback": method_names, "metavar": "NAME,NAME", "shell_complete": _methods}
MODEL_OPTION: dict[str, Any] = {"callback": model, "metavar": "NAME", "shell_complete": _models}
DTYPE: dict[str, Any] = {
    "type": click.Choice(get_args(Precision)),
    "help": "[default: float32 on a CPU, half precision on a GPU]",
}
THREADS: dict[str, Any] = {"type": click.IntRange(1), "help": "CPU threads."}
WORKERS: dict[str, Any] = {"type": click.IntRange(1), "default": 1, "show_default": True}
DEVICE: dict[str, Any] = {"help": "cpu, cuda, mps, ...  [default: a GPU if there is one]"}
BATCH: dict[str, Any] = {
    "type": click.IntRange(1),
    "help": "Tokens computed at once: more take more memory and change no result.  [default: 256 on a CPU, else 8192]",
}
SPEED: dict[str, Any] = {
    "type": click.Choice(get_args(Speed)),
    "help": "quick: no language model (mudyplus). fast: 8-bit arithmetic on a CPU, and less work in some methods. "
    "[default: fast for mudyplus, else exact]",
}
PRESET: dict[str, Any] = {"metavar": "NAME", "help": "Published settings of the method for one data set."}
SET: dict[str, Any] = {
    "metavar": "NAME=VALUE",
    "multiple": True,
    "help": "A setting of the method (see `mudy methods`); may be repeated. Lists: 1,2,3.",
}
DIVERSITY: dict[str, Any] = {
    "type": click.FloatRange(0, 1),
    "default": 0.0,
    "help": "Above 0, avoid phrases that share words.",
}
MIN_SCORE: dict[str, Any] = {
    "type": float,
    "help": "Leave out phrases that score less; for mudyplus a probability, such as 0.3.",
}
DISTINCT: dict[str, Any] = {
    "default": None,
    "help": "Leave out phrases that say what one before them says.  [default: distinct for mudyplus]",
}
NO_MERGE: dict[str, Any] = {"is_flag": True, "help": "Keep inflections apart (model, models)."}
ENCODING: dict[str, Any] = {"help": "Encoding of the files.  [default: by byte-order mark, else UTF-8]"}
LANGUAGE: dict[str, Any] = {
    "default": AUTO,
    "show_default": True,
    "help": "Of the texts: auto, a code such as de, an installed spaCy package, or the path of a pipeline (./name).",
}
ENDPOINT: dict[str, Any] = {"metavar": "URL", "is_eager": True}  # for it decides what --model may be
KNOWN_MODEL: dict[str, Any] = {"callback": _known_model_names, "shell_complete": _models}


def on_machine(command: Command) -> Command:
    """The options that say where and how to compute; and but for --speed and --dtype change no result."""
    known = {"speed": SPEED, "device": DEVICE, "dtype": DTYPE, "threads": THREADS, "batch-tokens": BATCH}
    return _with(command, known)


def with_models(command: Command) -> Command:
    """The options that name the models of a method."""
    known = "A name of `mudy models`, a local folder, or an id on the Hugging Face hub."
    encoder = MODEL_OPTION | {"default": DEFAULT_ENCODER, "show_default": True, "help": "For related phrases."}
    return _with(
        command,
        {"model": MODEL_OPTION | {"default": DEFAULT_MODEL, "show_default": True, "help": known}, "encoder": encoder},
    )


def on_texts(command: Command) -> Command:
    """The options that say how texts are read, and which phrases of theirs are ranked."""
    lines = "one a line, UTF-8; blank lines and lines that start with # are ignored."
    known: dict[str, dict[str, Any]] = {
        "candidates": {
            "metavar": "FILE|nouns|nested",
            "help": f"Rank the phrases of a file only: {lines} nouns: noun phrases as long as possible; nested: "
            "phrases inside them too.  [default: nested for mudyplus, else nouns]",
        },
        "stop-phrases": {"metavar": "FILE", "help": "Never return these phrases; a file like that of --candidates."},
        "language": LANGUAGE,
        "max-words": {"type": click.IntRange(1), "help": "Read only the first words of each text.  [default: all]"},
        "max-candidate-words": {"type": click.IntRange(1), "help": f"Longest phrases.  [default: {MAX_PHRASE_WORDS}]"},
        "protocol": {"type": click.Choice(get_args(ProtocolName)), "help": "Read texts as published experiments did."},
    }
    return _with(command, known)


def with_wishes(command: Command) -> Command:
    """The options that say which phrases somebody looks for."""
    known: dict[str, dict[str, Any]] = {
        "vocabulary": {
            "metavar": "FILE",
            "help": "Return the concepts of a vocabulary only, found by stems, with their ids: .csv, .json, .txt, or "
            "SKOS (.ttl, .rdf; extra `vocabularies`). Of labels in several languages those of --language count.",
        },
        "boost": {
            "type": click.FloatRange(0),
            "help": "Return other phrases too, and raise those of --vocabulary: by so much in log-odds for mudyplus, "
            "else in standard deviations of the text's scores.",
        },
        "near": {
            "type": click.FloatRange(0, 1),
            "metavar": "SIMILARITY",
            "help": "Give phrases without a concept the nearest one in meaning, from this similarity on (0.7 is "
            "strict), marked as near.",
        },
        "seed": {
            "metavar": "PHRASE",
            "multiple": True,
            "help": "Turn the ranking towards a phrase (mudyplus); may be repeated.",
        },
        "query": {"metavar": "TEXT", "help": "Turn the ranking towards a question (mudyplus)."},
    }
    return _with(command, known)


def wishes(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a method that turn its ranking, where something is looked for; taken out of what was given."""
    turned = {"seeds": tuple(given.pop("seed")), "query": given.pop("query")}
    return {name: value for name, value in turned.items() if value}


def _with(command: Command, options: dict[str, dict[str, Any]]) -> Command:
    """A command with options, in their order."""
    for name, option in reversed(options.items()):
        command = click.option(f"--{name}", **option)(command)
    return command


# -- Settings of a method ---------------------------------------------------------------------------------------------


def settings(method: str, pairs: Iterable[str]) -> dict[str, Any]:
    """NAME=VALUE pairs as the method's settings, each of the type that its field has."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise SettingError(f"--set takes NAME=VALUE, such as alpha=0.5, not {pair!r}.")
        check_settings(method, {name: value})
        kind = setting_types(method)[name]
        try:
            found[name] = parsed(value, kind)
        except ValueError:
            raise SettingError(f"--set {name}: {value!r} was given, but {_type_in_words(kind)} is needed.") from None
    return found


def settings_of_each(methods: Sequence[str], pairs: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The settings of several methods: METHOD.NAME=VALUE; NAME=VALUE alone is for mudy, or for the only method."""
    own: dict[str, list[str]] = {method: [] for method in methods}
    plain = methods[0] if len(methods) == 1 else "mudy"
    for pair in pairs:
        before, dot, rest = pair.partition(".")
        named = dot and "=" not in before
        method = before.strip() if named else plain
        if method not in own:
            hint = "" if named else f" For another method: --set {methods[0]}.{pair}"
            raise SettingError(f"--set {pair}: {method} is not among the methods {', '.join(methods)}.{hint}")
        own[method].append(rest if named else pair)
    return {method: settings(method, some) for method, some in own.items()}


def parsed(value: str, kind: Any) -> Any:
    """A word as a value of a type; ValueError where it is none."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        if NoneType in arguments and value.lower() in ("none", "null"):
            return None
        return parsed(value, next(a for a in arguments if a is not NoneType))
    if get_origin(kind) is Literal:
        if value not in arguments:
            raise ValueError(value)
        return value
    if get_origin(kind) is tuple:
        return _tuple([part.strip() for part in value.strip("()").split(",") if part.strip()], arguments)
    if kind is bool:
        if value.lower() not in TRUTHS:
            raise ValueError(value)
        return TRUTHS[value.lower()]
    if kind is float and isnan(float(value)):
        raise ValueError(value)
    return kind(value)


def _tuple(parts: list[str], kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    if kinds[-1] is Ellipsis:
        return tuple(parsed(part, kinds[0]) for part in parts)
    return tuple(parsed(part, kind) for part, kind in zip(parts, kinds, strict=True))


def _type_in_words(kind: Any) -> str:
    """A type in words."""
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_type_in_words(a) for a in arguments)
    if get_origin(kind) is Literal:
        return " or ".join(map(str, arguments))
    if get_origin(kind) is tuple:
        many = "a list" if arguments[-1] is Ellipsis else f"a list of {len(arguments)}"
        return f"{many}, each {_type_in_words(arguments[0])}, with commas between them"
    words = {bool: "true or false", int: "a whole number", float: "a number", NoneType: "none"}
    return words.get(kind, "a text")
