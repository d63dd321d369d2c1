"""A decoder-only network: word vectors, layers, and the probabilities of words. Attention is computed by the caller.

Weights are inputs of the graphs under the names that model files give them within a layer, so one graph serves all
layers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import check
from mudy._support.onnx import CONTRIB, Array, Feeds, Graph, ThreadMap
from mudy.engines.light.weights import MIDDLE, Bound, LightWeights, Products, Table, round_rows, row_scales
from mudy.errors import UnsupportedModel

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


def after_attention(config: DecoderConfig, products: Products) -> Graph:
    """Attended (rows, heads x head_width), states (rows, width) -> the states after this layer."""
    graph = Graph("after_attention")
    states = graph.input("states")
    norm = graph.input("post_attention_layernorm.weight")
    found = products.product(graph, products.prepare(graph, graph.input("attended")), "self_attn.o_proj.weight")
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
    found = products.product(graph, products.prepare(graph, gated), "mlp.down_proj.weight")
    if config.gemma:
        found = rms_norm(graph, found, graph.input("post_feedforward_layernorm.weight"), config)
    graph.output("states_after", graph.add("Add", states, found))
    return graph


def rms_norm(graph: Graph, states: str, weight: str, config: DecoderConfig) -> str:
    return graph.add("SimplifiedLayerNormalization", states, weight, axis=-1, epsilon=float(config.epsilon))


ROWS = 160  # that pass through the linear layers at once: more take more memory, and fewer more time to lay out weights
FEWEST_ROWS = 32  # that are worth a thread of their own
Attend = Callable[[int, Array, Array, Array], Array | None]  # layer, query, key, value -> attended, or None: enough


class Decoder:
    def __init__(self, config: DecoderConfig, weights: LightWeights, threads: ThreadMap) -> None:
        self.config, self._threads = config, threads
        self._before, self._after = (
            [weights.bound(graph, f"model.layers.{layer}.") for layer in range(config.depth)]
            for graph in (before_attention(config, weights.products), after_attention(config, weights.products))
        )
        norm = Graph("final_norm")
        norm.output("normed", rms_norm(norm, norm.input("states"), norm.input("norm.weight"), config))
        self._norm = weights.bound(norm, "model.")
        self._words = weights.table("model.embed_tokens.weight")
        self.vocabulary: Table = weights.table("lm_head.weight") if "lm_head.weight" in weights.file else self._words
        self._rotations: dict[float, tuple[Array, Array]] = {}

    def embed(self, ids: Sequence[int]) -> Array:
        """Word vectors; (rows, width)."""
        return self._words.rows(ids, self.config.embedding_factor)

    def layers(self, start: int, stop: int, states: Array, positions: Sequence[int], attend: Attend) -> Array | None:
        """States after some layers, and after the final norm with the last of them; None if attention was enough."""
        place = np.asarray(positions, np.int64)
        for layer in range(start, stop):
            check()
            attended = attend(layer, *self._queries(layer, states, place))
            if attended is None:
                return None
            given = {"attended": attended, "states": states}
            (states,) = self._by_rows(self._after[layer], given, [states.shape[1]])
        if stop == self.config.depth:
            (states,) = self._norm(states=states)
        return states

    def _queries(self, layer: int, states: Array, positions: NDArray[np.int64]) -> list[Array]:
        """Query, key and value of all rows; (rows, heads x head_width)."""
        config = self.config
        cos, sin = self._rotation(config.thetas[layer], int(positions.max()) + 1)
        widths = [heads * config.head_width for heads in (config.heads, config.kv_heads, config.kv_heads)]
        before = partial(self._before[layer], cos=cos, sin=sin)
        return self._by_rows(before, {"states": states, "positions": positions}, widths)

    def _by_rows(self, compute: Bound, states: Feeds, widths: Sequence[int]) -> list[Array]:
        """The results of one of a layer's graphs, so many columns each, some rows at a time."""
        count = len(next(iter(states.values())))
        results = [np.empty((count, width), np.float32) for width in widths]

        def run(part: slice) -> None:
            given = {key: value[part] for key, value in states.items()}
            if "positions" in given:
                given["positions"] = given["positions"][None]
            for result, rows in zip(results, compute(**given), strict=True):
                result[part] = rows.reshape(-1, result.shape[1])

        self._threads(run, row_blocks(count, self._threads.threads))
        return results

    def _rotation(self, theta: float, positions: int) -> tuple[Array, Array]:
        """Cosines and sines of rotary positions, for at least so many of them; (positions, head_width / 2)."""
        known = self._rotations.get(theta)
        if known is None or len(known[0]) < positions:
            width = self.config.head_width
            turns = 1 / np.float32(theta) ** (np.arange(0, width, 2, dtype=np.float32) / np.float32(width))
            size = 1 << max(10, (positions - 1).bit_length())
            angles = np.arange(size, dtype=np.float32)[:, None] * turns.astype(np.float32)
            known = self._rotations[theta] = np.cos(angles), np.sin(angles)
        return known


