"""Reader processes (`python -m mudy.reading.formats.pool`): each reads file after file, and is killed if one costs too
much. It also limits its own memory and processor time.
"""

import math
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from threading import BoundedSemaphore, Lock, Timer
from typing import Any

from mudy._support.extras import missing_extra
from mudy._support.processes import ChildProcess, child_streams, how_it_ended, python_environment, receive, send
from mudy.errors import InputError
from mudy.reading.document import Block, Span
from mudy.reading.formats import FORMATS, Limits, Reading, TextBuilder

_BYTES_PER_CHARACTER = 15  # at most: 4 of UTF-8, and a page's start or a block for every few characters
_SMALL = 100_000  # bytes of an answer without text
_KEPT_SHARE = 0.5  # of the limit of memory; a process that keeps more after a file is replaced


class ReaderEnded(Exception):
    """A reader process that ended by itself in the middle of a file."""


class FileRead:
    """The reading of one file, which any thread can stop."""

    def __init__(self) -> None:
        self.reason: str | None = None  # why it was stopped
        self.process: ChildProcess | None = None  # that reads it

    def stop(self, reason: str = "was no longer wanted") -> None:
        """Kill the process that reads the file; nothing if the file has been read."""
        self.reason = self.reason or reason
        if (process := self.process) is not None:
            process.kill()


class ReaderProcess(ChildProcess):
    def __init__(self) -> None:
        super().__init__("mudy.reading.formats.pool", _environment(), subprocess.DEVNULL)
        self.fresh = True  # has read nothing so far

    def read(self, kind: str, data: bytes, limits: Limits, file: FileRead) -> Reading:
        """The text of a file; InputError says why it has none. The process is ended whenever it might not be sound."""
        timer = Timer(limits.seconds, file.stop, (f"took longer than {limits.seconds:g} seconds to read",))
        timer.daemon = True
        try:
            timer.start()
            file.process = self
            if file.reason is not None:
                raise InputError(file.reason)
            self.send({"kind": kind, "limits": asdict(limits)}, data)
            header, text = self.receive(_BYTES_PER_CHARACTER * limits.characters + _SMALL)
        except BaseException as error:
            code = self.close()
            if file.reason is not None:
                raise InputError(file.reason) from None
            if isinstance(error, EOFError | OSError | ValueError):
                raise ReaderEnded(code) from None
            raise
        finally:
            file.process = None
            timer.cancel()
        self.fresh = False
        if header["last"] or file.reason is not None:
            self.close()
        if "missing" in header:
            raise missing_extra("readers", "its reader", header["missing"])
        if "error" in header:
            raise InputError(header["error"])
        blocks = header["blocks"]
        if blocks is not None:
            blocks = tuple(Block(Span(start, end), kind, level) for start, end, kind, level in blocks)
        return Reading(text.decode(), tuple(header["pages"]), blocks)


