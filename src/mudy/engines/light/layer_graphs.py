"""The graphs of a decoder: what stands before attention in a layer, attention itself, and what stands after it.

Weights are inputs under the names that model files give them within a layer, so one graph serves all layers.
"""

from __future__ import annotations

from mudy._support.onnx.onnx_graph import CONTRIB, Graph
from mudy.engines.light.decoder_config import DecoderConfig
from mudy.engines.light.products import Products

BEFORE = ("input_layernorm.weight", *(f"self_attn.{part}_proj.weight" for part in "qkv"))
HEAD_NORMS = ("self_attn.q_norm.weight", "self_attn.k_norm.weight")
FEED_FORWARD = tuple(f"mlp.{part}_proj.weight" for part in ("gate", "up", "down"))
AFTER = ("self_attn.o_proj.weight", "post_attention_layernorm.weight", *FEED_FORWARD)
POST_NORMS = ("pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight")


def before_attention(config: DecoderConfig, products: Products) -> Graph:
    """States (rows, width) -> query, key, value with positions in them; (1, rows, heads x head_width)."""
    graph = Graph("before_attention")
    place = [graph.input("positions", "int64"), graph.input("cos"), graph.input("sin")]
    states = rms_norm(graph, graph.input("states"), graph.input("input_layernorm.weight"), config)
    prepared = products.prepare(graph, states)
    for part, heads in (("q", config.heads), ("k", config.kv_heads)):
        found = products.product(graph, prepared, f"self_attn.{part}_proj.weight")
        if config.gemma:
            found = graph.add("Reshape", found, graph.shape(-1, heads, config.head_width))
            found = rms_norm(graph, found, graph.input(f"self_attn.{part}_norm.weight"), config)
        found = graph.add("Reshape", found, graph.shape(1, -1, heads * config.head_width))
        found = graph.add("RotaryEmbedding", found, *place, domain=CONTRIB, num_heads=0, interleaved=0)
        graph.output({"q": "query", "k": "key"}[part], found)
    graph.output("value", products.product(graph, prepared, "self_attn.v_proj.weight"))
    return graph


def attention_graph(config: DecoderConfig, summed: bool) -> Graph:
    """Rows of queries that look at keys; what each row sees is said by `mask`, which is added to its scores.

    query (kv_heads, rows x groups, head_width), key and value (kv_heads, tokens, head_width), mask (rows, 1, tokens) ->
    attended, as query; and with `summed`, the attention that each token receives from all rows and heads; (tokens,).
    """
    graph = Graph("attention")
    shape = graph.input("shape", "int64")  # kv_heads, rows, groups, tokens
    scores = scores_of(graph, config)
    scores = graph.add("Add", graph.add("Reshape", scores, shape), graph.input("mask"))
    maps = graph.add("Softmax", scores, axis=-1)
    flat = graph.add("Reshape", maps, graph.input("flat_shape", "int64"))
    graph.output("attended", graph.add("MatMul", flat, graph.input("value")))
    if summed:
        graph.output("sums", graph.add("ReduceSum", maps, graph.shape(0, 1, 2), keepdims=0))
    return graph


def scores(config: DecoderConfig) -> Graph:
    """The scores alone, for whoever edits them; (kv_heads, rows x groups, tokens)."""
    graph = Graph("scores")
    graph.output("scores", scores_of(graph, config))
    return graph


def weighted_sum() -> Graph:
    """What becomes of scores that were edited: a softmax, and the sum of values."""
    graph = Graph("weighted_sum")
    maps = graph.add("Softmax", graph.input("scores"), axis=-1)
    graph.output("attended", graph.add("MatMul", maps, graph.input("value")))
    return graph


def scores_of(graph: Graph, config: DecoderConfig) -> str:
    given = graph.input("query"), graph.input("key")
    return graph.add("FusedMatMul", *given, domain=CONTRIB, transB=1, alpha=float(config.scaling))


def after_attention(config: DecoderConfig, products: Products) -> Graph:
    """Attended (rows, heads x head_width), states (rows, width) -> the states after this layer."""
    graph = Graph("after_attention")
    states = graph.input("states")
    norm = graph.input("post_attention_layernorm.weight")
    found = linear(graph, products, graph.input("attended"), "self_attn.o_proj.weight")
    if config.gemma:
        states = graph.add("Add", states, rms_norm(graph, found, norm, config))
        norm = graph.input("pre_feedforward_layernorm.weight")
    else:
        states = graph.add("Add", states, found)
    prepared = products.prepare(graph, rms_norm(graph, states, norm, config))
    gate = activation(graph, products.product(graph, prepared, "mlp.gate_proj.weight"), config.activation)
    gated = graph.add("Mul", gate, products.product(graph, prepared, "mlp.up_proj.weight"))
    found = linear(graph, products, gated, "mlp.down_proj.weight")
    if config.gemma:
        found = rms_norm(graph, found, graph.input("post_feedforward_layernorm.weight"), config)
    graph.output("states_after", graph.add("Add", states, found))
    return graph


def final_norm(config: DecoderConfig) -> Graph:
    graph = Graph("final_norm")
    graph.output("normed", rms_norm(graph, graph.input("states"), graph.input("norm.weight"), config))
    return graph


def linear(graph: Graph, products: Products, states: str, weight: str) -> str:
    return products.product(graph, products.prepare(graph, states), weight)


def rms_norm(graph: Graph, states: str, weight: str, config: DecoderConfig) -> str:
    return graph.add("SimplifiedLayerNormalization", states, weight, axis=-1, epsilon=float(config.epsilon))


def activation(graph: Graph, states: str, kind: str) -> str:
    if kind == "silu":
        return graph.add("QuickGelu", states, domain=CONTRIB, alpha=1.0)  # x sigmoid(x)
    return graph.add("FastGelu", states, domain=CONTRIB)  # by tanh
