"""Arguments, checked where they come in: a value of the wrong type raises an error of ours that names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from reprlib import Repr
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from mudy.errors import InputError, MudyError, SettingError, unknown

TopN = int | float | Literal["auto"] | None
SHORT = Repr()
SHORT.maxstring = SHORT.maxother = 60


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
        limits = (f" from {least} up" if least is not None and most is None else "") + (
            f" between {least} and {most}" if least is not None and most is not None else ""
        )
        raise error(f"{name} is {seen(value)}, but must be {type_in_words(kind, limits)}.") from None
    return fitted


def fit_value(value: Any, kind: Any) -> Any:
    """The value as one of a type, or Misfit; what is neither a number, a text nor a list of them passes as it is."""
    value = python_scalar(value)
    form, arguments = get_origin(kind), get_args(kind)
    if form in (Union, UnionType):
        return fit_any(value, arguments)
    if form is Literal:
        fits = any(type(value) is type(choice) and value == choice for choice in arguments)
    elif form is tuple:
        return fit_tuple(value, arguments)
    elif kind is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and not isnan(value)
    elif kind is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif kind in (str, bool, NoneType):
        fits = isinstance(value, kind)
    elif kind is Callable:
        fits = callable(value)
    else:
        fits = True
    if not fits:
        raise Misfit
    return value


def fit_any(value: Any, kinds: Iterable[Any]) -> Any:
    for kind in kinds:
        try:
            return fit_value(value, kind)
        except Misfit:
            continue
    raise Misfit


def fit_tuple(value: Any, kinds: Sequence[Any]) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise Misfit
    if kinds[-1] is Ellipsis:
        return tuple(fit_value(item, kinds[0]) for item in value)
    if len(value) != len(kinds):
        raise Misfit
    return tuple(fit_value(item, kind) for item, kind in zip(value, kinds, strict=True))


def python_scalar(value: Any) -> Any:
    """A scalar of numpy or torch as Python's own; anything else as it is."""
    is_scalar = hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", None) == 0
    return value.item() if is_scalar else value


def type_in_words(kind: Any, limits: str = "") -> str:
    """A type in words."""
    form, arguments = get_origin(kind), get_args(kind)
    if form in (Union, UnionType):
        return " or ".join(type_in_words(a, limits) for a in arguments)
    if form is Literal:
        return " or ".join(map(repr, arguments))
    if form is tuple:
        many = "a list" if arguments[-1] is Ellipsis else f"a list of {len(arguments)}"
        return f"{many}, each {type_in_words(arguments[0])}"
    words = {
        bool: "True or False",
        int: f"a whole number{limits}",
        float: f"a number{limits}",
        NoneType: "None",
        Callable: "a function",
    }
    return words.get(kind, "a str")


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
        raise InputError(
            f"{name} is the single text {SHORT.repr(value)}, but a list of {what} is needed. Put it in a list."
        )
    if isinstance(value, bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{name} is {seen(value)}, but a list of {what} is needed.")
    return value


def page_starts(value: Any) -> tuple[int, ...]:
    """The offsets at which pages begin: whole numbers from 0 up that do not fall."""
    starts = checked("pages", value, tuple[int, ...], error=InputError)
    if any(start < 0 for start in starts) or list(starts) != sorted(starts):
        raise InputError(f"pages is {seen(value)}, but offsets must be from 0 up and must not fall.")
    return tuple(starts)


def checked_top_n(value: Any) -> TopN:
    """How many keyphrases are asked for: a number, a share of the text's words, "auto", or None for all."""
    top_n = python_scalar(value)
    if isinstance(top_n, str) and top_n == "auto":
        return "auto"
    if top_n is None or (isinstance(top_n, int) and not isinstance(top_n, bool) and top_n >= 1):
        return top_n
    if isinstance(top_n, float) and 0 < top_n < 1:
        return top_n
    raise SettingError(
        f"top_n is {seen(top_n)}, but must be a whole number from 1 up, a share between 0 and 1, 'auto', or None for "
        "all."
    )


def known_names(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """An option that nobody knows raises, with the nearest that is known."""
    for name in given:
        if name not in known:
            raise SettingError(unknown(what, name, known))
