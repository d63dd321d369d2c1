"""Work of a few lines for worker processes, which end at named moments; imported by them too."""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mudy._support.callbacks import check
from mudy._support.workers import WorkerPool
from mudy.errors import InputError, WorkerError


class Unsendable(Exception):
    """An exception that cannot be unpickled: it is made of two arguments, and keeps one."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


@dataclass(frozen=True)
class Squares:
    """Squares of numbers; a word says what else is to happen."""

    folder: str = ""

    def start(self) -> Callable[[Sequence[Any]], list[Any]]:
        return lambda items: [self.outcome(item) for item in items]

    def lost(self, item: Any, error: WorkerError) -> Any:
        return f"{item} lost: {error}"

    def outcome(self, item: Any) -> Any:
        if isinstance(item, int):
            return item * item
        if item == "pid":
            return os.getpid()
        if item == "die" or (item == "die once" and self._first_time()):
            os.kill(os.getpid(), signal.SIGKILL)
        if item == "stop" or (item == "stop once" and self._first_time()):
            Path(self.folder, "stopped").touch()
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(1e6)  # this thread may still run for a moment
        if item == "ours":
            raise InputError("no text")
        if item == "theirs":
            raise ZeroDivisionError("by hand")
        if item == "unsendable":
            raise Unsendable("first", "second")
        if item == "print":
            print("not an answer")
        if item == "wait":
            Path(self.folder, "waiting").touch()
            while True:
                check()
                time.sleep(0.01)
        if item == "threads":
            return threading.current_thread().name
        return item

    def _first_time(self) -> bool:
        try:
            Path(self.folder, "died").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


@dataclass(frozen=True)
class Unable:
    """Work that no process can begin: it raises, ends the process, or has it killed."""

    code: int | None = None

    def start(self) -> Callable[[Sequence[Any]], list[Any]]:
        if self.code is not None and self.code < 0:
            os.kill(os.getpid(), -self.code)
        if self.code is not None:
            os._exit(self.code)
        raise InputError("nothing to work with")

    def lost(self, item: Any, error: WorkerError) -> Any:
        raise AssertionError(f"{item} is no item's fault: {error}")


def pids(pool: WorkerPool[Any, Any]) -> list[int]:
    return [process.pid for process in pool._processes]
