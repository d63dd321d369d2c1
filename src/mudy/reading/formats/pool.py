"""Reader processes as their callers see them: each reads one file at a time, and is killed when that costs too much."""

from __future__ import annotations

import atexit
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from threading import BoundedSemaphore, Lock, Timer
from typing import Any, Self
from weakref import WeakSet

from mudy._support.extras import missing_extra
from mudy._support.messages import receive, send
from mudy._support.processes import how_it_ended, package_environment, python_command
from mudy.errors import InputError
from mudy.reading.formats.reading import Limits, Reading

BYTES_PER_CHARACTER = 10  # at most: 4 of UTF-8, and a page's start in decimal digits for every other character
SMALL = 100_000  # bytes of an answer without text


class ReaderEnded(Exception):
    """A reader process that ended by itself in the middle of a file."""


class FileRead:
    """The reading of one file, which any thread can stop."""

    def __init__(self) -> None:
        self.reason: str | None = None  # why it was stopped
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def stop(self, reason: str = "was no longer wanted") -> None:
        """Kill the process that reads the file; nothing if the file has been read."""
        with self._lock:
            self.reason = self.reason or reason
            if self._process is not None:
                self._process.kill()

    @contextmanager
    def by(self, process: subprocess.Popen[bytes], limits: Limits) -> Iterator[None]:
        """While this block runs, the file is read by a process, and not for longer than the limit."""
        timer = Timer(limits.seconds, self.stop, (limits.too_slow(),))
        timer.daemon = True
        with self._lock:
            self._check()
            self._process = process
        try:
            timer.start()
            yield
        finally:
            timer.cancel()
            with self._lock:
                self._process = None

    def _check(self) -> None:
        if self.reason is not None:
            raise InputError(self.reason)


class ReaderProcess:
    """A process that reads one file after the other; it is started with the first one."""

    def __init__(self) -> None:
        self.fresh = True  # has read nothing so far
        self._process = subprocess.Popen(
            python_command("-m", f"{__package__}.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            bufsize=0,  # a buffer has a lock, which a fork could leave locked for good
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def read(self, kind: str, data: bytes, limits: Limits, file: FileRead) -> Reading:
        """The text of a file; InputError says why it has none. The process is ended whenever it might not be sound."""
        try:
            with file.by(self._process, limits):
                header, text = self._answer(kind, data, limits)
        except BaseException as error:
            self.close()
            if file.reason is not None:
                raise InputError(file.reason) from None
            if isinstance(error, EOFError | OSError | ValueError):
                raise ReaderEnded(self._process.returncode) from None
            raise
        self.fresh = False
        if header["last"] or file.reason is not None:
            self.close()
        return _reading(header, text)

    def _answer(self, kind: str, data: bytes, limits: Limits) -> tuple[dict[str, Any], bytes]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        send(self._process.stdin, {"kind": kind, "limits": asdict(limits)}, data)
        return receive(self._process.stdout, BYTES_PER_CHARACTER * limits.characters + SMALL)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """End the process, and its pipes with it; for whoever uses them, and for nobody else."""
        self.kill()
        self._process.wait()
        self.forget()

    def forget(self) -> None:
        """Close the pipes; the process ends once all of its callers have."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()
        if self._process.returncode is None:
            self._process.returncode = 0  # a forked process has no such child, and is not to wait for it


def _environment() -> dict[str, str]:
    """Ours without our settings."""
    environment = {name: value for name, value in package_environment().items() if not name.startswith("MUDY_")}
    # One thread: a library's own threads would need address space, which is limited, and find nothing to do.
    return environment | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def _reading(header: dict[str, Any], text: bytes) -> Reading:
    if "missing" in header:
        raise missing_extra("readers", "its reader", header["missing"])
    if "error" in header:
        raise InputError(header["error"])
    return Reading(text.decode(), tuple(header["pages"]))


class ReaderPool:
    """A few reader processes for any number of threads; each is started when it is needed.

    A process in which something went wrong is ended, and the next file gets a new one. After a fork, the new process
    starts reader processes of its own.
    """

    def __init__(self, size: int = 2, limits: Limits | None = None) -> None:
        self.size, self.limits = size, limits or Limits()
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        self._lock, self._places = Lock(), BoundedSemaphore(self.size)
        self._idle: list[ReaderProcess] = []
        self._busy: set[ReaderProcess] = set()

    def read(self, kind: str, data: bytes, file: FileRead | None = None) -> Reading:
        """The text of a file of a known kind; waits for a process to be free."""
        file = file or FileRead()
        with self._places:
            while True:
                process = self._taken()
                fresh = process.fresh
                try:
                    return process.read(kind, data, self.limits, file)
                except ReaderEnded as error:
                    if process not in self._busy:
                        raise InputError("was not read: the readers were closed") from None
                    if fresh:  # else it may be an earlier file's fault, and this one is tried once more
                        raise InputError(_ended(error.args[0], self.limits)) from None
                finally:
                    self._give_back(process)

    def _taken(self) -> ReaderProcess:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.alive:
                    break
                process.close()
            else:
                process = _started()
            self._busy.add(process)
            return process

    def _give_back(self, process: ReaderProcess) -> None:
        with self._lock:
            wanted = process in self._busy  # the pool was not closed
            self._busy.discard(process)
            if wanted and process.alive:
                self._idle.append(process)
                return
        process.close()

    def close(self) -> None:
        """End all processes; a later file starts a new one."""
        with self._lock:
            idle, busy = self._idle, self._busy
            self._idle, self._busy = [], set()
        for process in idle:
            process.close()
        for process in busy:
            process.kill()  # who reads with it sees it end, and closes it

    def forget(self) -> None:
        """After a fork: leave the processes to whom they belong."""
        processes = [*self._idle, *self._busy]
        self._reset()
        for process in processes:
            process.forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _started() -> ReaderProcess:
    try:
        return ReaderProcess()
    except OSError as error:
        raise InputError(f"cannot be read: no reader process could be started ({error.strerror or error})") from None


def _ended(code: int | None, limits: Limits) -> str:
    """The message for a file that ended its process."""
    return f"ended the process that read it ({how_it_ended(code)}): it is broken, or {limits.too_large()}"


_POOLS: WeakSet[ReaderPool] = WeakSet()


def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _forget_all() -> None:
    for pool in list(_POOLS):
        pool.forget()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
