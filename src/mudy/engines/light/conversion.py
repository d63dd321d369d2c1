"""model.safetensors in float32 -> the same weights in 8 bits, written once and checked at every use.

Linear layers are stored as (in, out) in int8 with a scale for each output, word vectors as (words, width) in uint8
around 128 with a scale for each word: they serve both to look a word up and, as the left side of a product, to score
the vocabulary. Norms and biases stay in float32.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mudy._support.storage import atomic_write, exclusive_lock
from mudy.engines.light.products import LARGEST, MIDDLE
from mudy.engines.light.weight_file import WeightFile
from mudy.errors import ModelUnavailable
from mudy.models import Report, home
from mudy.models.download_progress import silent
from mudy.models.fetch import FULL
from mudy.models.fingerprint import quick_hash

_FORMAT = "mudy-int8-1"  # raise it when what is written changes
SOURCE, NAME = "model.safetensors", "int8.safetensors"
_HASH_SIZE = 32  # hexadecimal digits of XXH3's 128 bits
_ROWS = 16_384  # rounded at a time
_BYTES = 1 << 24  # hashed at a time


class StoredTensor(NamedTuple):
    """One tensor to be written."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    values: Callable[[], Iterator[NDArray[Any]]]  # in stretches, one after the other


def int8_weights(folder: Path, report: Report = silent) -> WeightFile:
    """The 8-bit weights of a model's folder, converted first if they are not there, or damaged."""
    path, source = converted_path(folder), source_identity(folder / SOURCE)
    if (found := checked_file(path, source)) is not None:
        return found
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting = f"Waiting for another process that converts {folder.name}"
        with exclusive_lock(path.with_name(f".{path.name}.lock"), waiting=lambda: report(waiting, 0, None)):
            if (found := checked_file(path, source)) is None:  # else another process did the work meanwhile
                check_source(folder / SOURCE)
                convert_to_int8(WeightFile(folder / SOURCE), path, source, report)
                found = checked_file(path, source)
    except OSError as error:
        room = " It needs about a quarter of the model's size." if error.errno in FULL else ""
        raise ModelUnavailable(
            f"The 8-bit weights of {folder} cannot be written to {path.parent}: {error.strerror or error}.{room} "
            "Set MUDY_HOME to a folder that can be written and has room, or use speed='exact'."
        ) from error
    if found is None:
        raise ModelUnavailable(f"The 8-bit weights in {path} are damaged right after they were written.")
    return found


def converted_path(folder: Path) -> Path:
    """Where the 8-bit weights are kept: with a model of our cache, else in a folder of their own under `home()`."""
    folder = folder.resolve()
    if folder.parent == (home() / "models").resolve():
        return folder / NAME
    return home() / "converted" / f"{folder.name}-{sha256(str(folder).encode()).hexdigest()[:16]}.safetensors"


def source_identity(source: Path) -> str:
    """What tells one source from another without reading it: its size, and its hash in our manifest, else its time."""
    try:
        found = source.stat()
    except OSError as error:
        raise ModelUnavailable(
            f"{source} is missing; without torch, weights must be in one {SOURCE} in the model's folder."
        ) from error
    return f"{found.st_size}-{listed_hash(source) or found.st_mtime_ns}"


def check_source(source: Path) -> None:
    """Raise if the weights of a cached model are not those that its manifest lists."""
    listed = listed_hash(source)
    if listed is not None and quick_hash(source) != listed:
        raise ModelUnavailable(f"{source} is damaged. Delete {source.parent} to have it fetched again.")


