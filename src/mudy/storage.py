"""Helpers for resumable runs: one writer at a time, atomic files, outputs that are no inputs, and what has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mudy.errors import InputError

if TYPE_CHECKING:
    from mudy.extractor import Extractor


def real(path: str | Path) -> Path:
    """Where a path leads to, through all links; of an output that does not exist yet, where it will be."""
    return Path(os.path.realpath(Path(path).expanduser()))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other runs away from an output, by whatever links they reach it."""
    from filelock import FileLock, Timeout

    place = real(path)
    if not place.parent.is_dir():
        raise InputError(f"{path}: the folder {place.parent} does not exist.")
    file = lock_of(place)
    if file.is_file() and file.stat().st_size:
        raise InputError(
            f"{path}: {file} is in the way: it is no lock of ours, for it is not empty. Name another output."
        )
    lock = FileLock(file)
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
            file.unlink()
        lock.release()


def lock_of(place: Path) -> Path:
    """The lock of an output: hidden, and under a name that no other program uses (as poetry.lock would be)."""
    return place.with_name(f".{place.name}.mudy-lock")


def unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written ({error.strerror or error}).")


def beside(path: Path) -> Path:
    """Where a file is written before it takes its name."""
    return path.with_name(f".{path.name}.part")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file beside its name, which it takes when all is on the disk; after an error it is gone. Links are followed."""
    place = real(path)
    unfinished = beside(place)
    try:
        yield unfinished
        with unfinished.open("rb+") as stream:
            os.fsync(stream.fileno())
        unfinished.replace(place)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


# -- Outputs that are inputs ------------------------------------------------------------------------------------------


def same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two paths lead to one file, through symbolic or hard links."""
    if real(one) == real(other):
        return True
    try:
        return Path(one).samefile(other)
    except OSError:  # one of them does not exist
        return False


def refuse_inputs(output: str | Path, inputs: Iterable[str | Path]) -> None:
    """InputError if an output is one of the inputs, or lies in a folder that is one."""
    for name in inputs:
        if same_file(output, name):
            raise InputError(f"{output} is an input too ({name}), and would be overwritten. Name another output.")
        if Path(name).is_dir() and real(output).is_relative_to(real(name)):
            raise InputError(f"{output} lies in the folder {name}, which is an input. Name another output.")


# -- What a run depends on --------------------------------------------------------------------------------------------


def fingerprints(extractor: Extractor, *, fetch: bool = True) -> dict[str, str]:
    """The models that an extractor's method asks, each by its name, with the fingerprint of what is in its files.

    A model that is not here yet is fetched first, or ModelUnavailable raised. What a server computes has none.
    """
    from mudy import models
    from mudy.methods import method_class
    from mudy.methods.method import Architecture

    def architecture() -> Architecture:
        return Architecture(*models.architecture(extractor.model, fetch=fetch))

    method = method_class(extractor.method)
    settings = {**method.speeds.get(extractor.speed, {}), **extractor.settings}
    needed = method.needed(method.chosen_settings(extractor.preset, settings, architecture), architecture)
    names = [extractor.model] if needed & {"backbone", "chat"} and extractor.endpoint is None else []
    names += [extractor.encoder_name] if "encoder" in needed else []
    return {name: models.signature(name) for name in names if fetch or models.locate(name, fetch=False)}


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
