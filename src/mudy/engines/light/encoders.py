"""Sentence encoders without torch: BERT, and the multilingual Universal Sentence Encoder."""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import check
from mudy._support.onnx import CONTRIB, Array, Graph, ThreadMap
from mudy.engines import Compute, read_config
from mudy.engines.interfaces import SentenceEncoder
from mudy.engines.light.weights import LightWeights, Prepared, Products
from mudy.engines.tokens import LightTokenizer, consecutive, encodable, packs
from mudy.models.fetch import Report, silent

# --- BERT ----------------------------------------------------------------------------------------------------------

_BATCH_TOKENS = 320  # of texts that are computed together, on one thread


class LightEncoder(SentenceEncoder):
    def __init__(self, folder: Path, compute: Compute, name: str, report: Report = silent) -> None:
        config, weights = read_config(folder), LightWeights(folder, compute, report)
        self.tokenizer, self.name, self._threads = LightTokenizer(folder), name, ThreadMap(compute.threads)
        self.batch_tokens = compute.batch_tokens or _BATCH_TOKENS
        self.width, self.heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        self.depth, self.positions = int(config["num_hidden_layers"]), int(config["max_position_embeddings"])
        epsilon = float(config.get("layer_norm_eps", 1e-12))
        prefix = "" if "embeddings.LayerNorm.weight" in weights.file else "bert."
        embeddings = Graph("embeddings")  # the sum of word, position and type vectors, normed
        embeddings.output("normed", layer_norm(embeddings, embeddings.input("states"), "LayerNorm", epsilon))
        self._embed = weights.bound(embeddings, f"{prefix}embeddings.")
        self._attention = heads_attention(self.heads)
        self._before, self._after = (
            [weights.bound(graph, f"{prefix}encoder.layer.{layer}.") for layer in range(self.depth)]
            for graph in (queries_keys_values(weights.products), layer_output(weights.products, epsilon))
        )
        self._words, places, types = (
            weights.table(f"{prefix}embeddings.{kind}_embeddings.weight") for kind in ("word", "position", "token_type")
        )
        self._place = places.rows(range(self.positions)) + types.rows([0])

    def states(
        self, rows: Sequence[Sequence[int]], layer: int = -1, pool: Callable[[Array], Array] = lambda state: state
    ) -> list[Array]:
        depth = self.depth if layer == -1 else layer % (self.depth + 1)

        def pooled(pack: Sequence[int]) -> list[Array]:
            states = self._forward([rows[i] for i in pack], depth)
            return [pool(states[part]) for part in consecutive(len(rows[i]) for i in pack)]

        longest_first = sorted(range(len(rows)), key=lambda i: (-len(rows[i]), i))
        every = list(packs(longest_first, lambda i: len(rows[i]), self.batch_tokens))
        results = (result for pack in self._threads(pooled, every) for result in pack)
        found = dict(zip(longest_first, results, strict=True))
        return [found[i] for i in range(len(rows))]

    def _forward(self, rows: Sequence[Sequence[int]], depth: int) -> Array:
        """States after so many layers, those of one text after those of another; (tokens, width)."""
        ids = [token for row in rows for token in row]
        places = np.concatenate([self._place[: len(row)] for row in rows])
        (states,) = self._embed(states=self._words.rows(ids) + places)
        groups = [(len(list(same)), length) for length, same in groupby(map(len, rows))]  # rows are sorted by length
        for before, after in zip(self._before[:depth], self._after[:depth], strict=True):
            check()
            attended = self._attend(before(states=states), groups)
            (states,) = after(attended=attended, states=states)
        return states

    def _attend(self, parts: Sequence[Array], groups: Sequence[tuple[int, int]]) -> Array:
        """What the tokens of each text see; (tokens, width).

        Texts of equal length are computed together. None is padded, so no text's states depend on another's length.
        """
        attended = []
        for (texts, tokens), part in zip(groups, consecutive(n * length for n, length in groups), strict=True):
            query, key, value = (rows[part].reshape(texts, tokens, self.width) for rows in parts)
            (seen,) = self._attention.run({"query": query, "key": key, "value": value})
            attended.append(seen.reshape(-1, self.width))
        return np.concatenate(attended)


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


