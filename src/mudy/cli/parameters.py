"""The options of commands, derived from their declarations; and words of the command line -> values and texts."""

import errno
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from mudy import models
from mudy._support.validation import Option, TopN, checked_top_n, options_of, parse_value, type_in_words
from mudy.engines import Compute
from mudy.errors import InputError, ModelError, SettingError, VocabularyWarning, unknown
from mudy.extraction.options import Options, RankingFocus, Setup
from mudy.methods import METHODS, check_settings, setting_types
from mudy.reading.candidates import CandidateKind
from mudy.reading.candidates.vocabularies import Vocabulary
from mudy.reading.formats import Reading, matching_files, read
from mudy.reading.languages import AUTO

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
STDIN = "-"


class KnownName(click.ParamType):  # type: ignore[type-arg]  # generic only in newer releases
    """One of several names, with completion; `known` gives them when they are needed."""

    name = "name"

    def __init__(self, what: str, known: Callable[[], Collection[str]]) -> None:
        self.what, self.known = what, known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.known():
            self.fail(unknown(self.what, value, self.known()), param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(name) for name in self.known() if name.startswith(incomplete)]


class MethodNames(KnownName):
    """Names of methods, separated by commas, none twice."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        names = tuple(name.strip() for name in value.split(",") if name.strip())
        if not names:
            self.fail("No method is named; see `mudy methods`.", param, ctx)
        for name in names:
            super().convert(name, param, ctx)
            if names.count(name) > 1:
                self.fail(f"{name} is named twice; each method is shown once.", param, ctx)
        return names


class ModelName(KnownName):
    """A known model, a folder, or an id on the hub; nothing is fetched yet. A model behind an endpoint has any name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if param is None or param.name != "model" or ctx is None or ctx.params.get("endpoint") is None:
            try:
                models.check_name(value)
            except ModelError as error:
                self.fail(str(error), param, ctx)
        return value


METHOD, METHODS_LISTED = KnownName("method", lambda: METHODS), MethodNames("method", lambda: METHODS)
MODEL, KNOWN_MODEL = ModelName("model", lambda: models.KNOWN), KnownName("model", lambda: models.KNOWN)


def top_n(ctx: click.Context, param: click.Parameter, value: Any) -> TopN:
    """A number, a share of the words (0.02 or 2%), "auto", or "all"."""
    word = str(value).strip().lower()
    if word in ("all", "auto"):
        return None if word == "all" else "auto"
    try:
        number = float(word[:-1]) / 100 if word.endswith("%") else float(word) if "." in word else int(word)
        return checked_top_n(number)
    except ValueError:  # SettingError is one
        reason = f"{value!r} is neither a number from 1 up, nor a share such as 0.02 or 2%, nor 'auto', nor 'all'."
        raise click.BadParameter(reason, ctx, param) from None


