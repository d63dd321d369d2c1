"""Sentence encoders (BERT) without torch: a vector for a text, or for a span in its context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from mudy._support.callbacks import check
from mudy._support.onnx import CONTRIB, Array, Graph, ThreadMap
from mudy.engines import Compute, read_config
from mudy.engines.interfaces import SentenceEncoder
from mudy.engines.light.weights import LightWeights, Prepared, Products
from mudy.engines.tokens import LightTokenizer, consecutive, packs
from mudy.models.fetch import Report, silent

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
        self._embed = weights.bound(embeddings(epsilon), f"{prefix}embeddings.")
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


# --- Graphs --------------------------------------------------------------------------------------------------------


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
