"""Items in, outcomes out in the same order, while several processes compute."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import wait
from typing import Any, TypeVar

from mudy._support.progress import report_share
from mudy._support.workers.worker_pool import WorkerPool
from mudy._support.workers.worker_process import Task, WorkerEnded

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
AHEAD = 4  # chunks that are read ahead for each process
_LISTEN_SECONDS = 0.25  # between two looks at the progress of the first task


def ordered_outcomes(pool: WorkerPool[Item, Outcome], chunks: Iterable[Sequence[Item]]) -> Iterator[Outcome]:
    """The outcome of each item of each chunk, in order. Chunks are taken as they are needed, a few ahead.

    If the next chunk cannot be had, the outcomes of those before come first, and then the exception.
    """
    waiting: deque[tuple[Sequence[Item], Task]] = deque()
    remaining = iter(chunks)
    more, problem = True, None
    while more or waiting:
        if more and len(waiting) < AHEAD * pool.size:
            try:
                chunk = next(remaining)
                waiting.append((chunk, pool.submit(chunk)))
            except StopIteration:
                more = False
            except Exception as error:
                more, problem = False, error
        if waiting and (waiting[0][1].future.done() or not more or len(waiting) >= AHEAD * pool.size):
            yield from _outcomes(pool, *waiting.popleft())
    if problem is not None:
        raise problem


def _outcomes(pool: WorkerPool[Item, Outcome], chunk: Sequence[Item], task: Task) -> Iterator[Outcome]:
    """The outcomes of a chunk. If its process ended, each item is tried once more, alone."""
    try:
        outcomes: Sequence[Outcome] = _awaited(pool, task)
    except WorkerEnded:
        again = [pool.submit([item], first=True) for item in reversed(chunk)]
        for item, alone in zip(chunk, reversed(again), strict=True):
            yield _outcome_alone(pool, item, alone)
    else:
        yield from outcomes


def _outcome_alone(pool: WorkerPool[Item, Outcome], item: Item, task: Task) -> Outcome:
    try:
        outcomes: Sequence[Outcome] = _awaited(pool, task)
    except WorkerEnded as error:
        return pool.work.lost(item, error)
    return outcomes[0]


def _awaited(pool: WorkerPool[Item, Outcome], task: Task) -> Any:
    """What a task gives; meanwhile its progress is reported in this thread, and stuck processes are ended."""
    while not wait([task.future], _LISTEN_SECONDS).done:
        pool.waited(_LISTEN_SECONDS)
        if task.share:
            report_share(task.share)
    return task.future.result()