def _environment() -> dict[str, str]:
    """The environment without the settings of MUDY, some of which are secret; for one thread, which saves memory."""
    environment = python_environment(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    return {name: value for name, value in environment.items() if not name.startswith("MUDY_")}


class ReaderPool:
    """A few reader processes for any number of threads; each is started when it is needed, also anew after a fork."""

    def __init__(self, size: int = 2, limits: Limits | None = None) -> None:
        self.size, self.limits = size, limits or Limits()
        self._reset()

    def _reset(self) -> None:
        self._owner, self._lock, self._places = os.getpid(), Lock(), BoundedSemaphore(self.size)
        self._idle: list[ReaderProcess] = []
        self._busy: set[ReaderProcess] = set()

    def _forget_after_fork(self) -> None:
        """Leave the processes to the process that started them."""
        if self._owner != os.getpid():
            processes = [*self._idle, *self._busy]
            self._reset()
            for process in processes:
                process.forget()

    def read(self, kind: str, data: bytes, file: FileRead | None = None) -> Reading:
        """The text of a file of a known kind; waits for a process to be free."""
        file = file or FileRead()
        self._forget_after_fork()
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
                        how, large = how_it_ended(error.args[0]), self.limits.too_large()
                        raise InputError(f"ended the process that read it ({how}): it is broken, or {large}") from None
                finally:
                    self._give_back(process)

    def _taken(self) -> ReaderProcess:
        with self._lock:
            try:
                process = self._idle.pop() if self._idle else ReaderProcess()
            except OSError as error:
                reason = f"no reader process could be started ({error.strerror or error})"
                raise InputError(f"cannot be read: {reason}") from None
            self._busy.add(process)
            return process

    def _give_back(self, process: ReaderProcess) -> None:
        with self._lock:
            wanted = process in self._busy  # the pool was not closed
            self._busy.discard(process)
            if wanted and process.poll() is None:
                self._idle.append(process)
                return
        process.close()

    def close(self) -> None:
        """End all processes; a later file starts a new one."""
        self._forget_after_fork()
        with self._lock:
            idle, busy = self._idle, self._busy
            self._idle, self._busy = [], set()
        for process in idle:
            process.close()
        for process in busy:
            process.kill()  # the thread that reads with it closes it


# -- Within the process -----------------------------------------------------------------------------------------------


def answer_requests() -> None:
    requests, answers = child_streams()
    while True:
        try:
            header, data = receive(requests)
        except EOFError:
            return
        limits = Limits(**header["limits"])
        answer, text = _answered(header["kind"], data, limits)
        del data
        last = _address_space() > _KEPT_SHARE * limits.memory
        send(answers, {**answer, "last": last}, text)
        if last:
            return


def _answered(kind: str, data: bytes, limits: Limits) -> tuple[dict[str, Any], bytes]:
    known = FORMATS[kind]
    try:
        module = import_module(f"mudy.reading.formats.{known.module or kind}")
        with _limited(limits):
            builder = TextBuilder(limits, known.name)
            content = data.decode() if known.in_text else data
            reading: Reading = getattr(module, f"read_{kind}")(builder, content) or builder.reading()
            if len(reading.text) > limits.characters:
                raise InputError(limits.too_long())
            blocks = reading.blocks and [(b.span.start, b.span.end, b.kind, b.level) for b in reading.blocks]
            return {"pages": reading.pages, "blocks": blocks}, reading.text.encode(errors="replace")
    except InputError as error:
        return {"error": str(error)}, b""
    except ImportError as error:
        return {"missing": error.name}, b""
    except MemoryError:
        return {"error": limits.too_large()}, b""
    except Exception as error:  # of whatever kind: a broken file breaks a reader anywhere
        return {"error": f"is a broken {known.name.partition(' ')[2]} ({type(error).__name__})"}, b""


@contextmanager
def _limited(limits: Limits) -> Iterator[None]:
    """Limit memory and, for when the caller has ended, processor time while this block runs, where the system can."""
    used = os.times()
    _set_limit("RLIMIT_CORE", 0)
    _set_limit("RLIMIT_CPU", math.ceil(used.user + used.system + limits.seconds) + 1)
    _set_limit("RLIMIT_AS", _address_space() + limits.memory)
    try:
        yield
    finally:
        _set_limit("RLIMIT_AS", None)  # the next file may be larger


def _set_limit(name: str, value: int | None) -> None:
    """Set one limit of this process; None is the highest that is allowed."""
    try:
        import resource
    except ImportError:  # Windows
        return
    what = getattr(resource, name)
    highest = resource.getrlimit(what)[1]
    if value is None or (highest != resource.RLIM_INFINITY and value > highest):
        value = highest
    with suppress(ValueError, OSError):  # macOS does not know all of them
        resource.setrlimit(what, (value, highest))


def _address_space() -> int:
    """The bytes of address space in use, which is what the limit of memory counts; 0 where that cannot be told."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


if __name__ == "__main__":
    answer_requests()
