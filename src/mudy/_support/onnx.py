"""Small ONNX graphs written by hand, and sessions of onnxruntime that compute them.

A graph is a list of operators; weights are inputs, never part of it, so one graph serves every layer of a model and a
memory-mapped weight is used where it lies. The few fields of ModelProto that onnxruntime asks for are written as
protobuf bytes, without the `onnx` package.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cached_property
from threading import Lock
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from mudy._support.processes import usable_cpus
from mudy.errors import MissingExtra

ElementType = Literal["float32", "uint8", "int8", "int32", "int64"]
ELEMENT_TYPES: Mapping[str, int] = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}  # TensorProto.DataType
IR_VERSION, OPSET, CONTRIB_OPSET = 8, 17, 1
CONTRIB = "com.microsoft"  # onnxruntime's own operators, part of every build of it
Attribute = int | float | str | tuple[int, ...]


class Graph:
    """A graph under construction: operators in the order in which they run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self.inputs: dict[str, ElementType] = {}
        self._outputs: list[bytes] = []
        self._count = 0

    def input(self, name: str, kind: ElementType = "float32") -> str:
        """A tensor that is given at each run, of whatever shape."""
        self.inputs[name] = kind
        return name

    def output(self, name: str, value: str, kind: ElementType = "float32") -> None:
        """A tensor that each run gives back under a name."""
        self._nodes.append(_node("Identity", [value], [name], "", {}))
        self._outputs.append(_value_info(name, kind))

    def constant(self, value: NDArray[np.generic]) -> str:
        """A small tensor that is part of the graph."""
        name = self._new("constant")
        self._constants.append(_tensor(name, value))
        return name

    def scalar(self, value: float, kind: ElementType = "float32") -> str:
        return self.constant(np.array(value, kind))

    def shape(self, *sizes: int) -> str:
        return self.constant(np.array(sizes, np.int64))

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """One operator; gives the name of its result."""
        return self.add_many(operator, *inputs, results=1, domain=domain, **attributes)[0]

    def add_many(
        self, operator: str, *inputs: str, results: int, domain: str = "", **attributes: Attribute
    ) -> list[str]:
        """One operator with several results; gives their names."""
        names = [self._new(operator) for _ in range(results)]
        self._nodes.append(_node(operator, inputs, names, domain, attributes))
        return names

    def model(self) -> bytes:
        graph = _strings(1, self._nodes) + _text(2, self.name) + _strings(5, self._constants)
        graph += _strings(11, (_value_info(*pair) for pair in self.inputs.items())) + _strings(12, self._outputs)
        opsets = [_text(1, "") + _number(2, OPSET), _text(1, CONTRIB) + _number(2, CONTRIB_OPSET)]
        return _number(1, IR_VERSION) + _bytes(7, graph) + _strings(8, opsets)

    def _new(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"


# --- Sessions ----------------------------------------------------------------------------------------------------


MOST_THREADS = 8  # of one process, unless more are asked for: products are small
Array = NDArray[np.float32]
Feeds = Mapping[str, NDArray[Any]]
Item = TypeVar("Item")
Result = TypeVar("Result")


class Sessions:
    """The graphs of one model, each with its session.

    onnxruntime could use several threads within each operator, but would wake them a thousand times for one text.
    Whoever has several pieces gives them to `map`.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or default_threads()
        self.map = ThreadMap(self.threads)
        self._made: dict[str, Any] = {}
        self._making = Lock()

    def run(self, name: str, graph: Callable[[], Graph], feeds: Feeds) -> list[Array]:
        """The results of a graph, which is built under its name at the first run."""
        session = self._made.get(name) or self._make(name, graph)
        results: list[Array] = session.run(None, feeds)
        return results

    def _make(self, name: str, graph: Callable[[], Graph]) -> Any:
        with self._making:
            if name not in self._made:
                self._made[name] = open_session(graph())
            return self._made[name]


def default_threads() -> int:
    """As OMP_NUM_THREADS says, which other libraries heed too; else one for each CPU, up to a limit."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdecimal() and int(given) else min(usable_cpus(), MOST_THREADS)


def open_session(graph: Graph) -> Any:
    """A graph, ready to run on the CPU, on the thread that asks."""
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors alone
    options.enable_cpu_mem_arena = False  # it would keep the largest tensors of every session for ever
    return runtime.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])


def onnxruntime() -> Any:
    """The package, or an error that says how to install it."""
    try:
        import onnxruntime as runtime
    except ImportError as error:
        raise MissingExtra(
            "onnxruntime is not installed, and models cannot be computed without it or torch. "
            "Install it: pip install onnxruntime"
        ) from error
    return runtime


class ThreadMap:
    """Up to `threads` threads, of which the caller's is one; the others are started when they are first needed.

    The function should spend its time where Python's lock is not held, as onnxruntime and numpy do.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __call__(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """What the function makes of each item. Whoever is free takes the next one."""
        if self.threads == 1:
            return list(map(function, items))
        waiting = deque(enumerate(items))
        results: dict[int, Result] = {}

        def work() -> None:
            while waiting:
                try:
                    index, item = waiting.popleft()
                except IndexError:  # another thread was quicker
                    return
                results[index] = function(item)

        count = min(self.threads, len(waiting)) - 1
        helpers = [self._pool.submit(copy_context().run, work) for _ in range(count)]  # the context says who may cancel
        try:
            work()
        finally:
            waiting.clear()  # after an exception
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        return [results[index] for index in range(len(results))]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads - 1, "mudy-products")


# --- Protobuf ----------------------------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _strings(field: int, values: Iterable[bytes]) -> bytes:
    return b"".join(_bytes(field, value) for value in values)


def _node(
    operator: str, inputs: Iterable[str], outputs: Iterable[str], domain: str, attributes: Mapping[str, Attribute]
) -> bytes:
    """NodeProto."""
    node = _strings(1, (name.encode() for name in inputs)) + _strings(2, (name.encode() for name in outputs))
    node += _text(4, operator) + _strings(5, (_attribute(*pair) for pair in attributes.items()))
    return node + _text(7, domain)


def _attribute(name: str, value: Attribute) -> bytes:
    """AttributeProto: type 1 is a float, 2 an int, 3 a string, 7 a list of ints."""
    if isinstance(value, float):
        return _text(1, name) + _float(2, value) + _number(20, 1)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _number(20, 3)
    return _text(1, name) + b"".join(_number(8, item) for item in value) + _number(20, 7)


def _tensor(name: str, value: NDArray[np.generic]) -> bytes:
    """TensorProto."""
    head = b"".join(_number(1, size) for size in value.shape) + _number(2, ELEMENT_TYPES[value.dtype.name])
    return head + _text(8, name) + _bytes(9, np.ascontiguousarray(value).tobytes())


def _value_info(name: str, kind: ElementType) -> bytes:
    """ValueInfoProto of a tensor whose shape is not said."""
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, ELEMENT_TYPES[kind])))
