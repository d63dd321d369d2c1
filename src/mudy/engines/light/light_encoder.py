"""Sentence encoders (BERT) without torch: a vector for a text, or for a span in its context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.cancellation import check
from mudy._support.extras import install_command
from mudy._support.onnx.sessions import Array, Sessions
from mudy.engines.batches import consecutive, packs
from mudy.engines.encoder import SentenceEncoder
from mudy.engines.light import graphs
from mudy.engines.light.conversion import WeightFile
from mudy.engines.light.decoder import unsigned
from mudy.engines.light.graphs import MIDDLE, FloatProducts, Int8Products, Products, signed_products_are_exact
from mudy.engines.light.light_tokenizer import LightTokenizer
from mudy.errors import UnsupportedModel

_FAMILIES = frozenset({"bert"})
_BATCH_TOKENS = 320  # of texts that are computed together, on one thread
_Feeds = dict[str, NDArray[Any]]


class LightEncoder(SentenceEncoder):
    """An encoder and its tokeniser."""

    def __init__(
        self,
        config: Mapping[str, Any],
        weights: WeightFile,
        tokenizer: LightTokenizer,
        sessions: Sessions,
        name: str,
        batch_tokens: int | None = None,
        int8: bool = False,
    ) -> None:
        check_family(config, name)
        self.tokenizer, self.sessions, self.name, self.int8 = tokenizer, sessions, name, int8
        self.batch_tokens = batch_tokens or _BATCH_TOKENS
        self.width, self.heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        self.depth, self.positions = int(config["num_hidden_layers"]), int(config["max_position_embeddings"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._signed = not int8 or signed_products_are_exact()
        self._products: Products = Int8Products(self._signed) if int8 else FloatProducts()
        self._weights, self._prefix = weights, "" if "embeddings.LayerNorm.weight" in weights else "bert."
        self._layers = [self._layer_weights(layer) for layer in range(self.depth)]
        self._norm = {f"LayerNorm.{part}": self._floats(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")}
        self._place = self._table("position_embeddings", range(self.positions)) + self._table(
            "token_type_embeddings", [0]
        )

    # --- States --------------------------------------------------------------------------------------------------

    def states(
        self, rows: Sequence[Sequence[int]], layer: int = -1, pool: Callable[[Array], Array] = lambda state: state
    ) -> list[Array]:
        depth = self.depth if layer == -1 else layer % (self.depth + 1)

        def pooled(pack: Sequence[int]) -> list[Array]:
            states = self._forward([rows[i] for i in pack], depth)
            return [pool(states[part]) for part in consecutive(len(rows[i]) for i in pack)]

        longest_first = sorted(range(len(rows)), key=lambda i: (-len(rows[i]), i))
        every = list(packs(longest_first, lambda i: len(rows[i]), self.batch_tokens))
        results = (result for pack in self.sessions.map(pooled, every) for result in pack)
        found = dict(zip(longest_first, results, strict=True))
        return [found[i] for i in range(len(rows))]

    def _forward(self, rows: Sequence[Sequence[int]], depth: int) -> Array:
        """States after so many layers, those of one text after those of another; (tokens, width)."""
        ids = [token for row in rows for token in row]
        places = np.concatenate([self._place[: len(row)] for row in rows])
        norm = partial(graphs.embeddings, self._epsilon)
        (states,) = self.sessions.run(
            "embeddings", norm, {"states": self._table("word_embeddings", ids) + places, **self._norm}
        )
        groups = equal_lengths(rows)
        for before, after in self._layers[:depth]:
            check()
            attended = self._attend(self._run("before", before, states=states), groups)
            (states,) = self._run("after", after, attended=attended, states=states)
        return states

    def _run(self, name: str, weights: _Feeds, **states: Array) -> list[Array]:
        make = {
            "before": partial(graphs.queries_keys_values, self._products),
            "after": partial(graphs.layer_output, self._products, self._epsilon),
        }[name]
        return self.sessions.run(name, make, {**weights, **states})

    def _attend(self, parts: Sequence[Array], groups: Sequence[tuple[int, int]]) -> Array:
        """What the tokens of each text see; (tokens, width).

        Texts of equal length are computed together. None is padded, so no text's states depend on another's length.
        """
        graph = partial(graphs.heads_attention, self.heads)
        found = []
        for (texts, tokens), part in zip(groups, consecutive(n * length for n, length in groups), strict=True):
            given = [each[part].reshape(texts, tokens, self.width) for each in parts]
            feeds = dict(zip(("query", "key", "value"), given, strict=True))
            found.append(self.sessions.run("attention", graph, feeds)[0].reshape(-1, self.width))
        return np.concatenate(found)

    # --- Weights -------------------------------------------------------------------------------------------------

    def _layer_weights(self, layer: int) -> tuple[_Feeds, _Feeds]:
        """The weights of a layer that its two graphs want, under the names that they give them."""
        prefix = f"encoder.layer.{layer}."
        after = self._linears(prefix, graphs.BERT_AFTER)
        for name in graphs.BERT_NORMS:
            after |= {f"{name}.{part}": self._floats(f"{prefix}{name}.{part}") for part in ("weight", "bias")}
        return self._linears(prefix, graphs.BERT_BEFORE), after

    def _linears(self, prefix: str, names: Sequence[str]) -> _Feeds:
        feeds: _Feeds = {}
        for name in names:
            feeds[f"{name}.bias"] = self._floats(f"{prefix}{name}.bias")
            if self.int8:
                weight = self._weights.tensor(f"{self._prefix}{prefix}{name}.weight")
                feeds[f"{name}.weight"] = weight if self._signed else unsigned(weight)
                feeds[f"{name}.weight.scales"] = self._floats(f"{prefix}{name}.weight.scales")
            else:
                feeds[f"{name}.weight"] = self._floats(f"{prefix}{name}.weight")
        return feeds

    def _floats(self, name: str) -> Array:
        return self._weights.floats(self._prefix + name)

    def _table(self, name: str, ids: Any) -> Array:
        """Rows of a table of vectors."""
        name = f"{self._prefix}embeddings.{name}.weight"
        rows = self._weights.tensor(name)[list(ids)].astype(np.float32)
        if not self.int8:
            return rows
        found: Array = (rows - np.float32(MIDDLE)) * self._weights.tensor(f"{name}.scales")[list(ids), None]
        return found


def equal_lengths(rows: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """How many rows of each length there are, and that length, for rows sorted by length."""
    return [(len(list(same)), length) for length, same in groupby(map(len, rows))]


def check_family(config: Mapping[str, Any], name: str) -> None:
    """Raise for an encoder that only the torch engine computes."""
    family = config.get("model_type")
    plain = config.get("position_embedding_type", "absolute") == "absolute" and config.get("hidden_act") == "gelu"
    if family not in _FAMILIES or not plain:
        raise UnsupportedModel(
            f"{name} is of the family {family!r}, or a variant of it, which only the torch engine computes (without "
            f"torch: {', '.join(sorted(_FAMILIES))}). Install it: {install_command('torch')}"
        )