# --- The Universal Sentence Encoder --------------------------------------------------------------------------------

WIDTH = 512
STATE = 256  # width of the states of the n-grams of one order
ORDERS = ((2, 0), (3, 1), (5, 2))  # n-grams, and how many of their tokens stand before the one in question
PARTS = 17  # tables that the token embeddings are stored in: token t is row t // 17 of table t % 17
BEGIN, END, UNKNOWN = 1, 2, 0  # tokens
MOST_TOKENS = 512  # that are read of a text
TO_THE_END = np.iinfo(np.int64).max  # of a slice


@dataclass(frozen=True)
class UniversalEncoder:
    """A vector of length 1 for a text, by the multilingual Universal Sentence Encoder (Yang et al., ACL 2020 demos).

    Token embeddings and their n-grams of two, three and five, by two convolutions each, are added up over a text; a few
    dense layers make one vector of it. Sixteen languages share one space. There are no states of single tokens.
    """

    weights: Mapping[str, Array]  # by the names of the graph's inputs
    table: NDArray[np.uint8]  # (tokens, width), to be scaled
    ranges: Array  # what the numbers of each part of the table are multiplied by, and what is added; (2, parts, 1)
    graph: Graph
    tokenizer: Any
    threads: ThreadMap
    name: str

    @classmethod
    def load(cls, folder: str, name: str, threads: int | None = None) -> Self:
        with np.load(Path(folder) / "weights.npz", allow_pickle=False) as stored:
            rows = stored["q1"].shape[0]
            table = np.empty((PARTS * rows, WIDTH), dtype=np.uint8)
            for part in range(PARTS):
                table[part::PARTS] = stored[f"q{part + 1}"]
            keys = [key for key in stored.files if not key.startswith("q") and key != "bits"]
            weights = {key: stored[key].astype(np.float32) for key in keys}
        ranges = np.stack([weights.pop("scale"), weights.pop("lo")])[..., None]
        graph, tokenizer = vector_graph(float(weights.pop("eps"))), _tokenizer((Path(folder) / "sp.model").read_bytes())
        return cls(weights, table, ranges, graph, tokenizer, ThreadMap(threads), name)

    def embed(self, texts: Sequence[str]) -> Array:
        """(texts, width); each is computed alone, so that no vector depends on its neighbours.

        Lone surrogates are read as other encoders read them.
        """
        ids = [self.tokenizer.encode(encodable(text), add_special_tokens=False).ids for text in texts]
        return np.stack(self.threads(self._vector, [[BEGIN, *own[:MOST_TOKENS], END] for own in ids]))

    def end_of_window(self, text: str) -> int:
        """Where reading ends in a text, in characters: at its end, unless it has too many tokens."""
        ends = [end for _, end in self.tokenizer.encode(encodable(text), add_special_tokens=False).offsets]
        return len(text) if len(ends) <= MOST_TOKENS else int(ends[MOST_TOKENS - 1])

    def _vector(self, ids: Sequence[int]) -> Array:
        check()
        scale, lowest = self.ranges[:, np.array(ids) % PARTS]
        feeds = {"embedded": self.table[ids] * scale + lowest, "count": np.array([len(ids)], np.float32)}
        (rows,) = self.graph.run({**self.weights, **feeds})
        return np.asarray(rows[0] / np.linalg.norm(rows[0]))


