"""Weights as numpy arrays over a memory-mapped safetensors file: a start maps it and reads nothing."""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy.errors import ModelUnavailable

_DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I8": np.int8, "U8": np.uint8, "I64": np.int64}
_LARGEST_HEADER = 100_000_000  # bytes; as the format has it


class WeightFile:
    """Tensors by name; each is a view into the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self.metadata, self._table, self._start = _header(self._data)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelUnavailable(f"The weights in {path} cannot be read: {error}.") from error

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._table[name]["shape"])

    def tensor(self, name: str) -> NDArray[Any]:
        """A tensor as it lies in the file; bfloat16, which numpy does not know, as float32."""
        if name not in self._table:
            raise ModelUnavailable(f"The weights in {self.path} hold no {name}.")
        entry = self._table[name]
        kind = _DTYPES.get(entry["dtype"])
        if kind is None:
            raise ModelUnavailable(
                f"{name} in {self.path} is {entry['dtype']}; F32, F16 or BF16 is needed without torch."
            )
        start = self._start + entry["data_offsets"][0]
        found = np.frombuffer(self._data, kind, prod(entry["shape"]), start).reshape(entry["shape"])
        return widened(found) if entry["dtype"] == "BF16" else found

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor in float32: the file itself, if it holds float32."""
        return np.ascontiguousarray(self.tensor(name), np.float32)


def widened(values: NDArray[np.uint16]) -> NDArray[np.float32]:
    """bfloat16 as float32, of which it is the upper half."""
    return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _header(data: mmap.mmap) -> tuple[dict[str, str], dict[str, Any], int]:
    """Metadata, the table of tensors, and where their bytes begin; ValueError if the file is cut short."""
    if len(data) < 8:
        raise ValueError("the file is cut short")
    (size,) = struct.unpack_from("<Q", data, 0)
    if size > min(_LARGEST_HEADER, len(data) - 8):
        raise ValueError("the file is cut short")
    table = json.loads(data[8 : 8 + size])
    metadata = table.pop("__metadata__", {})
    end = max((entry["data_offsets"][1] for entry in table.values()), default=0)
    if 8 + size + end != len(data):
        raise ValueError(f"it has {len(data):,} bytes instead of {8 + size + end:,}")
    for name, entry in table.items():
        start, stop = entry["data_offsets"]
        width = np.dtype(_DTYPES[entry["dtype"]]).itemsize if entry["dtype"] in _DTYPES else None
        if not 0 <= start <= stop or (width is not None and stop - start != width * prod(entry["shape"])):
            raise ValueError(f"{name} does not fit its shape")
    return metadata, table, 8 + size
