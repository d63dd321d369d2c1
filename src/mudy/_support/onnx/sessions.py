"""onnxruntime sessions: made when first needed, each on one thread; several pieces are computed beside each other."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mudy._support.onnx.onnx_graph import Graph
from mudy._support.processes import usable_cpus
from mudy.errors import MissingExtra

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

        helpers = self._helpers(work, len(waiting) - 1)
        try:
            work()
        finally:
            waiting.clear()  # after an exception
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        return [results[index] for index in range(len(results))]

    def _helpers(self, work: Callable[[], None], most: int) -> list[Future[None]]:
        """The same work in other threads, which know the caller's context, and with it who may cancel."""
        return [self._pool.submit(copy_context().run, work) for _ in range(min(self.threads - 1, most))]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads - 1, "mudy-products")
