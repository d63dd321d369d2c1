"""The reader process: `python -m mudy.reading.formats.worker` reads one file after the other, within limits.

It takes requests from its standard input and answers on its standard output (see `mudy._support.processes`). It limits
its own memory and processor time, so a file that exceeds the limits costs this process alone.
"""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from mudy._support.processes import child_streams, receive, send
from mudy.errors import InputError
from mudy.reading.formats.reading import Limits, Reading

_FORMAT_NAMES = {"pdf": "PDF", "docx": "Word document", "html": "web page"}  # others have the name of their module
_KEPT_SHARE = 0.5  # of the limit of memory; a process that keeps more after a file is replaced


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
    try:
        module = import_module(f"mudy.reading.formats.{kind}")
        reader: Callable[[bytes, Limits], Reading] = getattr(module, f"read_{kind}")
        with _limited(limits):
            reading = reader(data, limits)
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
        return {"error": f"is a broken {_FORMAT_NAMES.get(kind, f'{kind} file')} ({type(error).__name__})"}, b""


@contextmanager
def _limited(limits: Limits) -> Iterator[None]:
    """Limit memory and processor time while this block runs, where the system can.

    The caller ends a file that takes too long; the limit of processor time is for when the caller has ended itself.
    """
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