def vector_graph(epsilon: float) -> Graph:
    """Embedded tokens (tokens, width) and their count -> a vector, not yet of length 1; (1, width)."""
    graph = Graph("vector")
    embedded, count = graph.input("embedded"), graph.input("count")
    features = graph.add("Concat", embedded, *_ngrams(graph, embedded, epsilon), axis=1)
    norm = graph.input("ln_g"), graph.input("ln_b")
    states = graph.add("LayerNormalization", features, *norm, axis=-1, epsilon=epsilon)
    summed = graph.add("MatMul", graph.add("ReduceSum", states, graph.shape(0)), graph.input("cnn_W"))
    summed = graph.add("Add", summed, graph.add("Mul", count, graph.input("cnn_b")))
    summed = graph.add("Div", summed, graph.add("Sqrt", count))
    first = graph.add("Relu", _with_shortcut(graph, summed, "p1", "d0", "d1"))
    graph.output("vector", graph.add("Tanh", _with_shortcut(graph, first, "p3", "d2", "d3")))
    return graph


def _with_shortcut(graph: Graph, rows: str, short: str, inner: str, outer: str) -> str:
    """Two dense layers, beside which one goes straight on."""
    hidden = graph.add("Relu", graph.add("MatMul", rows, graph.input(inner)))
    through = graph.add("MatMul", hidden, graph.input(outer))
    return graph.add("Add", graph.add("MatMul", rows, graph.input(short)), through)


def _ngrams(graph: Graph, embedded: str, epsilon: float) -> Iterator[str]:
    """The states of the n-grams of each order, which are normalised together; (tokens, 256) each."""

    def of_orders(name: str) -> list[str]:
        return [graph.input(f"{name}{n}") for n, _ in ORDERS]

    layers = zip(of_orders("proj"), of_orders("proj_b"), strict=True)
    projected = graph.add("Concat", *(graph.add("Gemm", embedded, *layer) for layer in layers), axis=1)
    gain, bias = (graph.add("Concat", *of_orders(name), axis=0) for name in ("ln_g", "ln_b"))
    normalised = graph.add("LayerNormalization", projected, gain, bias, axis=-1, epsilon=epsilon)
    parts = graph.add_many("Split", normalised, graph.shape(*(STATE for _ in ORDERS)), results=len(ORDERS), axis=1)
    for (n, before), states in zip(ORDERS, parts, strict=True):
        for layer in ("1", "2"):
            weight, bias = graph.input(f"w{layer}_{n}"), graph.input(f"b{layer}_{n}")
            added = graph.add("Relu", graph.add("Gemm", _windows(graph, states, n, before), weight, bias))
            states = graph.add("Add", states, added)
        yield states


def _windows(graph: Graph, rows: str, n: int, before: int) -> str:
    """Each row with its neighbours in one long row, zeros beyond the ends; (rows, n * width)."""
    padded = graph.add("Pad", rows, graph.shape(before, 0, n - 1 - before, 0))
    shifted = (
        graph.add("Slice", padded, graph.shape(i), graph.shape(i + 1 - n or TO_THE_END), graph.shape(0))
        for i in range(n)
    )
    return graph.add("Concat", *shifted, axis=1)


def _tokenizer(model: bytes) -> Any:
    """The tokeniser that a SentencePiece model, a protocol buffer, describes."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    pieces: list[tuple[str, float]] = []
    characters = b""
    for number, value in _fields(model):
        if number == 1:
            piece = dict(_fields(value))
            pieces.append((piece[1].decode(), struct.unpack("<f", piece.get(2, bytes(4)))[0]))
        elif number == 3:
            characters = dict(_fields(value))[2]  # how characters are normalised
    found = Tokenizer(models.Unigram(pieces, unk_id=UNKNOWN))
    one_space = normalizers.Replace(Regex(" {2,}"), " ")
    found.normalizer = normalizers.Sequence([normalizers.Precompiled(characters), one_space])
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    return found


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and value of each field of a protocol buffer; numbers as their bytes."""
    start = 0
    while start < len(message):
        key, start = _varint(message, start)
        match key & 7:
            case 0:
                size = _varint(message, start)[1] - start
            case 2:
                size, start = _varint(message, start)
            case kind:
                size = {1: 8, 5: 4}[kind]
        yield key >> 3, message[start : start + size]
        start += size


def _varint(message: bytes, start: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = message[start]
        value |= (byte & 127) << shift
        start, shift = start + 1, shift + 7
        if byte < 128:
            return value, start
