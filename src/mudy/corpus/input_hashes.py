"""What tells an input from another: a hash over all of its bytes, taken once and remembered with size and times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mudy._support.storage import file_sha256

SETTLED = 2 * 10**9  # nanoseconds: a file that changed more recently may change again without a new time

Known = Mapping[str, Mapping[str, Any]]  # name -> a input_fingerprint and the stamp of the file when it was taken


def stamp_of(name: str) -> list[int]:
    """What changes when a file is written to: its size, and when it and its entry were changed."""
    found = Path(name).stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def input_fingerprint(name: str, known: Known) -> dict[str, Any]:
    """Name, size and hash of a file, and its stamp; the hash is taken from what is known if the stamp is the same."""
    try:
        stamp = stamp_of(name)
        before = known.get(name, {})
        if before.get("stamp") == stamp and isinstance(before.get("hash"), str):
            return dict(before)
        settled = time.time_ns() - max(stamp[1:]) > SETTLED
        digest = file_sha256(Path(name))
    except OSError as error:
        return {"name": name, "bytes": None, "hash": f"unreadable: {error.strerror}", "stamp": None}
    return {"name": name, "bytes": stamp[0], "hash": digest, "stamp": stamp if settled else None}
