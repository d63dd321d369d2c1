"""Vectors of texts in a file beside the notes, by the content of the text: what did not change is not encoded again.

The file holds nothing but hashes and vectors, so tags always come from the notes, and a folder may be moved. A file
that is damaged, a link, or of another encoder, precision or version is not used: its vectors are computed again.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import cancellable
from mudy._support.storage import atomic_write

VERSION = 1  # of how texts become vectors; raised when that changes
_BLOCK = 32  # texts encoded at once
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, MemoryError, zipfile.BadZipFile)

Vectors = NDArray[np.float16]
Embed = Callable[[Sequence[str]], Any]


class VectorIndex:
    """The vectors of one history, by encoder and text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._used: dict[str, dict[str, Vectors]] = {}  # encoder -> hash of a text -> its vector
        self.changed = False

    def vectors(self, encoder: str, texts: Sequence[str], embed: Embed, report: Callable[[int], None]) -> Vectors:
        """The vectors of some texts, those encoded now that the file does not have; (texts, width)."""
        used = self._used.setdefault(identity := f"{VERSION}-{encoder}", {})
        stored = _read(self.path, identity)
        hashes = [sha256(text.encode(errors="surrogatepass")).hexdigest() for text in texts]
        used |= {name: stored[name] for name in hashes if name in stored}
        missing = {name: text for name, text in zip(hashes, texts, strict=True) if name not in used}
        names = list(missing)
        for start in cancellable(range(0, len(names), _BLOCK)):
            block = names[start : start + _BLOCK]
            rows = np.asarray(embed([missing[name] for name in block])).astype(np.float16)
            used |= dict(zip(block, rows, strict=True))
            report(start + len(block))
        self.changed |= bool(names)
        return np.stack([used[name] for name in hashes]) if hashes else np.zeros((0, 1), np.float16)

    def save(self) -> None:
        """Write the vectors in use, if they differ from the file; OSError where that is not possible."""
        if not self.changed:
            return
        arrays = _stored(self.path)  # those of other encoders stay
        for encoder, vectors in self._used.items():
            arrays[f"hashes-{encoder}"] = np.array([bytes.fromhex(name) for name in vectors], dtype="V32")
            arrays[f"vectors-{encoder}"] = np.stack(list(vectors.values()))
        with atomic_write(self.path) as unfinished, unfinished.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        self.changed = False


def _stored(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file; nothing where it is damaged, or is no file of ours."""
    with suppress(*_UNREADABLE):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                return dict(stored)
    return {}


def _read(path: Path, encoder: str) -> dict[str, Vectors]:
    """What the file has of an encoder; nothing that is not made of its vectors."""
    stored = _stored(path)
    hashes, vectors = stored.get(f"hashes-{encoder}"), stored.get(f"vectors-{encoder}")
    if hashes is None or vectors is None or hashes.dtype != "V32" or hashes.shape != vectors.shape[:1]:
        return {}
    if vectors.ndim != 2 or vectors.dtype != np.float16:
        return {}
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    if not (abs(lengths - 1) < 0.01).all():  # as an encoder gives them
        return {}
    return {bytes(name).hex(): vector for name, vector in zip(hashes, vectors, strict=True)}
