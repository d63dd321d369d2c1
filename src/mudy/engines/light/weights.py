"""The weights of a model in float32 or 8 bits, and the linear layers that multiply by them.

Those in 8 bits are made of model.safetensors, written once, and checked at every use. Linear layers are stored as
(in, out) in int8 with a scale for each output, word vectors as (words, width) in uint8 around 128 with a scale for each
word: they serve both to look a word up and, as the left side of a product, to score the vocabulary. Norms and biases
stay in float32. Each row of states has a scale of its own too, so one large value coarsens no row but its own. States
are unsigned around 128 and weights signed: onnxruntime multiplies signed by signed forty times slower.
"""

import json
import mmap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mudy._support.onnx import CONTRIB, Array, Graph
from mudy._support.storage import atomic_write, exclusive_lock
from mudy.engines import Compute
from mudy.errors import ModelUnavailable
from mudy.models.cache import (
    INT8,
    WEIGHTS,
    drop_float32,
    float32_source,
    home,
    int8_metadata,
    is_cached,
    quick_hash,
    safetensors_header,
)
from mudy.models.fetch import FULL, Report, silent

LARGEST, MIDDLE = 127, 128
SMALLEST_SCALE = 1e-12 / LARGEST


class Prepared(NamedTuple):
    """States as products want them."""

    rows: str
    scales: str = ""


class Products(NamedTuple):
    """Linear layers of a graph, in float32 with weights as model files hold them, (out, in), or in 8 bits with weights
    as (in, out) and one scale for each output.
    """

    int8: bool

    def prepare(self, graph: Graph, states: str) -> Prepared:
        """States (rows, width), ready for any number of products."""
        if not self.int8:
            return Prepared(states)
        highest, lowest = (graph.add(f"Reduce{which}", states, axes=(-1,), keepdims=1) for which in ("Max", "Min"))
        largest = graph.add("Max", highest, graph.add("Neg", lowest))  # three times as fast as Abs of all states
        scales = graph.add("Div", largest, graph.scalar(LARGEST))
        scales = graph.add("Max", scales, graph.scalar(SMALLEST_SCALE))  # (rows, 1)
        flat = graph.add("Reshape", scales, graph.shape(-1))
        middle = graph.add("Expand", graph.scalar(MIDDLE, "uint8"), graph.add("Shape", flat))
        return Prepared(graph.add("QuantizeLinear", states, flat, middle, axis=0), scales)

    def product(self, graph: Graph, states: Prepared, weight: str, bias: str = "") -> str:
        """A linear layer whose weight and bias are given under these names; (rows, out)."""
        if not self.int8:
            given = [graph.input(name) for name in (weight, bias) if name]
            return graph.add("Gemm", states.rows, *given, transB=1)
        given = [graph.input(weight, "int8"), graph.scalar(1.0), graph.input(f"{weight}.scales")]
        product = graph.add("MatMulIntegerToFloat", states.rows, *given, graph.scalar(MIDDLE, "uint8"), domain=CONTRIB)
        product = graph.add("Mul", product, states.scales)
        return graph.add("Add", product, graph.input(bias)) if bias else product


@cache
def int8_is_exact() -> bool:
    """Whether this CPU adds up products of bytes without loss: without VNNI, 16 bits hold two of them and overflow."""
    graph = Graph("check")
    given = graph.input("a", "uint8"), graph.input("b", "int8"), graph.scalar(MIDDLE, "uint8")
    graph.output("sums", graph.add("MatMulInteger", *given), "int32")
    feeds = {"a": np.full((4, 64), 255, np.uint8), "b": np.full((64, 16), LARGEST, np.int8)}
    (sums,) = graph.run(feeds)
    return bool((sums == 64 * (255 - MIDDLE) * LARGEST).all())


# --- Reading: a start maps the file and reads nothing ------------------------------------------------------------

_DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I8": np.int8, "U8": np.uint8, "I64": np.int64}


class WeightFile:
    """Tensors by name; each is a view into the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._table, self._start = _header(self._data)
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
        if entry["dtype"] == "BF16":  # the upper half of a float32
            return (found.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return found

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor in float32: the file itself, if it holds float32."""
        return np.ascontiguousarray(self.tensor(name), np.float32)