def listed_hash(source: Path) -> str | None:
    """The hash of a file in the manifest of a cached model: unlike its time, it outlasts a copy of the cache."""
    try:
        manifest = json.loads((source.parent / "manifest.json").read_text(encoding="utf-8"))
        return str(manifest["files"][source.name]["xxh3_128"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def checked_file(path: Path, source: str) -> WeightFile | None:
    """A finished conversion of a source, all bytes checked; None if there is none, or a damaged or outdated one."""
    found = finished_file(path, source)
    return found if found is not None and found.metadata.get("xxh3_128") == content_hash(path) else None


def finished_file(path: Path, source: str) -> WeightFile | None:
    """A conversion of a source that is as long as its header says; None if there is none."""
    try:
        found = WeightFile(path)
    except ModelUnavailable:
        return None
    same = found.metadata.get("format") == _FORMAT and found.metadata.get("source") == source
    return found if same else None


def content_hash(path: Path) -> str:
    """XXH3 of all bytes after the header. Read, not mapped: a file cut short meanwhile would end this process."""
    from xxhash import xxh3_128

    digest, buffer = xxh3_128(), memoryview(bytearray(_BYTES))
    with path.open("rb", buffering=0) as file:
        (size,) = struct.unpack("<Q", file.read(8))
        file.seek(8 + size)
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
    return str(digest.hexdigest())


def convert_to_int8(weights: WeightFile, path: Path, source: str, report: Report = silent) -> None:
    """Write the 8-bit weights; the file takes its name when all of it is on the disk."""
    pieces = list(pieces_of(weights))
    metadata = {"format": _FORMAT, "source": source, "xxh3_128": "0" * _HASH_SIZE}
    with atomic_write(path) as unfinished:
        with unfinished.open("wb") as file:
            file.write(safetensors_header(pieces, metadata))
            for done, piece in enumerate(pieces):
                for values in piece.values():
                    file.write(np.ascontiguousarray(values).data)
                report("Rounding weights to 8 bits", done + 1, len(pieces))
        digest = content_hash(unfinished)
        with unfinished.open("rb+") as file:
            file.write(safetensors_header(pieces, metadata | {"xxh3_128": digest}))


def safetensors_header(pieces: list[StoredTensor], metadata: Mapping[str, str]) -> bytes:
    """The head of a safetensors file, padded so that tensors begin at a multiple of 64 bytes."""
    table: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for piece in pieces:
        size = (4 if piece.dtype == "F32" else 1) * int(np.prod(piece.shape))
        table[piece.name] = {"dtype": piece.dtype, "shape": piece.shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(table).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return struct.pack("<Q", len(text)) + text


def pieces_of(weights: WeightFile) -> Iterator[StoredTensor]:
    """What is written for each tensor of a model."""
    for name in weights:
        shape = weights.shape(name)
        if not name.endswith(".weight") or len(shape) != 2:
            if name.endswith((".weight", ".bias")):
                yield StoredTensor(name, "F32", shape, lambda name=name: iter([weights.floats(name)]))  # type: ignore[misc]
            continue
        words = "embed" in name or name == "lm_head.weight"
        rows = lambda name=name, words=words: rounded_parts(weights.tensor(name), words)  # noqa: E731
        scales = lambda name=name: iter([row_scales(weights.tensor(name))])  # noqa: E731
        yield StoredTensor(name, "U8" if words else "I8", shape if words else shape[::-1], rows)
        yield StoredTensor(f"{name}.scales", "F32", shape[:1], scales)


def row_scales(values: NDArray[Any]) -> NDArray[np.float32]:
    """The scale of each row; (rows,)."""
    parts = [np.abs(values[i : i + _ROWS]).max(1) for i in range(0, len(values), _ROWS)]
    largest: NDArray[np.float32] = np.maximum(np.concatenate(parts).astype(np.float32), np.float32(1e-12))
    return np.divide(largest, np.float32(LARGEST))


def rounded_parts(values: NDArray[Any], words: bool) -> Iterator[NDArray[Any]]:
    """Rows in 8 bits: those of words as they are and unsigned, those of a linear layer as columns and signed."""
    if not words:
        yield round_rows(values.astype(np.float32)).T
        return
    for start in range(0, len(values), _ROWS):
        yield (round_rows(values[start : start + _ROWS].astype(np.float32)).astype(np.int16) + MIDDLE).astype(np.uint8)


def round_rows(rows: NDArray[np.float32]) -> NDArray[np.int8]:
    """Rows as 8-bit integers, each in units of its own scale."""
    found: NDArray[np.int8] = np.rint(rows / row_scales(rows)[:, None]).astype(np.int8)
    return found
