"""Length-prefixed messages between processes: a header in JSON, and bytes. Nothing in them is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

PREFIX = 8  # bytes that hold a message's length


def send(stream: IO[bytes], header: Mapping[str, Any], body: bytes) -> None:
    """Write a header and a body."""
    for part in (json.dumps(header).encode(), body):
        _write(stream, len(part).to_bytes(PREFIX, "big"))
        _write(stream, part)
    stream.flush()


def receive(stream: IO[bytes], most: int | None = None) -> tuple[dict[str, Any], bytes]:
    """Read a header and a body, each of at most so many bytes; EOFError where the other side has ended."""
    header = json.loads(_part(stream, most))
    if not isinstance(header, dict):
        raise ValueError("a header is no object")
    return header, _part(stream, most)


def _part(stream: IO[bytes], most: int | None) -> bytes:
    length = int.from_bytes(_exactly(stream, PREFIX), "big")
    if most is not None and length > most:
        raise ValueError(f"a message of {length:,} bytes")
    return _exactly(stream, length)


def _write(stream: IO[bytes], data: bytes) -> None:
    """Write all of some bytes, also to a stream without a buffer."""
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


def _exactly(stream: IO[bytes], length: int) -> bytes:
    """So many bytes, also from a stream without a buffer."""
    parts: list[bytes] = []
    while length:
        part = stream.read(length)
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
