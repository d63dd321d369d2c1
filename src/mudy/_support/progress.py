"""Progress within one text: a method reports what share of it is done, and whoever started the work may listen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Listener = Callable[[float], None]  # takes the share that is done, from 0 to 1

_listener: ContextVar[Listener | None] = ContextVar("progress", default=None)


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


def with_bar(texts: Iterable[T]) -> Iterable[T]:
    """The same texts, with a bar on standard error that shows how many are done."""
    from rich.console import Console
    from rich.progress import track

    total = len(texts) if isinstance(texts, Sequence) else None
    return track(texts, "Extracting", total=total, console=Console(stderr=True))