class Table(NamedTuple):
    """Vectors of words or positions as a file holds them."""

    values: NDArray[Any]  # (words, width)
    scales: NDArray[np.float32] | None = None  # in 8 bits, of each word

    def rows(self, ids: Iterable[int], factor: float = 1.0) -> NDArray[np.float32]:
        """Some of them in float32, times a factor; (ids, width)."""
        ids = list(ids)
        rows: NDArray[np.float32] = self.values[ids].astype(np.float32)
        scale: Any = np.float32(factor)
        if self.scales is not None:
            rows -= np.float32(MIDDLE)
            scale = self.scales[ids, None] * scale
        rows *= scale
        return rows


Bound = Callable[..., list[Array]]


class LightWeights:
    """The weights of a model, in 8 bits if that is asked for, and how they are multiplied."""

    def __init__(self, folder: Path, compute: Compute, report: Report, norm_offset: float = 0.0) -> None:
        """`norm_offset` is added to the weights of norms: Gemma's are stored around 0."""
        self.int8 = compute.speed in ("fast", "quick") and compute.dtype is None and int8_is_exact()
        self.file = int8_weights(folder, report) if self.int8 else WeightFile(float32_source(folder, report))
        self.products = Products(self.int8)
        self._norm_offset = np.float32(norm_offset)

    def bound(self, graph: Graph, prefix: str) -> Bound:
        """A graph with its weights, which have the names that the graph gives them; its other inputs have no dot."""
        weights = {name: self._weight(prefix + name, kind) for name, kind in graph.inputs.items() if "." in name}
        return lambda **states: graph.run(weights | states)

    def _weight(self, name: str, kind: str) -> NDArray[Any]:
        weight = self.file.floats(name) if kind == "float32" else self.file.tensor(name)
        return weight + self._norm_offset if name.endswith("norm.weight") else weight

    def table(self, name: str) -> Table:
        return Table(self.file.tensor(name), self.file.tensor(f"{name}.scales") if self.int8 else None)


