"""What all that goes on after a kill needs: one writer at a time, files that are whole or absent, and what changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mudy.errors import InputError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other runs away from an output."""
    from filelock import FileLock, Timeout

    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist.")
    lock = FileLock(f"{path}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(f"{path}: another run is writing to it; wait for it, or name another output.") from None
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield
    finally:
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()


def unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written ({error.strerror or error}).")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file beside its name, which it takes when all is on the disk; after an error it is gone."""
    beside = path.with_name(f".{path.name}.part")
    try:
        yield beside
        with beside.open("rb+") as stream:
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What changed, in words, entry by entry; after both went through JSON."""
    first, second = _flat(before), _flat(now)
    names: Iterable[str] = dict.fromkeys([*first, *second])
    return [
        f"{name} was {first.get(name)!r}, now {second.get(name)!r}"
        for name in names
        if first.get(name) != second.get(name)
    ]


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entry in json.loads(json.dumps(value)).items():
        found |= _flat(entry, f"{prefix}{name}.") if isinstance(entry, dict) else {f"{prefix}{name}": entry}
    return found
