"""Options and arguments: declared once, with their help and limits, and checked where they come in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from math import isnan
from reprlib import Repr
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from mudy.errors import InputError, MudyError, SettingError, unknown

TopN = int | float | Literal["auto"] | None
SHORT = Repr()
SHORT.maxstring = SHORT.maxother = 60


@dataclass(frozen=True)
class Option:
    """One option: what Python, the command line, the service and assistants need to know about it."""

    name: str
    kind: Any  # its type
    default: Any
    help: str
    none: str = ""  # what None stands for
    least: float | None = None
    most: float | None = None
    most_served: float | None = None  # the limit for requests, where it is lower
    check: Callable[[Any], Any] | None = None  # replaces the check of type and limits
    needs: str = ""  # an option without which it has no effect; requests hold it inside of that one
    flag: str = ""  # on the command line, where it is not the name
    metavar: str | None = None
    file: str = ""  # on the command line its value is in a file, which is described here
    commands: bool = True  # offered by the command line
    requests: bool = True  # offered by the service
    assistants: Any = None  # the type offered to assistants; None: not offered

    @property
    def types(self) -> tuple[Any, ...]:
        """The types of its values other than None."""
        members = get_args(self.kind) if get_origin(self.kind) in (Union, UnionType) else (self.kind,)
        return tuple(member for member in members if member is not NoneType)

    def checked(self, value: Any) -> Any:
        """The value, normalized; a wrong one raises."""
        if self.check is not None:
            return self.check(value)
        return checked(self.name, value, self.kind, least=self.least, most=self.most)


def declared(default: Any, help: str, **details: Any) -> Any:  # noqa: A002 (as click and argparse name it)
    """A field of a dataclass that is an option; `details` are fields of `Option`."""
    return field(default=default, metadata={"help": help, **details})


@cache
def options_of(declaring: type) -> dict[str, Option]:
    """The options that a dataclass declares, by name."""
    kinds = get_type_hints(declaring)
    return {f.name: Option(f.name, kinds[f.name], f.default, **f.metadata) for f in fields(declaring)}


def check_options(declaring: Any) -> None:
    """Check and normalize all options of a frozen dataclass, for its `__post_init__`."""
    kind: Any = type(declaring)
    for option in options_of(kind).values():
        object.__setattr__(declaring, option.name, option.checked(getattr(declaring, option.name)))


class Misfit(Exception):
    """A value that is not of the type asked for."""


def checked(
    name: str,
    value: Any,
    kind: Any,
    *,
    least: float | None = None,
    most: float | None = None,
    error: type[MudyError] = SettingError,
) -> Any:
    """A value of the type that a hint describes, within its limits; numpy's scalars become Python's."""
    try:
        fitted = fit_value(value, kind)
        too_small = fitted is not None and least is not None and fitted < least
        too_large = fitted is not None and most is not None and fitted > most
        if too_small or too_large:
            raise Misfit
    except Misfit:
        limits = "" if least is None else f" from {least} up" if most is None else f" between {least} and {most}"
        raise error(f"{name} is {seen(value)}, but must be {type_in_words(kind, limits)}.") from None
    return fitted


def fit_value(value: Any, kind: Any) -> Any:
    """The value as one of a type, or Misfit; what is neither a number, a text nor a list of them passes as it is."""
    value = python_scalar(value)
    form, arguments = get_origin(kind), get_args(kind)
    if form in (Union, UnionType):
        for member in arguments:
            with suppress(Misfit):
                return fit_value(value, member)
        raise Misfit
    if form is Literal:
        fits = any(type(value) is type(choice) and value == choice for choice in arguments)
    elif form is tuple:
        return _fit_tuple(value, arguments)
    elif kind is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and not isnan(value)
    elif kind is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif kind in (str, bool, NoneType):
        fits = isinstance(value, kind)
    elif kind is Callable:
        fits = callable(value)
    else:
        fits = not is_dataclass(kind) or isinstance(value, kind)  # type: ignore[arg-type]  # a class
    if not fits:
        raise Misfit
    return value


def _fit_tuple(value: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    if isinstance(value, list | tuple):
        kinds = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
        if len(value) == len(kinds):
            return tuple(map(fit_value, value, kinds))
    raise Misfit


TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def parse_value(word: str, kind: Any) -> Any:
    """A word, as typed on a command line, as a value of a type; ValueError if it is not one."""
    form, arguments = get_origin(kind), get_args(kind)
    if form in (Union, UnionType):
        if NoneType in arguments and word.lower() in ("none", "null"):
            return None
        return parse_value(word, next(argument for argument in arguments if argument is not NoneType))
    if form is tuple:
        parts = [part.strip() for part in word.strip("()").split(",") if part.strip()]
        kinds = arguments[:1] * len(parts) if arguments[-1] is Ellipsis else arguments
        return tuple(parse_value(part, kind) for part, kind in zip(parts, kinds, strict=True))
    try:
        value = TRUTHS[word.lower()] if kind is bool else word if form is Literal else kind(word)
        return fit_value(value, kind)
    except (KeyError, Misfit):
        raise ValueError(word) from None


def python_scalar(value: Any) -> Any:
    """A scalar of numpy or torch as Python's own; anything else as it is."""
    is_scalar = hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", None) == 0
    return value.item() if is_scalar else value


