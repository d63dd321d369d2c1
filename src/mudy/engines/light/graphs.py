"""The graphs that onnxruntime computes: linear layers in float32 or 8 bits, the layers of a decoder, and those of BERT.

Weights are inputs under the names that model files give them within a layer, so one graph serves all layers. In 8 bits
each column of a weight and each row of states has a scale of its own, so one large value coarsens no row but its own.
States are unsigned around 128 and weights signed: onnxruntime multiplies signed by signed forty times slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mudy._support.onnx import CONTRIB, Graph, open_session
from mudy.errors import UnsupportedModel

# --- Linear layers -----------------------------------------------------------------------------------------------


LARGEST, MIDDLE = 127, 128
SMALLEST_SCALE = 1e-12 / LARGEST


class Prepared(NamedTuple):
    """States as products want them."""

    rows: str
    scales: str = ""


class FloatProducts:
    """float32, with weights as model files hold them: (out, in)."""

    def prepare(self, graph: Graph, states: str) -> Prepared:  # noqa: ARG002 (as in 8 bits)
        """States (rows, width), ready for any number of products."""
        return Prepared(states)

    def product(self, graph: Graph, states: Prepared, weight: str, bias: str = "") -> str:
        """A linear layer whose weight and bias are given under these names; (rows, out)."""
        given = [graph.input(weight)] + ([graph.input(bias)] if bias else [])
        return graph.add("Gemm", states.rows, *given, transB=1)


class Int8Products:
    """8 bits, with weights as (in, out) and one scale for each output."""

    def prepare(self, graph: Graph, states: str) -> Prepared:
        highest, lowest = (graph.add(f"Reduce{which}", states, axes=(-1,), keepdims=1) for which in ("Max", "Min"))
        largest = graph.add("Max", highest, graph.add("Neg", lowest))  # three times as fast as Abs of all states
        scales = graph.add("Div", largest, graph.scalar(LARGEST))
        scales = graph.add("Max", scales, graph.scalar(SMALLEST_SCALE))  # (rows, 1)
        flat = graph.add("Reshape", scales, graph.shape(-1))
        middle = graph.add("Expand", graph.scalar(MIDDLE, "uint8"), graph.add("Shape", flat))
        return Prepared(graph.add("QuantizeLinear", states, flat, middle, axis=0), scales)

    def product(self, graph: Graph, states: Prepared, weight: str, bias: str = "") -> str:
        given = [graph.input(weight, "int8"), graph.scalar(1.0), graph.input(f"{weight}.scales")]
        product = graph.add("MatMulIntegerToFloat", states.rows, *given, graph.scalar(MIDDLE, "uint8"), domain=CONTRIB)
        product = graph.add("Mul", product, states.scales)
        return graph.add("Add", product, graph.input(bias)) if bias else product


Products = FloatProducts | Int8Products


@cache
def int8_is_exact() -> bool:
    """Whether this CPU adds up products of bytes without loss: without VNNI, 16 bits hold two of them and overflow."""
    graph = Graph("check")
    given = graph.input("a", "uint8"), graph.input("b", "int8"), graph.scalar(MIDDLE, "uint8")
    graph.output("sums", graph.add("MatMulInteger", *given), "int32")
    feeds = {"a": np.full((4, 64), 255, np.uint8), "b": np.full((64, 16), LARGEST, np.int8)}
    (sums,) = open_session(graph).run(None, feeds)
    return bool((sums == 64 * (255 - MIDDLE) * LARGEST).all())


# --- Decoders ----------------------------------------------------------------------------------------------------


FAMILIES = frozenset({"llama", "gemma3_text"})
SOFT_CAPS = ("attn_logit_softcapping", "final_logit_softcapping")
VARIANTS = ("attention_bias", "mlp_bias", *SOFT_CAPS, "use_bidirectional_attention")  # that are not computed here
ACTIVATIONS: Mapping[str, tuple[str, dict[str, float]]] = {
    "silu": ("QuickGelu", {"alpha": 1.0}),  # x sigmoid(x)
    "gelu_pytorch_tanh": ("FastGelu", {}),
}


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """What a forward pass needs to know."""

    family: str
    depth: int
    heads: int
    kv_heads: int
    head_width: int
    positions: int  # how many tokens the model reads at most
    epsilon: float  # of its norms
    activation: str
    scaling: float  # of attention scores
    embedding_factor: float  # of word vectors
    gemma: bool  # norms of queries and keys, and after each half of a layer
    windows: tuple[int | None, ...]  # for each layer, how far back it looks
    thetas: tuple[float, ...]  # for each layer, the base of its rotary positions

    @property
    def groups(self) -> int:
        return self.heads // self.kv_heads


def decoder_config(config: Mapping[str, Any]) -> DecoderConfig:
    """The shape that a config.json describes; UnsupportedModel for what this engine does not compute."""
    family = str(config.get("model_type"))
    if family not in FAMILIES:
        raise UnsupportedModel(family)
    gemma = family == "gemma3_text"
    depth, heads, width = (int(config[key]) for key in ("num_hidden_layers", "num_attention_heads", "hidden_size"))
    head_width = int(config.get("head_dim") or width // heads)
    sliding = [kind == "sliding_attention" for kind in config.get("layer_types") or ["full_attention"] * depth]
    key, usual = ("hidden_activation", "gelu_pytorch_tanh") if gemma else ("hidden_act", "silu")
    activation = str(config.get(key) or usual)
    if activation not in ACTIVATIONS:
        raise UnsupportedModel(activation)
    if variants := [key for key in VARIANTS if config.get(key)]:
        raise UnsupportedModel(", ".join(variants))
    return DecoderConfig(
        family,
        depth,
        heads,
        int(config.get("num_key_value_heads") or heads),
        head_width,
        int(config.get("max_position_embeddings", 2048)),
        float(config["rms_norm_eps"]),
        activation,
        float(config.get("query_pre_attn_scalar", 256) if gemma else head_width) ** -0.5,
        width**0.5 if gemma else 1.0,
        gemma,
        tuple(int(config["sliding_window"]) if slides else None for slides in sliding),
        tuple(_theta(config, slides, gemma) for slides in sliding),
    )


def _theta(config: Mapping[str, Any], slides: bool, gemma: bool) -> float:
    """The base of rotary positions; older files name it otherwise."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rope = rope.get("sliding_attention" if slides else "full_attention", rope)
    if rope.get("rope_type", rope.get("type", "default")) not in ("default", None):
        raise UnsupportedModel("scaled rotary positions")
    if "rope_theta" in rope:
        return float(rope["rope_theta"])
    if gemma and slides:
        return float(config.get("rope_local_base_freq", 10_000))
    return float(config.get("rope_theta", 1_000_000 if gemma else 10_000))


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
    operator, attributes = ACTIVATIONS[config.activation]
    gate = products.product(graph, prepared, "mlp.gate_proj.weight")
    gate = graph.add(operator, gate, domain=CONTRIB, **attributes)
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


