"""Small ONNX graphs written by hand, and sessions of onnxruntime that compute them.

Weights are inputs, so one graph serves every layer of a model and a memory-mapped weight is used where it lies. The few
fields of ModelProto that onnxruntime asks for are written as protobuf bytes, without the `onnx` package.
"""

import os
import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cached_property
from itertools import count
from threading import Lock
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from mudy._support.this_process import usable_cpus

ElementType = Literal["float32", "uint8", "int8", "int32", "int64"]
ELEMENT_TYPES: Mapping[str, int] = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}  # TensorProto.DataType
IR_VERSION, OPSET, CONTRIB_OPSET = 8, 17, 1
CONTRIB = "com.microsoft"  # onnxruntime's own operators, part of every build of it
Array = NDArray[np.float32]
Feeds = Mapping[str, NDArray[Any]]
Attribute = int | float | str | tuple[int, ...]
_ATTRIBUTE_FIELDS = {float: (2, 1), int: (3, 2), str: (4, 3), tuple: (8, 7)}  # of AttributeProto, with its own type


class Graph:
    """A graph under construction: operators in the order in which they run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self.inputs: dict[str, ElementType] = {}
        self._outputs: list[bytes] = []
        self._numbers = count(1)  # in the names of results
        self._session: Any = None
        self._opening = Lock()

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
        name = f"constant_{next(self._numbers)}"
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
        names = [f"{operator}_{next(self._numbers)}" for _ in range(results)]
        self._nodes.append(_node(operator, inputs, names, domain, attributes))
        return names

    def run(self, feeds: Feeds) -> list[Array]:
        """The outputs for these inputs; the first run opens a session, which is kept."""
        if self._session is None:
            with self._opening:
                self._session = self._session or open_session(self)
        results: list[Array] = self._session.run(None, feeds)
        return results

    def model(self) -> bytes:
        graph = _fields(1, self._nodes) + _field(2, self.name) + _fields(5, self._constants)
        graph += _fields(11, (_value_info(*pair) for pair in self.inputs.items())) + _fields(12, self._outputs)
        opsets = [_field(1, "") + _field(2, OPSET), _field(1, CONTRIB) + _field(2, CONTRIB_OPSET)]
        return _field(1, IR_VERSION) + _field(7, graph) + _fields(8, opsets)


MOST_THREADS = 8  # of one process, unless more are asked for: products are small
Item = TypeVar("Item")
Result = TypeVar("Result")


def default_threads() -> int:
    """As OMP_NUM_THREADS says, which other libraries heed too; else one for each CPU, up to a limit."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdecimal() and int(given) else min(usable_cpus(), MOST_THREADS)


def open_session(graph: Graph) -> Any:
    """A graph, ready to run on the CPU, on the thread that asks."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors alone
    options.enable_cpu_mem_arena = False  # it would keep the largest tensors of every session for ever
    return onnxruntime.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])


class ThreadMap:
    """Up to `threads` threads, of which the caller's is one; the others are started when they are first needed.

    The function should spend its time where Python's lock is not held, as onnxruntime and numpy do. onnxruntime could
    use several threads within each operator, but would wake them a thousand times for one text.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or default_threads()

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

        more = min(self.threads, len(waiting)) - 1
        helpers = [self._pool.submit(copy_context().run, work) for _ in range(more)]  # the context says who may cancel
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


def _field(number: int, value: float | str | bytes) -> bytes:
    """A whole number as a varint, another number in four bytes, text and bytes after their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    coded = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(coded)) + coded


def _fields(number: int, values: Iterable[float | str | bytes]) -> bytes:
    return b"".join(_field(number, value) for value in values)


def _node(
    operator: str, inputs: Iterable[str], outputs: Iterable[str], domain: str, attributes: Mapping[str, Attribute]
) -> bytes:
    """NodeProto."""
    node = _fields(1, inputs) + _fields(2, outputs) + _field(4, operator)
    return node + _fields(5, (_attribute(*pair) for pair in attributes.items())) + _field(7, domain)


def _attribute(name: str, value: Attribute) -> bytes:
    """AttributeProto."""
    field, kind = _ATTRIBUTE_FIELDS[type(value)]
    return _field(1, name) + _fields(field, value if isinstance(value, tuple) else [value]) + _field(20, kind)


def _tensor(name: str, value: NDArray[np.generic]) -> bytes:
    """TensorProto."""
    head = _fields(1, value.shape) + _field(2, ELEMENT_TYPES[value.dtype.name])
    return head + _field(8, name) + _field(9, np.ascontiguousarray(value).tobytes())


def _value_info(name: str, kind: ElementType) -> bytes:
    """ValueInfoProto of a tensor whose shape is not said."""
    return _field(1, name) + _field(2, _field(1, _field(1, ELEMENT_TYPES[kind])))
