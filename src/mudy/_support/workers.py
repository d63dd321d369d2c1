"""Worker processes: the same work as in one process, by several at once, with outcomes in the order of the items."""

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from itertools import count
from queue import SimpleQueue
from threading import Lock, RLock, Thread, current_thread
from typing import Any, Generic, Protocol, Self, TypeVar

from mudy._support.callbacks import report_share
from mudy._support.processes import ChildProcess, how_it_ended, python_environment
from mudy._support.this_process import usable_cpus
from mudy.errors import WorkerError

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
ItemIn = TypeVar("ItemIn", contravariant=True)
OutcomeOut = TypeVar("OutcomeOut", covariant=True)

AHEAD = 4  # chunks that are read ahead for each process
STARTS_IN_A_ROW = 4  # how many more processes than the pool holds may be killed at their start
_LISTEN_SECONDS = 0.25  # between two looks at the progress of the first task
_SILENT_SECONDS, _BYTES_PER_SECOND = 1200.0, 1000.0
_MALLOC = {  # glibc keeps little of the memory that is freed, unless the caller has set it otherwise
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(4 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(1400 << 10),
}


class Work(Protocol[ItemIn, OutcomeOut]):
    """What worker processes do. It is pickled, so it holds no model: each process loads its own."""

    def start(self) -> Callable[[Sequence[ItemIn]], Sequence[OutcomeOut]]:
        """Called once in each worker process; returns the function that computes the outcomes of some items."""

    def lost(self, item: ItemIn, error: WorkerError) -> OutcomeOut:
        """The outcome of an item that ended two worker processes, or stopped them; called in the calling process."""


class Cancelling(BaseException):
    """Ends a task that nobody waits for any more. No `except Exception` may take it for a failure of a text."""


class WorkerEnded(WorkerError):
    """A worker process that ended in the middle of a task, or had to be ended because it did not answer."""


def threads_each(workers: int, threads: int | None) -> int:
    """Threads of each of several processes: as asked for, else an equal share of the CPUs."""
    return threads or max(1, usable_cpus() // workers)


def pickled_work(work: object, what: str = "The settings") -> bytes:
    try:
        return pickle.dumps(work)
    except Exception as error:
        raise WorkerError(f"{what} cannot be sent to worker processes: {error}") from error


_numbers = count(1)  # of tasks


class Task:
    """Some items, pickled, and a future for their outcomes."""

    def __init__(self, items: Any) -> None:
        self.body = pickled_work(items, "A text")
        self.future: Future[Any] = Future()
        self.number = next(_numbers)
        self.share = 0.0  # that is computed

    def settle(self, outcome: Any) -> None:
        """Set the outcomes, or the exception instead of them, unless they are set already."""
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.future.set_exception(outcome)
            else:
                self.future.set_result(outcome)


class WorkerProcess:
    """A process that computes tasks. `changed` is called, in another thread, when it is ready, free, or has ended."""

    def __init__(self, work: bytes, changed: "Callable[[WorkerProcess], None]", at_once: int = 1) -> None:
        self._changed, self._lock = changed, Lock()
        self.tasks: dict[int, Task] = {}  # that it computes, by number
        self.ready = False
        self._silent = 0.0  # seconds waited since its last message
        self.failure: Exception | None = None  # why it is of no use any more
        self._child = ChildProcess("mudy._support.worker_main", {**_MALLOC, **python_environment()})
        self._outbox: SimpleQueue[tuple[dict[str, Any], bytes] | None] = SimpleQueue()
        self._outbox.put(({"kind": "work", "task": 0, "at_once": at_once}, work))
        self.pid = self._child.pid
        # A process that was stopped reads nothing, and would block whoever writes to it.
        self._sender = Thread(target=self._send_all, name=f"mudy-worker-sender-{self.pid}", daemon=True)
        self._receiver = Thread(target=self._receive_all, name=f"mudy-worker-process-{self.pid}", daemon=True)
        self._sender.start()
        self._receiver.start()

    def submit(self, task: Task) -> None:
        """Have a task computed; its future is set in any case, also if the process ends."""
        with self._lock:
            if self.failure is None:
                self.tasks[task.number], self._silent = task, 0.0
                self._outbox.put(({"kind": "task", "task": task.number}, task.body))
            else:
                task.settle(self.failure)

    def cancel(self, task: Task) -> None:
        self._outbox.put(({"kind": "cancel", "task": task.number}, b""))

    def waited(self, seconds: float, limit: Callable[[int], float]) -> None:
        """Count time that was waited for it; kill it if it was silent for too long, by the bytes of its tasks."""
        with self._lock:
            if self.failure is not None or (self.ready and not self.tasks):
                return
            self._silent += seconds
            if self._silent <= limit(sum(len(task.body) for task in self.tasks.values())):
                return
            self.failure = WorkerEnded(
                f"The worker process that computed it gave no sign of life for {self._silent:,.0f} seconds."
            )
        self._child.kill()  # its receiver does the rest

    def close(self) -> None:
        """End the process; whoever waits for its tasks is told."""
        self._child.kill()
        if current_thread() is not self._receiver:  # where a garbage collection may close a pool
            self._receiver.join()

    def _send_all(self) -> None:
        """In the sender's thread: pass messages on until there are no more."""
        while (message := self._outbox.get()) is not None:
            with suppress(OSError, ValueError):  # it has ended, which its receiver notices
                self._child.send(*message)

    # -- In the receiver's thread -------------------------------------------------------------------------------------

    def _receive_all(self) -> None:
        with suppress(EOFError, OSError, ValueError):  # of a message that was cut off
            while True:
                self._take(*self._child.receive())
        self._end()

    def _take(self, header: dict[str, Any], body: bytes) -> None:
        kind, task = header["kind"], self.tasks.get(header["task"])
        with self._lock:
            self._silent = 0.0
        if kind == "unable":
            self.failure = pickle.loads(body)
        elif kind == "ready":
            self.ready = True
        elif task is not None and kind == "progress":
            task.share = header["share"]
            return
        elif task is not None:
            with self._lock:
                del self.tasks[task.number]
            task.settle(pickle.loads(body))
        self._changed(self)

    def _end(self) -> None:
        """End the process, which has closed its output, and fail its tasks."""
        self._child.kill()
        self._outbox.put(None)
        self._sender.join()  # before the pipe that it writes to is closed
        code = self._child.close()
        with self._lock:
            self.failure = self.failure or _failure(code, self.ready)
            tasks, self.tasks = list(self.tasks.values()), {}
        for task in tasks:
            task.settle(self.failure)
        self._changed(self)


def _failure(code: int, ready: bool) -> WorkerError:
    """Why a process ended; one that was killed, or ended by its task, is worth replacing."""
    how = how_it_ended(code)
    if not ready and code >= 0:
        return WorkerError(f"A worker process ended at its start ({how}). What it wrote to standard error says why.")
    why = " The system ends processes so when memory runs out." if code == -9 else ""
    return WorkerEnded(f"The worker process that computed it ended ({how}).{why}")


def silent_seconds(size: int) -> float:
    """How long a process that computes so many bytes may be silent: far longer than any that is not stuck."""
    return _SILENT_SECONDS + size / _BYTES_PER_SECOND


class WorkerPool(Generic[Item, Outcome]):
    """Up to `size` processes that share a queue of tasks; each is started when it is needed.

    A process that has ended, or was silent for longer than `limit` (of the bytes that it computes), is replaced; its
    task fails with WorkerEnded. If one fails at its start, or too many in a row are killed there, all tasks fail.
    """

    def __init__(self, work: Work[Item, Outcome], size: int, limit: Callable[[int], float] = silent_seconds) -> None:
        self.work, self.size, self._limit = work, size, limit
        self._work = pickled_work(work)
        self._queue: deque[Task] = deque()
        self._processes: list[WorkerProcess] = []
        self._killed_starts = 0  # processes, since one was ready
        self._failure: Exception | None = None  # for all tasks
        self._lock, self._owner = RLock(), os.getpid()

    def submit(self, items: Any, *, first: bool = False) -> Task:
        """Put items at the end of the queue, or in front of it; their outcomes come as the task's future."""
        task = Task(items)
        with self._lock:
            self._queue.insert(0 if first else len(self._queue), task)
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
                self._processes.append(WorkerProcess(self._work, self._update))
            except OSError as error:
                self._failure = WorkerError(f"No worker process could be started: {error.strerror or error}.")
        self._fail_queued()

    def _update(self, process: WorkerProcess) -> None:
        """A process is ready, free or gone. One that ends after its start is replaced: its task or chance ended it."""
        with self._lock:
            if process.ready:
                self._killed_starts = 0
            if process.failure is not None and process in self._processes:
                self._processes.remove(process)
                if not isinstance(process.failure, WorkerEnded):
                    self._failure = self._failure or process.failure
                elif not process.ready:
                    self._killed_starts += 1
            if self._killed_starts > self.size + STARTS_IN_A_ROW:
                self._failure = WorkerError(
                    f"{self._killed_starts} worker processes were killed at their start, one after the other. "
                    f"{process.failure} Use fewer workers than {self.size}."
                )
            self._assign()

    def _fail_queued(self) -> None:
        while self._queue and self._failure is not None:
            self._queue.popleft().settle(self._failure)

    def close(self) -> None:
        """End all processes; whoever waits for a task is told."""
        if os.getpid() != self._owner:  # after a fork: they belong to another process
            return
        with self._lock:
            self._failure = self._failure or WorkerError("The worker processes were closed.")
            self._fail_queued()
            processes = list(self._processes)
        for process in processes:
            process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ordered_outcomes(pool: WorkerPool[Item, Outcome], chunks: Iterable[Sequence[Item]]) -> Iterator[Outcome]:
    """The outcome of each item of each chunk, in order; if the next chunk raises, the outcomes before it come first."""
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
        yield from _awaited(pool, task)
    except WorkerEnded:
        again = [pool.submit([item], first=True) for item in reversed(chunk)]
        for item, alone in zip(chunk, reversed(again), strict=True):
            try:
                yield from _awaited(pool, alone)
            except WorkerEnded as error:
                yield pool.work.lost(item, error)


def _awaited(pool: WorkerPool[Item, Outcome], task: Task) -> Sequence[Outcome]:
    """The outcomes of a task; meanwhile its progress is reported in this thread, and stuck processes are ended."""
    while not wait([task.future], _LISTEN_SECONDS).done:
        pool.waited(_LISTEN_SECONDS)
        if task.share:
            report_share(task.share)
    return list(task.future.result())