# --- BERT --------------------------------------------------------------------------------------------------------


def embeddings(epsilon: float) -> Graph:
    """The sum of word, position and type vectors, normed."""
    graph = Graph("embeddings")
    graph.output("normed", layer_norm(graph, graph.input("states"), "LayerNorm", epsilon))
    return graph


def queries_keys_values(products: Products) -> Graph:
    """States (tokens, width) -> query, key and value; (tokens, width)."""
    graph = Graph("before_attention")
    prepared = products.prepare(graph, graph.input("states"))
    for name in ("query", "key", "value"):
        graph.output(name, _product(graph, products, prepared, f"attention.self.{name}"))
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
    states = graph.add("Add", graph.input("states"), _product(graph, products, attended, "attention.output.dense"))
    states = layer_norm(graph, states, "attention.output.LayerNorm", epsilon)
    inner = _product(graph, products, products.prepare(graph, states), "intermediate.dense")
    inner = graph.add("Gelu", inner, domain=CONTRIB)  # by the error function
    states = graph.add("Add", states, _product(graph, products, products.prepare(graph, inner), "output.dense"))
    graph.output("states_after", layer_norm(graph, states, "output.LayerNorm", epsilon))
    return graph


def layer_norm(graph: Graph, states: str, name: str, epsilon: float) -> str:
    given = graph.input(f"{name}.weight"), graph.input(f"{name}.bias")
    return graph.add("LayerNormalization", states, *given, axis=-1, epsilon=float(epsilon))


def _product(graph: Graph, products: Products, states: Prepared, name: str) -> str:
    return products.product(graph, states, f"{name}.weight", f"{name}.bias")
