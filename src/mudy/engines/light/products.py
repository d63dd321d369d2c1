"""Linear layers within a graph, in float32 or in 8 bits. Weights are inputs of the graph.

In 8 bits each column of a weight and each row of states has a scale of its own, so one large value coarsens no row but
its own. States are unsigned around 128 and weights signed: onnxruntime multiplies signed by signed forty times slower.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mudy._support.onnx.onnx_graph import CONTRIB, Graph

LARGEST, MIDDLE = 127, 128
SMALLEST_SCALE = 1e-12 / LARGEST


class Prepared(NamedTuple):
    """States as products want them."""

    rows: str
    scales: str = ""


class Products(Protocol):
    """How a precision multiplies states with weights."""

    def prepare(self, graph: Graph, states: str) -> Prepared:
        """States (rows, width), ready for any number of products."""

    def product(self, graph: Graph, states: Prepared, weight: str, bias: str = "") -> str:
        """A linear layer whose weight and bias are given under these names; (rows, out)."""


class FloatProducts:
    """float32, with weights as model files hold them: (out, in)."""

    def prepare(self, graph: Graph, states: str) -> Prepared:  # noqa: ARG002 (one protocol)
        return Prepared(states)

    def product(self, graph: Graph, states: Prepared, weight: str, bias: str = "") -> str:
        given = [graph.input(weight)] + ([graph.input(bias)] if bias else [])
        return graph.add("Gemm", states.rows, *given, transB=1)


class Int8Products:
    """8 bits, with weights as (in, out) and one scale for each output."""

    def __init__(self, signed: bool = True) -> None:
        self.signed = signed  # else weights are unsigned around 128, as a CPU without VNNI needs them

    def prepare(self, graph: Graph, states: str) -> Prepared:
        highest, lowest = (graph.add(f"Reduce{which}", states, axes=(-1,), keepdims=1) for which in ("Max", "Min"))
        largest = graph.add("Max", highest, graph.add("Neg", lowest))  # three times as fast as Abs of all states
        scales = graph.add("Div", largest, graph.scalar(LARGEST))
        scales = graph.add("Max", scales, graph.scalar(SMALLEST_SCALE))  # (rows, 1)
        flat = graph.add("Reshape", scales, graph.shape(-1))
        middle = graph.add("Expand", graph.scalar(MIDDLE, "uint8"), graph.add("Shape", flat))
        return Prepared(graph.add("QuantizeLinear", states, flat, middle, axis=0), scales)

    def product(self, graph: Graph, states: Prepared, weight: str, bias: str = "") -> str:
        given = [graph.input(weight, "int8" if self.signed else "uint8"), graph.scalar(1.0)]
        given += [graph.input(f"{weight}.scales"), graph.scalar(MIDDLE, "uint8")]
        if not self.signed:
            given.append(graph.scalar(MIDDLE, "uint8"))
        found = graph.add("MatMulIntegerToFloat", states.rows, *given, domain=CONTRIB)
        found = graph.add("Mul", found, states.scales)
        return graph.add("Add", found, graph.input(bias)) if bias else found


def signed_products_are_exact(sums: NDArray[Any] | None = None) -> bool:
    """Whether this CPU adds up products of unsigned and signed bytes without loss.

    Without VNNI two products are added in 16 bits, which overflow; such a CPU gets unsigned weights.
    """
    if sums is None:
        from mudy._support.onnx.sessions import Sessions

        feeds = {"a": np.full((4, 64), 255, np.uint8), "b": np.full((64, 16), LARGEST, np.int8)}
        (sums,) = Sessions().run("check", _check_graph, feeds)
    return bool((sums == 64 * (255 - MIDDLE) * LARGEST).all())


def _check_graph() -> Graph:
    graph = Graph("check")
    product = graph.add(
        "MatMulInteger", graph.input("a", "uint8"), graph.input("b", "int8"), graph.scalar(128, "uint8")
    )
    graph.output("sums", product, "int32")
    return graph
