"""The graphs of BERT: its embeddings' norm, and a layer before, in and after attention. Weights are inputs."""

from __future__ import annotations

from mudy._support.onnx.onnx_graph import CONTRIB, Graph
from mudy.engines.light.products import Prepared, Products

QUERY, KEY, VALUE = (f"attention.self.{part}" for part in ("query", "key", "value"))
ATTENDED, INNER, OUTER = "attention.output.dense", "intermediate.dense", "output.dense"
BEFORE, AFTER = (QUERY, KEY, VALUE), (ATTENDED, INNER, OUTER)  # linear layers
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


def embeddings(epsilon: float) -> Graph:
    """The sum of word, position and type vectors, normed."""
    graph = Graph("embeddings")
    graph.output("normed", layer_norm(graph, graph.input("states"), "LayerNorm", epsilon))
    return graph


def queries_keys_values(products: Products) -> Graph:
    """States (tokens, width) -> query, key and value; (tokens, width)."""
    graph = Graph("before_attention")
    prepared = products.prepare(graph, graph.input("states"))
    for name, result in ((QUERY, "query"), (KEY, "key"), (VALUE, "value")):
        graph.output(result, _product(graph, products, prepared, name))
    return graph


def heads_attention(heads: int) -> Graph:
    """Texts of equal length, whose tokens see all tokens of their text; (texts, tokens, width)."""
    graph = Graph("attention")
    given = (graph.input(name) for name in ("query", "key", "value"))
    graph.output("attended", graph.add("MultiHeadAttention", *given, domain=CONTRIB, num_heads=heads))
    return graph


def layer_output(products: Products, epsilon: float) -> Graph:
    """Attended and states (tokens, width) -> the states after this layer."""
    graph = Graph("after_attention")
    attended = products.prepare(graph, graph.input("attended"))
    states = graph.add("Add", graph.input("states"), _product(graph, products, attended, ATTENDED))
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