def row_blocks(rows: int, threads: int = 1) -> Iterator[slice]:
    """Rows in stretches of nearly equal length, and equally many for each thread.

    They are short where there is one thread, for that may be one of many processes, which are to need little memory.
    """
    most = ROWS if threads == 1 else 2 * ROWS
    count = -(-rows // (most * threads)) * threads
    count = max(1, -(-rows // most), min(count, rows // FEWEST_ROWS))
    size = -(-rows // count)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


# --- The vocabulary ------------------------------------------------------------------------------------------------

_LARGE = 1 << 17  # a vocabulary worth shortening
_COMMON, _CHARACTERS = 1 << 16, 1 << 10  # to so many words, and so many single characters
_STATES = 1024  # multiplied at once
_WORDS = 2048  # with so many words of the vocabulary: a block of logits stays in a CPU's cache


class LightHead:
    """The last layer of a language model, states to logits, which are laid out as (words, states), so that a stretch of
    the vocabulary is used where it lies in the file. In 8 bits, words are unsigned and states signed.
    """

    def __init__(self, table: Table, threads: ThreadMap) -> None:
        self.table, self.threads, self.words = table, threads, len(table.values)

    def blocks(self, states: Array) -> list[Callable[[], Array]]:
        """What gives the logits of some words each, of all words in all; (words, states). They may be written over."""
        weight, scales = self.table
        given = {"states": states}
        if scales is not None:
            given = {"states": np.ascontiguousarray(round_rows(states).T), "scales": row_scales(states)}

        def logits(words: slice) -> Array:
            if scales is None:
                return _float_graph().run({**given, "weight": np.ascontiguousarray(weight[words], np.float32)})[0]
            return _int8_graph().run({**given, "weight": weight[words], "word_scales": scales[words, None]})[0]

        return [partial(logits, slice(start, start + _WORDS)) for start in range(0, self.words, _WORDS)]

    def logit(self, states: Array, words: NDArray[np.intp]) -> Array:
        """The logit of one word after each state; (states,).

        In 8 bits as `blocks` has it, to the last bit: else a word could be likelier than all words together.
        """
        if self.table.scales is None:
            return np.asarray((states * self.table.values[words]).sum(-1))
        weight = self.table.values[words].astype(np.int32) - MIDDLE
        sums = (round_rows(states).astype(np.int32) * weight).sum(-1, dtype=np.int32).astype(np.float32)
        return np.asarray(sums * row_scales(states) * self.table.scales[words])

    def only(self, words: slice | NDArray[np.intp]) -> Self:
        """The same with fewer words."""
        weight, scales = self.table
        return type(self)(Table(weight[words], None if scales is None else scales[words]), self.threads)


@cache
def _float_graph() -> Graph:
    graph = Graph("vocabulary")
    graph.output("logits", graph.add("Gemm", graph.input("weight"), graph.input("states"), transB=1))
    return graph


@cache
def _int8_graph() -> Graph:
    graph = Graph("vocabulary")
    given = [graph.input("weight", "uint8"), graph.input("states", "int8"), graph.scalar(1.0)]
    given += [graph.input("scales"), graph.scalar(MIDDLE, "uint8")]
    product = graph.add("MatMulIntegerToFloat", *given, domain=CONTRIB)
    graph.output("logits", graph.add("Mul", product, graph.input("word_scales")))
    return graph


class VocabularySum:
    """What the softmax over a vocabulary divides by.

    A large vocabulary in 8 bits is summed up over its commonest words, its commonest characters, and the words that
    the text itself says: tokenisers number their words from common to rare. What is left out holds some 2% of the sum.
    """

    def __init__(self, head: LightHead, single_characters: Callable[[], Sequence[int]] = list) -> None:
        """`single_characters` gives the words of one character, common ones first."""
        self.head, self._parts = head, [head]
        self._summed = np.ones(head.words, bool)
        if head.table.scales is not None and head.words > _LARGE:
            rest = np.array([word for word in single_characters() if word >= _COMMON][:_CHARACTERS], np.intp)
            self._parts = [head.only(slice(_COMMON)), *([head.only(rest)] if len(rest) else [])]
            self._summed[_COMMON:] = False
            self._summed[rest] = True

    def log_mass(self, states: Array) -> Array:
        """The logarithm of the sum after each state, without the words that a text says; (states,)."""
        parts = [states[start : start + _STATES] for start in range(0, len(states), _STATES)]
        return np.concatenate([reduce(np.logaddexp, [log_sum(head, part) for head in self._parts]) for part in parts])

    def with_said(self, mass: Array, states: Array, said: Iterable[int]) -> Array:
        """The same with the words that a text says; (states,)."""
        added = [word for word in sorted(said) if not self._summed[word]]
        return np.logaddexp(mass, log_sum(self.head.only(np.array(added)), states)) if added else mass


def log_sum(head: LightHead, states: Array) -> Array:
    """The logarithm of what a softmax divides by, added up over blocks of words; (states,)."""
    if len(states) == 1:  # numpy adds up a single column in another order, and no state's sum depends on its company
        return log_sum(head, np.repeat(states, 2, axis=0))[:1]
    tops, masses = zip(*head.threads(_top_and_mass, head.blocks(states)), strict=True)
    top: Array = np.max(tops, axis=0)
    mass = np.zeros(len(states), np.float32)
    for own_top, own_mass in zip(tops, masses, strict=True):
        mass += own_mass * np.exp(own_top - top)
    return np.asarray(top + np.log(mass))


def _top_and_mass(block: Callable[[], Array]) -> tuple[Array, Array]:
    """The highest logit after each state, and the sum of the exponentials of all, which are taken below it."""
    check()
    logits = block()
    top = logits.max(0)
    np.subtract(logits, top, out=logits)
    return top, np.exp(logits, out=logits).sum(0)
