"""Cancellation: long computations call `check` often, and whoever started them may make it raise.

Everything that can take more than a moment calls `check` between its steps: tagging, looking up candidates, passes
through a model, iterations of PageRank, ranking. A caller that wants to be asked runs the work within `checked_by`, and
what its callback raises ends the work. Each thread has its own callback; without one a check costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Check = Callable[[], None]

_callback: ContextVar[Check | None] = ContextVar("cancellation", default=None)


def check() -> None:
    """Call the callback of this thread, if there is one; raises what the callback raises."""
    callback = _callback.get()
    if callback is not None:
        callback()


def current_check() -> Check:
    """The callback of this thread, to be called from a callback that is put in its place."""
    return _callback.get() or (lambda: None)


@contextmanager
def checked_by(callback: Check) -> Iterator[None]:
    """Have `check` call this while the block runs."""
    token = _callback.set(callback)
    try:
        yield
    finally:
        _callback.reset(token)


def cancellable(items: Iterable[T], every: int = 1) -> Iterator[T]:
    """The same items, with a check before the first one and after every so many."""
    for number, item in enumerate(items):
        if number % every == 0:
            check()
        yield item
