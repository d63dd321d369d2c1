"""Bytes of packed files, .gz and .zst; one that ends too early is an error, never a shorter text."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from mudy._support.extras import from_extra
from mudy.errors import InputError

COMPRESSED = (".gz", ".zst")
_CHUNK_BYTES = 1 << 9  # packed bytes at a time; of the most densely packed file they hold 16 MB


@contextmanager
def unpacked(raw: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """The bytes of an open file, unpacked if its name says that it is packed."""
    ending = next((ending for ending in COMPRESSED if name.lower().endswith(ending)), None)
    if ending is None:
        yield raw
        return
    if not raw.read(1):
        raise InputError(f"is empty, so it is no {ending} file: even one without content has some bytes")
    raw.seek(0)
    with gzip.open(raw, "rb") if ending == ".gz" else io.BufferedReader(ZstdStream(raw)) as stream:
        yield cast(IO[bytes], stream)


class ZstdStream(io.RawIOBase):
    """What the frames of a .zst file hold, one after the other. EOFError where the file ends within a frame."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._decompressor = raw, zstandard().ZstdDecompressor()
        self._frame: Any = None  # the one that is being read
        self._packed = b""  # read, but not unpacked yet
        self._ready = memoryview(b"")  # unpacked, but not asked for yet

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not (self._packed or self._more()):
                return 0
            self._unpack()
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _more(self) -> bool:
        """Read more packed bytes; false at the end of the file."""
        self._packed = self._raw.read(_CHUNK_BYTES)
        if not self._packed and self._frame is not None:
            raise EOFError("the file ends before its last frame does; it was cut off")
        return bool(self._packed)

    def _unpack(self) -> None:
        if self._frame is None:
            self._frame = self._decompressor.decompressobj()
        self._ready = memoryview(self._frame.decompress(self._packed))
        self._packed = self._frame.unused_data  # of the next frame
        if self._frame.eof:
            self._frame = None


def zstandard() -> Any:
    """The package; MissingExtra where it is not installed."""
    with from_extra("corpus", "A .zst file"):
        import zstandard as package
    return package
