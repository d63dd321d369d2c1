"""onnxruntime sessions: made when first needed, one thread unless more are asked for, and no thread that spins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy.backbones.light.onnx_graph import Graph
from mudy.errors import MissingExtra

Array = NDArray[np.float32]
Feeds = Mapping[str, NDArray[Any]]


class Sessions:
    """The graphs of one model, each with its session."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or 1
        self._made: dict[str, Any] = {}

    def run(self, name: str, graph: Callable[[], Graph], feeds: Feeds) -> list[Array]:
        """The results of a graph, which is built under its name at the first run."""
        session = self._made.get(name)
        if session is None:
            session = self._made[name] = open_session(graph(), self.threads)
        found: list[Array] = session.run(None, feeds)
        return found


def open_session(graph: Graph, threads: int) -> Any:
    """A graph, ready to run on the CPU."""
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors alone
    options.enable_cpu_mem_arena = False  # it would keep the largest tensors of every session for ever
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
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