def type_in_words(kind: Any, limits: str = "") -> str:
    form, arguments = get_origin(kind), get_args(kind)
    if form in (Union, UnionType):
        return " or ".join(type_in_words(a, limits) for a in arguments)
    if form is Literal:
        return " or ".join(map(repr, arguments))
    if form is tuple:
        many = "a list" if arguments[-1] is Ellipsis else f"a list of {len(arguments)}"
        return f"{many}, each {type_in_words(arguments[0])}"
    words = {bool: "True or False", int: f"a whole number{limits}", float: f"a number{limits}", NoneType: "None"}
    return words.get(kind, "a function" if kind is Callable else "a str")


def seen(value: Any) -> str:
    """A value as an error shows it: short, and with its type where that may be the trouble."""
    shown = SHORT.repr(value)
    return shown if isinstance(python_scalar(value), int | float | NoneType) else f"{shown} ({type(value).__name__})"


def phrases(name: str, value: Any) -> Sequence[str]:
    """Several phrases as a list or tuple; one text in the place of a list, and what is no text, raise."""
    items = several(name, value, "phrases")
    listed = items if isinstance(items, list | tuple) else tuple(items)
    for item in listed:
        if not isinstance(item, str):
            raise InputError(f"{name} holds {seen(item)}, but each phrase must be a str.")
    return listed


def several(name: str, value: Any, what: str) -> Iterable[Any]:
    """A list of something, or what else can be walked through; a single text, bytes and mappings cannot be meant."""
    if isinstance(value, str):
        shown = SHORT.repr(value)
        raise InputError(f"{name} is the single text {shown}, but a list of {what} is needed. Put it in a list.")
    if isinstance(value, bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{name} is {seen(value)}, but a list of {what} is needed.")
    return value


def page_starts(value: Any) -> tuple[int, ...]:
    """The offsets at which pages begin: whole numbers from 0 up that do not fall."""
    starts: tuple[int, ...] = checked("pages", value, tuple[int, ...], error=InputError)
    if any(start < 0 for start in starts) or list(starts) != sorted(starts):
        raise InputError(f"pages is {seen(value)}, but offsets must be from 0 up and must not fall.")
    return starts


def checked_top_n(value: Any) -> TopN:
    """How many keyphrases are asked for: a number, a share of the text's words, "auto", or None for all."""
    top_n = python_scalar(value)
    auto = isinstance(top_n, str) and top_n == "auto"
    count = isinstance(top_n, int) and not isinstance(top_n, bool) and top_n >= 1
    share = isinstance(top_n, float) and 0 < top_n < 1
    if top_n is None or auto or count or share:
        return top_n  # type: ignore[no-any-return]
    raise SettingError(
        f"top_n is {seen(top_n)}, but must be a whole number from 1 up, a share between 0 and 1, 'auto', or None for "
        "all."
    )


def known_names(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """An option that nobody knows raises, with the nearest that is known."""
    for name in given:
        if name not in known:
            raise SettingError(unknown(what, name, known))
