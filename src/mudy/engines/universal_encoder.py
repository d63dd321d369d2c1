"""The multilingual Universal Sentence Encoder (Yang et al., ACL 2020 demos), computed by onnxruntime.

Token embeddings and their n-grams of two, three and five, by two convolutions each, are added up over a text; a few
dense layers make one vector of it. Sixteen languages share one space. There are no states of single tokens.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.callbacks import check
from mudy._support.onnx import Array, Graph, ThreadMap
from mudy.engines.tokens import encodable

WIDTH = 512
STATE = 256  # width of the states of the n-grams of one order
ORDERS = ((2, 0), (3, 1), (5, 2))  # n-grams, and how many of their tokens stand before the one in question
PARTS = 17  # tables that the token embeddings are stored in: token t is row t // 17 of table t % 17
BEGIN, END, UNKNOWN = 1, 2, 0  # tokens
MOST_TOKENS = 512  # that are read of a text
TO_THE_END = np.iinfo(np.int64).max  # of a slice


@dataclass(frozen=True)
class UniversalEncoder:
    """A vector of length 1 for a text."""

    weights: Mapping[str, Array]  # by the names of the graph's inputs
    table: NDArray[np.uint8]  # (tokens, width), to be scaled
    ranges: Array  # what the numbers of each part of the table are multiplied by, and what is added; (2, parts, 1)
    epsilon: float
    threads: ThreadMap
    path: Path
    name: str

    @classmethod
    def load(cls, folder: str, name: str, threads: int | None = None) -> UniversalEncoder:
        with np.load(Path(folder) / "weights.npz", allow_pickle=False) as stored:
            rows = stored["q1"].shape[0]
            table = np.empty((PARTS * rows, WIDTH), dtype=np.uint8)
            for part in range(PARTS):
                table[part::PARTS] = stored[f"q{part + 1}"]
            keys = [key for key in stored.files if not key.startswith("q") and key != "bits"]
            weights = {key: stored[key].astype(np.float32) for key in keys}
        ranges = np.stack([weights.pop("scale"), weights.pop("lo")])[..., None]
        epsilon = float(weights.pop("eps"))
        return cls(weights, table, ranges, epsilon, ThreadMap(threads), Path(folder), name)

    @cached_property
    def tokenizer(self) -> Any:
        return _tokenizer((self.path / "sp.model").read_bytes())

    @cached_property
    def _graph(self) -> Graph:
        return _vector_graph(self.epsilon)

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
        (rows,) = self._graph.run({**self.weights, **feeds})
        return np.asarray(rows[0] / np.linalg.norm(rows[0]))


def _vector_graph(epsilon: float) -> Graph:
    """Embedded tokens (tokens, width) and their count -> a vector, not yet of length 1; (1, width)."""
    graph = Graph("vector")
    embedded, count = graph.input("embedded"), graph.input("count")
    features = graph.add("Concat", embedded, *_ngrams(graph, embedded, epsilon), axis=1)
    states = graph.add(
        "LayerNormalization", features, graph.input("ln_g"), graph.input("ln_b"), axis=-1, epsilon=epsilon
    )
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


# -- Tokens -----------------------------------------------------------------------------------------------------------


def _tokenizer(model: bytes) -> Any:
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
    found.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(characters), normalizers.Replace(Regex(" {2,}"), " ")]
    )
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
