"""The options of commands, derived from their declarations; and words of the command line -> values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mudy._support.validation import Option, TopN, checked_top_n, options_of, parse_value, type_in_words
from mudy.candidates import CandidateKind
from mudy.cli import sources
from mudy.engines.compute import Compute
from mudy.errors import InputError, ModelError, SettingError, VocabularyWarning, unknown
from mudy.extraction.options import Focus, Options, Setup
from mudy.methods import METHODS, check_settings, setting_types
from mudy.reading.languages import AUTO
from mudy.vocabularies import Vocabulary

Command = Callable[..., Any]


# -- Words -> values --------------------------------------------------------------------------------------------------


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
    """The name of a known model, a folder, or an id on the hub; nothing is fetched yet. An endpoint has its own."""
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


def _methods(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return [CompletionItem(name) for name in METHODS if name.startswith(incomplete)]


def _models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    from mudy import models

    return [CompletionItem(name) for name in models.KNOWN if name.startswith(incomplete)]


TOP_N: dict[str, Any] = {"callback": top_n, "metavar": "NUMBER|SHARE|auto|all"}
METHOD: dict[str, Any] = {"callback": method, "metavar": "NAME", "shell_complete": _methods}
SEVERAL: dict[str, Any] = {"callback": method_names, "metavar": "NAME,NAME", "shell_complete": _methods}
MODEL_OPTION: dict[str, Any] = {"callback": model, "metavar": "NAME", "shell_complete": _models}
KNOWN_MODEL: dict[str, Any] = {"callback": _known_model_names, "shell_complete": _models}
ENDPOINT: dict[str, Any] = {"metavar": "URL", "is_eager": True}  # for it decides what --model may be
WORKERS: dict[str, Any] = {"type": click.IntRange(1), "default": 1, "show_default": True}
ENCODING: dict[str, Any] = {"help": "Encoding of the files.  [default: by byte-order mark, else UTF-8]"}
SET: dict[str, Any] = {
    "metavar": "NAME=VALUE",
    "multiple": True,
    "help": "A setting of the method (see `mudy methods`); may be repeated. Lists: 1,2,3.",
}
_READERS: dict[str, dict[str, Any]] = {  # of options whose words are not plain values
    "top_n": TOP_N
    | {
        "default": str(options_of(Options)["top_n"].default),
        "help": f"{options_of(Options)['top_n'].help} Also 2%, or all.",
    },
    "method": METHOD,
    "model": MODEL_OPTION,
    "encoder": MODEL_OPTION,
    "endpoint": ENDPOINT,
    "seeds": {"multiple": True},
}


# -- Declared options -------------------------------------------------------------------------------------------------


def parameter(option: Option, **changes: Any) -> Callable[[Command], Command]:
    """A declared option as one of a command; `changes` are arguments of `click.option`."""
    return click.option(*_names(option), option.name, **_arguments(option) | changes)


def _names(option: Option) -> list[str]:
    long = f"--{option.name.replace('_', '-')}"
    if bool in option.types:
        return [long.replace("--", "--no-", 1)] if option.default else [f"{long}/{long.replace('--', '--no-', 1)}"]
    return [option.flag] if option.flag.startswith("--") else [option.flag, long] if option.flag else [long]


def _arguments(option: Option) -> dict[str, Any]:
    """A declaration as arguments of `click.option`."""
    shown = option.default is not None and bool not in option.types
    text = f"Do not {option.help[0].lower()}{option.help[1:]}" if option.default is True else option.help
    file = f" A file: {option.file}." if option.file else ""
    default = f"  [default: {option.none}]" if option.default is None and option.none else ""
    return {
        "default": None if option.file else option.default,
        "show_default": shown and option.default != (),
        "metavar": option.metavar or ("FILE" if option.file else None),
        "help": f"{text}{file}{default}",
        **_kind(option),
        **_READERS.get(option.name, {}),
    }


def _kind(option: Option) -> dict[str, Any]:
    """The type of a declared option in the terms of click."""
    kind = option.types[0]
    if bool in option.types:
        return {"is_flag": True, "default": False, "callback": _negated} if option.default else {}
    if get_origin(kind) is Literal and len(option.types) == 1:
        return {"type": click.Choice(get_args(kind))}
    if kind in (int, float) and len(option.types) == 1:
        limited: Any = click.IntRange if kind is int else click.FloatRange
        return {"type": kind if option.least is None else limited(option.least, option.most)}
    return {}


def _negated(ctx: click.Context, param: click.Parameter, value: bool) -> bool:  # noqa: ARG001
    return not value


def with_options(declaring: type, *names: str, without: Iterable[str] = ()) -> Callable[[Command], Command]:
    """The options that a dataclass declares, in its order: those named, or all that commands offer."""
    declared = options_of(declaring)
    chosen = [declared[name] for name in names] or [option for option in declared.values() if option.commands]

    def add(command: Command) -> Command:
        for option in reversed(chosen):
            command = command if option.name in without else parameter(option)(command)
        return command

    return add


on_machine = with_options(Compute)
with_models = with_options(Setup, "model", "encoder")
with_focus = with_options(Focus)
LANGUAGE, PRESET = (_arguments(options_of(Setup)[name]) for name in ("language", "preset"))
DTYPE, THREADS = (_arguments(options_of(Compute)[name]) for name in ("dtype", "threads"))
PHRASE_FILES = tuple(name for name, option in options_of(Options).items() if option.file)  # options that may name one


def given_options(given: dict[str, Any], encoding: str | None = None) -> tuple[Options, dict[str, Any]]:
    """The options of each text, and the settings that turn a ranking; files of phrases are read.

    All of it is taken out of what a command was given; what is left makes an extractor.
    """
    source = click.get_current_context().get_parameter_source("max_candidate_words")
    limited = source not in (None, ParameterSource.DEFAULT)
    if limited and (_names_a_file(given["candidates"]) or given["protocol"]):
        raise click.UsageError("--max-candidate-words has no effect on --candidates or under a --protocol.")
    values = {name: given.pop(name) for name in options_of(Options) if name in given and name != "language"}
    if _names_a_file(values["candidates"]):
        values["candidates"] = phrases_option("--candidates", values["candidates"], encoding)
    values["stop_phrases"] = phrases_option("--stop-phrases", values["stop_phrases"], encoding) or ()
    values["vocabulary"] = vocabulary_option(values["vocabulary"], given["language"], encoding)
    focus = Focus(**{name: given.pop(name) for name in options_of(Focus)})
    return Options(**{"top_n": None, **values}), focus.settings()


def _names_a_file(candidates: str | None) -> bool:
    return candidates is not None and candidates not in get_args(CandidateKind)


def vocabulary_option(path: str | None, language: str, encoding: str | None) -> Vocabulary | None:
    """The vocabulary of a file, in the language of the texts; its notes are for the command to show."""
    if path is None:
        return None
    code = "en" if language == AUTO else language.partition("_")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VocabularyWarning)
        try:
            return Vocabulary.load(path, language=code if code.isalpha() else "en", encoding=encoding)
        except (InputError, SettingError) as error:
            raise click.BadParameter(str(error), param_hint="'--vocabulary'") from error


def phrases_option(option: str, path: str | None, encoding: str | None) -> list[str] | None:
    """The phrases of a file that an option names, if it names one."""
    if path is None:
        return None
    try:
        return sources.phrases_in(path, encoding)
    except InputError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint=f"'{option}'") from error


# -- Settings of a method ---------------------------------------------------------------------------------------------


def settings(method: str, pairs: Iterable[str]) -> dict[str, Any]:
    """NAME=VALUE pairs as the method's settings, each of the type that its field has."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, word = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise SettingError(f"--set takes NAME=VALUE, such as alpha=0.5, not {pair!r}.")
        check_settings(method, {name: word})
        kind = setting_types(method)[name]
        try:
            values[name] = parse_value(word, kind)
        except ValueError:
            raise SettingError(f"--set {name}: {word!r} was given, but {type_in_words(kind)} is needed.") from None
    return values


def settings_of_each(methods: Sequence[str], pairs: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The settings of several methods: METHOD.NAME=VALUE; NAME=VALUE alone is for mudy, or for the only method."""
    pairs_of: dict[str, list[str]] = {method: [] for method in methods}
    default = methods[0] if len(methods) == 1 else "mudy"
    for pair in pairs:
        before, dot, rest = pair.partition(".")
        named = dot and "=" not in before
        method = before.strip() if named else default
        if method not in pairs_of:
            hint = "" if named else f" For another method: --set {methods[0]}.{pair}"
            raise SettingError(f"--set {pair}: {method} is not among the methods {', '.join(methods)}.{hint}")
        pairs_of[method].append(rest if named else pair)
    return {method: settings(method, chosen) for method, chosen in pairs_of.items()}