def _header(data: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The table of tensors, and where their bytes begin; ValueError if the file is cut short."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 + size:
        raise ValueError("the file is cut short")
    table = json.loads(data[8 : 8 + size])
    table.pop("__metadata__", None)
    end = max((entry["data_offsets"][1] for entry in table.values()), default=0)
    if 8 + size + end != len(data):
        raise ValueError(f"it has {len(data):,} bytes instead of {8 + size + end:,}")
    for name, entry in table.items():
        start, stop = entry["data_offsets"]
        width = np.dtype(_DTYPES[entry["dtype"]]).itemsize if entry["dtype"] in _DTYPES else None
        if not 0 <= start <= stop or (width is not None and stop - start != width * prod(entry["shape"])):
            raise ValueError(f"{name} does not fit its shape")
    return table, 8 + size


_FORMAT = "mudy-int8-1"  # raise it when what is written changes
_HASH_SIZE = 32  # hexadecimal digits of XXH3's 128 bits
_ALIGNMENT = 64  # bytes
_ROWS = 16_384  # rounded at a time


def int8_weights(folder: Path, report: Report = silent) -> WeightFile:
    """The 8-bit weights of a model's folder, converted first if they are missing or damaged.

    In the cache they replace the float32 weights that they were made of, unless those are in use.
    """
    path, source = converted_path(folder), source_identity(folder / WEIGHTS)
    if (weights := checked_file(path, source)) is not None:
        return weights
    original = float32_source(folder, report, keep=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting = f"Waiting for another process that converts {folder.name}"
        with exclusive_lock(path.with_name(f".{path.name}.lock"), waiting=lambda: report(waiting, 0, None)):
            if checked_file(path, source) is None:  # else another process did the work meanwhile
                convert_to_int8(WeightFile(original), path, source, report)
            converted = checked_file(path, source)
            if converted is not None:
                drop_float32(folder)
    except OSError as error:
        room = " It needs about a quarter of the model's size." if error.errno in FULL else ""
        raise ModelUnavailable(
            f"The 8-bit weights of {folder} cannot be written to {path.parent}: {error.strerror or error}.{room} "
            "Set MUDY_HOME to a folder that can be written and has room, or use speed='exact'."
        ) from error
    if converted is None:
        raise ModelUnavailable(f"The 8-bit weights in {path} are damaged right after they were written.")
    return converted


def converted_path(folder: Path) -> Path:
    """Where the 8-bit weights are kept: with a model of our cache, else in a folder of their own under `home()`."""
    folder = folder.resolve()
    if is_cached(folder):
        return folder / INT8
    return home() / "converted" / f"{folder.name}-{sha256(str(folder).encode()).hexdigest()[:16]}.safetensors"


def source_identity(source: Path) -> str:
    """What tells one source from another without reading it: its size, and its hash in our manifest, else its time.

    The source itself may be gone if the manifest, which a copy of the cache keeps, lists it.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):  # not of our cache
        entry = json.loads((source.parent / "manifest.json").read_text(encoding="utf-8"))["files"][source.name]
        return f"{entry['size']}-{entry['xxh3_128']}"
    try:
        state = source.stat()
    except OSError as error:
        raise ModelUnavailable(
            f"{source} is missing; without torch, weights must be in one {WEIGHTS} in the model's folder."
        ) from error
    return f"{state.st_size}-{state.st_mtime_ns}"


def checked_file(path: Path, source: str) -> WeightFile | None:
    """A finished conversion of a source, all bytes checked; None if there is none, or a damaged or outdated one."""
    metadata = int8_metadata(path) or {}
    same = metadata.get("format") == _FORMAT and metadata.get("source") == source
    try:
        return WeightFile(path) if same else None
    except ModelUnavailable:
        return None


def convert_to_int8(weights: WeightFile, path: Path, source: str, report: Report = silent) -> None:
    """Write the 8-bit weights; the file takes its name when all of it is on the disk."""
    table = list(stored_tensors(weights))
    metadata = {"format": _FORMAT, "source": source, "xxh3_128": "0" * _HASH_SIZE}
    with atomic_write(path) as unfinished:
        with unfinished.open("wb") as file:
            start = file.write(safetensors_header(table, metadata, _ALIGNMENT))
            for done, (name, dtype, _) in enumerate(table):
                for values in stored_values(weights, name, dtype):
                    file.write(np.ascontiguousarray(values).data)
                report("Rounding weights to 8 bits", done + 1, len(table))
        metadata["xxh3_128"] = quick_hash(unfinished, start)
        with unfinished.open("rb+") as file:
            file.write(safetensors_header(table, metadata, _ALIGNMENT))


def stored_tensors(weights: WeightFile) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Name, type and shape of all that is written: words as they are and unsigned, linear layers as columns."""
    for name in weights:
        shape = weights.shape(name)
        if name.endswith(".weight") and len(shape) == 2:
            words = "embed" in name or name == "lm_head.weight"
            yield name, "U8" if words else "I8", shape if words else shape[::-1]
            yield f"{name}.scales", "F32", shape[:1]
        elif name.endswith((".weight", ".bias")):
            yield name, "F32", shape


def stored_values(weights: WeightFile, name: str, dtype: str) -> Iterator[NDArray[Any]]:
    """The values of one of them, in stretches."""
    if name.endswith(".scales"):
        yield row_scales(weights.tensor(name.removesuffix(".scales")))
    elif dtype == "F32":
        yield weights.floats(name)
    elif dtype == "I8":
        yield round_rows(weights.floats(name)).T
    else:
        values = weights.tensor(name)
        for start in range(0, len(values), _ROWS):
            rounded = round_rows(values[start : start + _ROWS].astype(np.float32))
            yield (rounded.astype(np.int16) + MIDDLE).astype(np.uint8)


def row_scales(values: NDArray[Any]) -> NDArray[np.float32]:
    parts = [np.abs(values[i : i + _ROWS]).max(1) for i in range(0, len(values), _ROWS)]
    largest: NDArray[np.float32] = np.maximum(np.concatenate(parts).astype(np.float32), np.float32(1e-12))
    return np.divide(largest, np.float32(LARGEST))


def round_rows(rows: NDArray[np.float32]) -> NDArray[np.int8]:
    """Rows as 8-bit integers, each in units of its own scale."""
    return np.asarray(np.rint(rows / row_scales(rows)[:, None]).astype(np.int8))
