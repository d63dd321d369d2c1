"""The graphs of BERT: its embeddings' norm, and one layer. Weights are inputs, so one graph serves all layers."""

from __future__ import annotations

from mudy.backbones.light.onnx_graph import CONTRIB, Graph
from mudy.backbones.light.products import Prepared, Products

QUERY, KEY, VALUE = (f"attention.self.{part}" for part in ("query", "key", "value"))
ATTENDED, INNER, OUTER = "attention.output.dense", "intermediate.dense", "output.dense"
LINEARS = (QUERY, KEY, VALUE, ATTENDED, INNER, OUTER)
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


def embeddings(epsilon: float) -> Graph:
    """The sum of word, position and type vectors, normed."""
    graph = Graph("embeddings")
    graph.output("normed", layer_norm(graph, graph.input("states"), "LayerNorm", epsilon))
    return graph


def layer(products: Products, heads: int, width: int, epsilon: float) -> Graph:
    """States (texts x tokens, width) -> the states after this layer.

    `mask` is added to the scores; (texts, 1, 1, tokens). `shape` is (texts, tokens, heads, width of a head).
    """
    graph = Graph("layer")
    states, shape = graph.input("states"), graph.input("shape", "int64")
    prepared = products.prepare(graph, states)
    query, key, value = (
        graph.add(
            "Transpose", graph.add("Reshape", _product(graph, products, prepared, name), shape), perm=(0, 2, 1, 3)
        )
        for name in (QUERY, KEY, VALUE)
    )
    scale = float(width // heads) ** -0.5
    scores = graph.add("FusedMatMul", query, key, domain=CONTRIB, transB=1, alpha=scale)
    maps = graph.add("Softmax", graph.add("Add", scores, graph.input("mask")), axis=-1)
    attended = graph.add("Transpose", graph.add("MatMul", maps, value), perm=(0, 2, 1, 3))
    attended = graph.add("Reshape", attended, graph.shape(-1, width))
    states = graph.add("Add", states, _product(graph, products, products.prepare(graph, attended), ATTENDED))
    states = layer_norm(graph, states, NORMS[0], epsilon)
    inner = _product(graph, products, products.prepare(graph, states), INNER)
    inner = graph.add("Gelu", inner, domain=CONTRIB)  # by the error function
    states = graph.add("Add", states, _product(graph, products, products.prepare(graph, inner), OUTER))
    graph.output("states_after", layer_norm(graph, states, NORMS[1], epsilon))
    return graph


def layer_norm(graph: Graph, states: str, name: str, epsilon: float) -> str:
    given = graph.input(f"{name}.weight"), graph.input(f"{name}.bias")
    return graph.add("LayerNormalization", states, *given, axis=-1, epsilon=float(epsilon))


def _product(graph: Graph, products: Products, states: Prepared, name: str) -> str:
    return products.product(graph, states, f"{name}.weight", f"{name}.bias")
