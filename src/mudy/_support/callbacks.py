"""What a long computation and whoever started it tell each other: it asks whether to go on, and reports its progress.

Everything that can take more than a moment calls `check` between its steps. A caller that wants to be asked runs the
work within `checked_by`, and what its callback raises ends the work. Each thread has its own callbacks.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Check = Callable[[], None]
Listener = Callable[[float], None]  # takes the share that is done, from 0 to 1

_callback: ContextVar[Check] = ContextVar("cancellation", default=lambda: None)
_listener: ContextVar[Listener] = ContextVar("progress", default=lambda _: None)


def check() -> None:
    """Call the callback of this thread, if there is one; raises what the callback raises."""
    _callback.get()()


def current_check() -> Check:
    """The callback of this thread, to be called from a callback that is put in its place."""
    return _callback.get()


@contextmanager
def _in_place(variable: ContextVar[T], value: T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def checked_by(callback: Check) -> AbstractContextManager[None]:
    """Have `check` call this while the block runs."""
    return _in_place(_callback, callback)


def reported_to(listener: Listener) -> AbstractContextManager[None]:
    """Have progress of this thread reported to a listener while the block runs."""
    return _in_place(_listener, listener)


def cancellable(items: Iterable[T], every: int = 1) -> Iterator[T]:
    """The same items, with a check before the first one and after every so many."""
    for number, item in enumerate(items):
        if number % every == 0:
            check()
        yield item


def report_share(share: float) -> None:
    _listener.get()(share)


def reported(items: Iterable[T], size: Callable[[T], int], total: int) -> Iterator[T]:
    """The same items; each counts as done, with its share of a total, when the next one is asked for."""
    done = 0
    for item in items:
        yield item
        done += size(item)
        report_share(min(1.0, done / max(1, total)))
