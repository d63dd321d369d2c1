"""A few worker processes that share a queue of tasks; each is started when it is needed."""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, Self, TypeVar

from mudy._support.workers.work import Work
from mudy._support.workers.worker_process import Task, WorkerEnded, WorkerProcess
from mudy.errors import WorkerError

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
_STARTS_IN_A_ROW = 4  # of processes that are killed at their start, more than there are at once
_SILENT_SECONDS, _BYTES_A_SECOND = 1200.0, 1000.0


def silent_seconds(size: int) -> float:
    """How long a process that computes so many bytes may be silent: far longer than any that is not stuck."""
    return _SILENT_SECONDS + size / _BYTES_A_SECOND


class WorkerPool(Generic[Item, Outcome]):
    """Up to `size` processes that do some work. One that has ended is replaced; its task fails with WorkerEnded.

    One that is silent for longer than `limit`, a function of the bytes that it computes, is ended. When one fails at
    its start, or too many in a row are killed there, no more are started: every task fails with the same WorkerError.
    """

    def __init__(self, work: Work[Item, Outcome], size: int, limit: Callable[[int], float] = silent_seconds) -> None:
        self.work, self.size, self._limit = work, size, limit
        self._work = pickled_work(work)
        self._queue: deque[Task] = deque()
        self._processes: list[WorkerProcess] = []
        self._killed_starts = 0  # processes, since one was ready
        self._failure: Exception | None = None  # for all tasks
        self._lock, self._owner = RLock(), os.getpid()

    @property
    def pids(self) -> list[int]:
        with self._lock:
            return [process.pid for process in self._processes]

    def submit(self, items: Any, *, first: bool = False) -> Task:
        """Put items into the queue, in front of it or at its end; their outcomes come as the task's future."""
        task = Task.of(items)
        with self._lock:
            if first:
                self._queue.appendleft(task)
            else:
                self._queue.append(task)
            self._assign()
        return task

    def waited(self, seconds: float) -> None:
        """Count time that was waited for outcomes; processes that are silent for too long are ended."""
        with self._lock:
            processes = list(self._processes)
        for process in processes:
            process.waited(seconds, self._limit)

    def _assign(self) -> None:
        """Give tasks to processes that are ready and have none; start processes while tasks are left."""
        while self._queue and self._failure is None:
            process = next((p for p in self._processes if p.ready and not p.tasks and p.failure is None), None)
            if process is not None:
                process.submit(self._queue.popleft())
                continue
            starting = sum(not p.ready for p in self._processes)
            if starting >= len(self._queue) or len(self._processes) >= self.size:
                return
            try:
                self._started()
            except OSError as error:
                self._failure = WorkerError(f"No worker process could be started: {error.strerror or error}.")
        if self._failure is not None:
            self._fail_all(self._failure)

    def _started(self) -> WorkerProcess:
        process = WorkerProcess(self._work, self._changed)
        self._processes.append(process)
        return process

    def _changed(self, process: WorkerProcess) -> None:
        """A process is ready, free or gone."""
        with self._lock:
            if process.ready:
                self._killed_starts = 0
            if process.failure is not None and process in self._processes:
                self._processes.remove(process)
                self._count_end(process)
            self._assign()

    def _count_end(self, process: WorkerProcess) -> None:
        """Whoever ends after its start is replaced: its task is to blame, or chance."""
        if not isinstance(process.failure, WorkerEnded):
            self._failure = self._failure or process.failure
        elif not process.ready:
            self._killed_starts += 1
            if self._killed_starts > self.size + _STARTS_IN_A_ROW:
                self._failure = WorkerError(
                    f"{self._killed_starts} worker processes were killed at their start, one after the other. "
                    f"{process.failure} Use fewer workers than {self.size}."
                )

    def _fail_all(self, failure: Exception) -> None:
        while self._queue:
            self._queue.popleft().settle(failure)

    def close(self) -> None:
        """End all processes; whoever waits for a task is told."""
        if os.getpid() != self._owner:  # after a fork: they are another's
            return
        with self._lock:
            self._failure = self._failure or WorkerError("The worker processes were closed.")
            self._fail_all(self._failure)
            processes = list(self._processes)
        for process in processes:
            process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def pickled_work(work: object) -> bytes:
    """Work as it is sent to a process."""
    try:
        return pickle.dumps(work)
    except Exception as error:
        raise WorkerError(f"The settings cannot be sent to worker processes: {error}") from error
