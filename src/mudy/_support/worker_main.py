"""A worker process: `python -m mudy._support.worker_main` computes one task after another, or several at once.

It is started by its module's name, so that neither a script without a guard nor a notebook is imported again. Messages
come from standard input, and answers go to standard output (`mudy._support.processes`). It ends when its input does.
"""

import os
import pickle
import sys
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from time import monotonic
from typing import Any

from mudy._support.callbacks import checked_by, reported_to
from mudy._support.processes import child_streams, receive, send
from mudy._support.this_process import give_back, own_process
from mudy._support.workers import Cancelling
from mudy.errors import MudyError, WorkerError

_PROGRESS_SECONDS = 0.2  # between two messages about the progress of a task, which are also signs of life
_RELEASE_SECONDS = 2.0  # between two returns of freed memory to the system
Answer = Callable[..., None]  # sends a message, from any thread: kind, number of the task, body, and more


class RunningTask:
    def __init__(self, number: int, answer: Answer) -> None:
        self.number, self._answer = number, answer
        self.cancelled = Event()
        self._share, self._told = 0.0, monotonic()

    def run(self, compute: Callable[[Any], Any], body: bytes) -> None:
        """Compute it, and answer with the outcomes or the exception."""
        try:
            with checked_by(self._check), reported_to(self._report):
                done = pickle.dumps(compute(pickle.loads(body)))
        except BaseException as error:
            self._answer("failed", self.number, portable(error))
        else:
            self._answer("done", self.number, done)

    def _check(self) -> None:
        if self.cancelled.is_set():
            raise Cancelling
        self._report(self._share)

    def _report(self, share: float) -> None:
        self._share = share
        if monotonic() - self._told > _PROGRESS_SECONDS:
            self._told = monotonic()
            self._answer("progress", self.number, share=share)


def portable(error: BaseException) -> bytes:
    """An exception as bytes, with its type and message; with its traceback in this process unless it is one of ours."""
    if not isinstance(error, MudyError | Cancelling):
        error.add_note("".join(["In a worker process:\n", *traceback.format_exception(error)]).rstrip())
    try:
        body = pickle.dumps(error)
        pickle.loads(body)
    except Exception:  # of whatever kind: an exception may hold anything
        body = pickle.dumps(WorkerError(f"{type(error).__name__}: {error}"))
    return body


def answer_tasks() -> None:
    """Start the work, then answer tasks until there are no more."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # of libraries, for their authors; ours come with the results
    own_process()
    requests, answers = child_streams()
    lock = Lock()

    def answer(kind: str, task: int = 0, body: bytes = b"", **more: Any) -> None:
        with lock:
            send(answers, {"kind": kind, "task": task, **more}, body)

    try:
        header, body = receive(requests)
        compute = pickle.loads(body).start()
    except EOFError:
        return
    except BaseException as error:
        answer("unable", body=portable(error))
        return
    answer("ready")
    running: dict[int, RunningTask] = {}
    released = monotonic()

    def run(task: RunningTask, body: bytes) -> None:
        nonlocal released
        task.run(compute, body)
        del running[task.number]
        if monotonic() - released > _RELEASE_SECONDS:  # glibc keeps most of what a long text has used
            released = monotonic()
            give_back()

    threads = ThreadPoolExecutor(header["at_once"])
    while True:
        try:
            header, body = receive(requests)
        except EOFError:
            os._exit(0)  # and with it the threads that compute
        number = header["task"]
        if header["kind"] == "task":
            running[number] = task = RunningTask(number, answer)
            threads.submit(run, task, body)
        elif (cancelled := running.get(number)) is not None:
            cancelled.cancelled.set()


if __name__ == "__main__":
    answer_tasks()
