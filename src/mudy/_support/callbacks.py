"""What a long computation and whoever started it tell each other: it asks whether to go on, and reports its progress.

Everything that can take more than a moment calls `check` between its steps: tagging, looking up candidates, passes
through a model, iterations of PageRank, ranking. A caller that wants to be asked runs the work within `checked_by`, and
what its callback raises ends the work. Within `reported_to`, it is told what share of a text is done. Each thread has
its own callbacks; without them, both cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Check = Callable[[], None]
Listener = Callable[[float], None]  # takes the share that is done, from 0 to 1

_callback: ContextVar[Check | None] = ContextVar("cancellation", default=None)
_listener: ContextVar[Listener | None] = ContextVar("progress", default=None)


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


@contextmanager
def reported_to(listener: Listener) -> Iterator[None]:
    """Have progress of this thread reported to a listener while the block runs."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_share(share: float) -> None:
    if (listener := _listener.get()) is not None:
        listener(share)


def reported(items: Iterable[T], size: Callable[[T], int], total: int) -> Iterator[T]:
    """The same items; each counts as done, with its share of a total, when the next one is asked for."""
    done = 0
    for item in items:
        yield item
        done += size(item)
        report_share(min(1.0, done / max(1, total)))
