"""A worker process as the process that asks sees it: messages go in and come out in threads of their own.

One that was stopped reads nothing, so whoever sends to it directly could wait for ever.
"""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread, current_thread
from typing import Any

from mudy._support.messages import receive, send
from mudy._support.processes import how_it_ended, package_environment, python_command
from mudy.errors import WorkerError

_numbers = count(1)  # of tasks
LITTLE_KEPT = {  # of freed memory, by glibc, unless the caller has set it otherwise
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(4 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(1400 << 10),
}


class WorkerEnded(WorkerError):
    """A worker process that ended in the middle of a task, or had to be ended because it did not answer."""


@dataclass(eq=False)
class Task:
    """Some items, pickled, and a future for their outcomes."""

    body: bytes
    future: Future[Any] = field(default_factory=Future)
    number: int = field(default_factory=lambda: next(_numbers))
    share: float = 0.0  # that is computed

    @classmethod
    def of(cls, items: Any) -> Task:
        try:
            return cls(pickle.dumps(items))
        except Exception as error:
            raise WorkerError(f"Cannot be sent to a worker process: {error}") from error

    def settle(self, outcome: Any) -> None:
        """Set the outcomes, or the exception instead of them; nothing if they are set."""
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.future.set_exception(outcome)
            else:
                self.future.set_result(outcome)


class WorkerProcess:
    """A process that computes tasks. `changed` is called, in another thread, when it is ready, free, or has ended."""

    def __init__(self, work: bytes, changed: Callable[[WorkerProcess], None], at_once: int = 1) -> None:
        self._changed, self._lock = changed, Lock()
        self.tasks: dict[int, Task] = {}  # that it computes, by number
        self.ready = False
        self._silent = 0.0  # seconds that were waited since it was last heard of
        self.failure: Exception | None = None  # why it is of no use, once it is not
        self._process = subprocess.Popen(
            python_command("-m", f"{__package__}.worker_main"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**LITTLE_KEPT, **package_environment()},
            bufsize=0,  # a buffer has a lock, which a fork could leave locked for good
        )
        self._outbox: SimpleQueue[tuple[dict[str, Any], bytes] | None] = SimpleQueue()
        self._send({"kind": "work", "task": 0, "at_once": at_once}, work)
        self._sender = Thread(target=self._send_all, name=f"mudy-worker-sender-{self.pid}", daemon=True)
        self._sender.start()
        self._receiver = Thread(target=self._receive, name=f"mudy-worker-process-{self.pid}", daemon=True)
        self._receiver.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def submit(self, task: Task) -> None:
        """Have a task computed; its future is set in any case, also if the process ends."""
        with self._lock:
            if self.failure is None:
                self.tasks[task.number] = task
                self._silent = 0.0
        if self.failure is not None:
            task.settle(self.failure)
            return
        self._send({"kind": "task", "task": task.number}, task.body)

    def cancel(self, task: Task) -> None:
        """Have a task left where it is; its future is set when that is done."""
        self._send({"kind": "cancel", "task": task.number}, b"")

    def waited(self, seconds: float, limit: Callable[[int], float]) -> None:
        """Count time that was waited for it; end it if it was silent for longer than a limit, by its tasks' bytes."""
        with self._lock:
            if self.failure is not None or (self.ready and not self.tasks):
                return
            self._silent += seconds
            if self._silent <= limit(sum(len(task.body) for task in self.tasks.values())):
                return
            self.failure = WorkerEnded(
                f"The worker process that computed it gave no sign of life for {self._silent:,.0f} seconds."
            )
        self._process.kill()  # its receiver does the rest

    def close(self) -> None:
        """End the process; whoever waits for its tasks is told."""
        self._process.kill()
        self._process.wait()
        if current_thread() is not self._receiver:  # where a garbage collection may close a pool
            self._receiver.join()

    def _send(self, header: dict[str, Any], body: bytes) -> None:
        self._outbox.put((header, body))

    def _send_all(self) -> None:
        """In the thread of the sender: pass messages on, until there are no more."""
        assert self._process.stdin is not None
        while (message := self._outbox.get()) is not None:
            with suppress(OSError, ValueError):  # it has ended, which its receiver notices
                send(self._process.stdin, *message)

    # -- In the thread of the receiver --------------------------------------------------------------------------------

    def _receive(self) -> None:
        assert self._process.stdout is not None
        with suppress(EOFError, OSError, ValueError):  # of a message that was cut off
            while True:
                self._take(*receive(self._process.stdout))
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
        """Fail what it had to compute, and close its pipes."""
        self._process.kill()  # it has closed its output: it answers no more
        code = self._process.wait()
        with self._lock:
            self.failure = self.failure or _failure(code, self.ready)
            tasks, self.tasks = list(self.tasks.values()), {}
        self._outbox.put(None)
        self._sender.join()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()
        for task in tasks:
            task.settle(self.failure)
        self._changed(self)


def _failure(code: int, ready: bool) -> WorkerError:
    """Why a process is of no use any more; only one that was ended from outside, or by its task, is worth replacing."""
    how = how_it_ended(code)
    if not ready and code >= 0:
        return WorkerError(f"A worker process ended at its start ({how}). What it wrote to standard error says why.")
    why = " The system ends processes so when memory runs out." if code == -9 else ""
    return WorkerEnded(f"The worker process that computed it ended ({how}).{why}")
