"""What worker processes do: a value that is sent to each of them once, and that makes lists of outcomes of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from mudy._support.processes import usable_cpus
from mudy.errors import WorkerError

Item = TypeVar("Item", contravariant=True)
Outcome = TypeVar("Outcome", covariant=True)


class Work(Protocol[Item, Outcome]):
    """What there is to do. It is pickled, so it holds no model: each process loads its own."""

    def start(self) -> Callable[[Sequence[Item]], Sequence[Outcome]]:
        """Called once in each worker process: what makes of each item an outcome, several items at a time."""

    def lost(self, item: Item, error: WorkerError) -> Outcome:
        """The outcome of an item that ended two worker processes, or stopped them; called in the process that asked."""


class Cancelling(BaseException):
    """A task that nobody waits for any more. No `except Exception` may take it for a failure of a text."""


def threads_each(workers: int, threads: int | None) -> int:
    """Threads of each of several processes: as asked for, else an equal share of the CPUs."""
    return threads or max(1, usable_cpus() // workers)
