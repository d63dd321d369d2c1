"""Python processes: started without code from the current folder, and spoken to in length-prefixed messages.

Python looks for modules in the current folder first when it runs `-m` or `-c`, so a pip.py in a folder of downloads
would be run. A message is a header in JSON and a body of bytes; nothing in it is run.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

_PREFIX = 8  # bytes that hold a message's length


def python_command(*arguments: str) -> list[str]:
    """The running Python with some arguments, which does not import from the current folder."""
    return [sys.executable, "-P", *arguments]


def python_environment(**more: str) -> dict[str, str]:
    """The environment for such a process, which also finds this package: PYTHONPATH without relative entries."""
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(entry).is_absolute()]
    home = str(Path(__file__).absolute().parents[2])
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join([*given, home]), **more}


class ChildProcess(subprocess.Popen[bytes]):
    """A process that runs a module of this package, takes messages, and answers with messages."""

    def __init__(self, module: str, environment: Mapping[str, str], stderr: int | None = None) -> None:
        command, pipe = python_command("-m", module), subprocess.PIPE
        # Without buffers: a buffer has a lock, which a fork could leave locked for good.
        super().__init__(command, stdin=pipe, stdout=pipe, stderr=stderr, env=environment, bufsize=0)
        assert self.stdin is not None
        assert self.stdout is not None
        self._requests, self._answers = self.stdin, self.stdout

    def send(self, header: Mapping[str, Any], body: bytes) -> None:
        send(self._requests, header, body)

    def receive(self, most: int | None = None) -> tuple[dict[str, Any], bytes]:
        """The next answer, of at most so many bytes; EOFError if the process has ended."""
        return receive(self._answers, most)

    def close(self) -> int:
        """End the process, close its pipes, and return its exit code; for the thread that uses the pipes."""
        self.kill()
        code = self.wait()
        self.forget()
        return code

    def forget(self) -> None:
        """Close the pipes, after a fork; the process ends once all copies of them are closed."""
        for stream in (self._requests, self._answers):
            with suppress(OSError):
                stream.close()
        if self.returncode is None:
            self.returncode = 0  # it is not a child of a forked process, which must not wait for it


def child_streams() -> tuple[IO[bytes], IO[bytes]]:
    """In a child process: where requests come from, and where answers go. What a library prints is discarded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is left to the process that started this one
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return sys.stdin.buffer, answers


def how_it_ended(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def send(stream: IO[bytes], header: Mapping[str, Any], body: bytes) -> None:
    """Write a header and a body, also to a stream without a buffer."""
    for part in (json.dumps(header).encode(), body):
        for data in (len(part).to_bytes(_PREFIX, "big"), part):
            view = memoryview(data)
            while view:
                view = view[stream.write(view) :]
    stream.flush()


def receive(stream: IO[bytes], most: int | None = None) -> tuple[dict[str, Any], bytes]:
    """Read a header and a body, each of at most so many bytes; EOFError where the other side has ended."""
    header = json.loads(_part(stream, most))
    if not isinstance(header, dict):
        raise ValueError("a header is not an object")
    return header, _part(stream, most)


def _part(stream: IO[bytes], most: int | None) -> bytes:
    length = int.from_bytes(_exactly(stream, _PREFIX), "big")
    if most is not None and length > most:
        raise ValueError(f"a message of {length:,} bytes")
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    """So many bytes, also from a stream without a buffer."""
    parts: list[bytes] = []
    while length:
        part = stream.read(length)
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