def _encoding(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    try:
        "x".encode(value or "utf-8")
    except LookupError:
        raise SettingError(f"{value!r} is not a text encoding; try utf-8, utf-16, latin-1 or cp1252.") from None
    return value


_DETAILS: dict[str, dict[str, Any]] = {  # of options whose words are not plain values
    "top_n": {"type": str, "callback": top_n, "help": f"{options_of(Options)['top_n'].help} Also 2%, or all."},
    "method": {"type": METHOD},
    "model": {"type": MODEL},
    "encoder": {"type": MODEL},
    "endpoint": {"is_eager": True},  # it decides what --model may be
    "seeds": {"multiple": True},
}


def declared_option(declaring: type, name: str, **changes: Any) -> Decorator:
    """An option that a dataclass declares as one of a command; `changes` are arguments of `click.option`."""
    option = options_of(declaring)[name]
    long, negative = (f"--{prefix}{name.replace('_', '-')}" for prefix in ("", "no-"))
    if bool in option.types:
        flags = [negative] if option.default else [f"{long}/{negative}"]
    else:
        flags = [option.flag] if option.flag.startswith("--") else [option.flag, long] if option.flag else [long]
    return click.option(*flags, name, **_arguments(option) | changes)


def _arguments(option: Option) -> dict[str, Any]:
    text = f"Do not {option.help[0].lower()}{option.help[1:]}" if option.default is True else option.help
    file = f" A file: {option.file}." if option.file else ""
    default = f"  [default: {option.none}]" if option.default is None and option.none else ""
    return {
        "default": None if option.file else option.default,
        "show_default": option.default is not None,
        "metavar": option.metavar or ("FILE" if option.file else None),
        "help": f"{text}{file}{default}",
        **_kind(option),
        **_DETAILS.get(option.name, {}),
    }


def _kind(option: Option) -> dict[str, Any]:
    kind = option.types[0]
    if bool in option.types:
        negated = {"is_flag": True, "default": False, "callback": lambda _ctx, _param, value: not value}
        return negated if option.default else {}
    if get_origin(kind) is Literal and len(option.types) == 1:
        return {"type": click.Choice(get_args(kind))}
    if kind in (int, float) and len(option.types) == 1:
        limited: Any = click.IntRange if kind is int else click.FloatRange
        return {"type": kind if option.least is None else limited(option.least, option.most)}
    return {}


def together(*options: Decorator) -> Decorator:
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def with_options(declaring: type, *names: str, without: Collection[str] = ()) -> Decorator:
    """The options that a dataclass declares, in its order: those named, or all that commands offer."""
    offered = [name for name, option in options_of(declaring).items() if option.commands and name not in without]
    return together(*(declared_option(declaring, name) for name in names or offered))


on_machine = with_options(Compute)
with_style = with_options(RankingFocus, "style")
with_method = together(with_options(Setup, "method"), with_style)
with_focus = with_options(RankingFocus, without=["style"])
SETTING = "A setting (see `mudy methods`); may be repeated. Lists: 1,2,3."
with_settings = click.option("--set", "pairs", metavar="NAME=VALUE", multiple=True, help=SETTING)
with_encoding = click.option(
    "--encoding", callback=_encoding, help="Encoding of the files.  [default: by byte-order mark, else UTF-8]"
)
with_quiet = click.option("-q", "--quiet", is_flag=True, help="Print no progress, warnings or summary, only errors.")
with_format = click.option("-f", "--format", "form", type=click.Choice(["table", "json"]), default="table")
COUNT: dict[str, Any] = {"type": click.IntRange(1)}
PHRASE_FILES = tuple(name for name, option in options_of(Options).items() if option.file)  # options that may name one


def given_options(given: dict[str, Any], encoding: str | None = None) -> Options:
    """The options of each text, taken out of what a command was given; files of phrases are read."""
    source = click.get_current_context().get_parameter_source("max_candidate_words")
    limited = source not in (None, ParameterSource.DEFAULT)
    if limited and (_names_a_file(given["candidates"]) or given["protocol"]):
        raise click.UsageError("--max-candidate-words has no effect on --candidates or under a --protocol.")
    values = {name: given.pop(name) for name in options_of(Options) if name in given and name != "language"}
    if _names_a_file(values["candidates"]):
        values["candidates"] = phrases_option("--candidates", values["candidates"], encoding)
    values["stop_phrases"] = phrases_option("--stop-phrases", values["stop_phrases"], encoding) or ()
    values["vocabulary"] = vocabulary_option(values["vocabulary"], given["language"], encoding)
    return Options(**{"top_n": None, **values})


def given_setup(given: dict[str, Any]) -> dict[str, Any]:
    """What makes an extractor: what is left of what a command was given, with the settings of the method."""
    focus = given_focus(given)
    return given | settings(given["method"], given.pop("pairs"), focus.settings())


def given_focus(given: dict[str, Any]) -> RankingFocus:
    return RankingFocus(**{name: given.pop(name) for name in options_of(RankingFocus) if name in given})


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


def phrases_option(option: str, path: str | None, encoding: str | None = None) -> list[str] | None:
    """The phrases of a file, one per line; blank lines and those that start with # are left out."""
    if path is None:
        return None
    try:
        lines = map(str.strip, read(_content(path), ".txt", encoding).text.splitlines())
    except InputError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint=f"'{option}'") from error
    return [line for line in lines if line and not line.startswith("#")]


def settings(method: str, pairs: Iterable[str], focus: dict[str, Any] | None = None) -> dict[str, Any]:
    """NAME=VALUE pairs as the method's settings, each of the type that its field has; with those of `focus`."""
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
    if focus:
        check_settings(method, focus)
        if repeated := [name for name in focus if name in values]:
            raise SettingError(f"--set {repeated[0]} repeats what another option says. Give one of them.")
        values |= focus
    return values


def settings_of_each(methods: Sequence[str], pairs: Iterable[str], focus: RankingFocus) -> dict[str, dict[str, Any]]:
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
    focus_of = focus.settings_of_each(methods)
    return {method: settings(method, chosen, focus_of[method]) for method, chosen in pairs_of.items()}


@dataclass(frozen=True, slots=True)
class Source:
    """Where one text is to come from, or why it cannot."""

    name: str
    problem: str | None = None
    text: str | None = None  # given by itself, not in a file

    @property
    def label(self) -> str | None:
        return self.name if self.text is None else None

    @property
    def shown_name(self) -> str:
        return self.name or repr(self.name)

    def read(self, encoding: str | None = None) -> Reading:
        """The text; InputError or MissingExtra says why there is none."""
        if self.text is not None:
            return Reading(self.text)
        if self.problem:
            raise InputError(self.problem)
        return read(_content(self.name), self.name, encoding)


def text_sources(files: Sequence[str], text: str | None) -> list[Source]:
    """One source per file; a pattern that no shell has expanded gives its files in order."""
    if text is not None:
        if files:
            raise click.UsageError("--text and FILES cannot be given together.")
        return [Source("--text", text=text)]
    if not files:
        if sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError("No input: give files, or - to type a text, or --text, or pipe a text in.")
        files = [STDIN]
    if files.count(STDIN) > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    missing = "no file matches this pattern"
    found = {name: [Source(match) for match in matching_files(name)] for name in files}
    return [source for name in files for source in found[name] or [Source(name, missing)]]


def _content(name: str) -> bytes:
    if name == STDIN and sys.stdin is None:
        raise InputError("standard input is closed")
    if not name:
        raise InputError("an empty file name was given")
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        perhaps_a_text = "; to extract from a text itself, use --text" if " " in name.strip() else ""
        unreadable = f"cannot be read ({error.strerror or error})"
        reasons = {
            errno.ENOENT: f"no such file{perhaps_a_text}",
            errno.EISDIR: f'is a directory; to read its files, pass "{name.rstrip("/") or "/"}/*.txt"',
            errno.EACCES: "may not be read (permission denied)",
            errno.ENAMETOOLONG: unreadable + perhaps_a_text,
        }
        raise InputError(reasons.get(error.errno or 0, unreadable)) from None
