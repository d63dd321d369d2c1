"""The products of a spaCy pipeline's networks, by onnxruntime on one thread.

It is three times as fast as thinc's own products on a CPU with AVX-512, and a tagger does little else. numpy is as
fast, but its threads get in the way of those that compute the models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from thinc.api import NumpyOps

from mudy._support.onnx.onnx_graph import Graph
from mudy._support.onnx.sessions import Sessions

FEW_ROWS = 64  # words for which onnxruntime is not worth loading


class OnnxOps(NumpyOps):  # type: ignore[misc]
    """thinc's arithmetic on a CPU, but for products."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._sessions = Sessions(threads=1)

    def gemm(self, x: Any, y: Any, out: Any = None, trans1: bool = False, trans2: bool = False) -> Any:
        """Rows times the turned rows of `y`. A few rows, and what is asked for in training, by thinc."""
        if len(x) < FEW_ROWS or out is not None or trans1 or not trans2 or not x.dtype == y.dtype == np.float32:
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        feeds = {"x": np.ascontiguousarray(x), "y": np.ascontiguousarray(y)}
        return self._sessions.run("product", _product_graph, feeds)[0]


def _product_graph() -> Graph:
    graph = Graph("product")
    graph.output("product", graph.add("Gemm", graph.input("x"), graph.input("y"), transB=1))
    return graph


def multiply_quickly(nlp: Any) -> None:
    """Let the networks of a pipeline multiply so, as far as they compute on a CPU with thinc."""
    ops = OnnxOps()
    for _, pipe in nlp.pipeline:
        for node in pipe.model.walk() if hasattr(pipe, "model") else ():
            if type(node.ops) is NumpyOps:
                node.ops = ops
