"""Sentence encoders (BERT) without torch: a vector for a text, or for a span in its context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.cancellation import check
from mudy._support.onnx import Array, Sessions
from mudy.engines.batches import consecutive, packs
from mudy.engines.encoder import SentenceEncoder
from mudy.engines.light import graphs
from mudy.engines.light.conversion import LightWeights
from mudy.engines.light.light_tokenizer import LightTokenizer

_BATCH_TOKENS = 320  # of texts that are computed together, on one thread
_Feeds = dict[str, NDArray[Any]]


class LightEncoder(SentenceEncoder):
    def __init__(
        self,
        config: Mapping[str, Any],
        weights: LightWeights,
        tokenizer: LightTokenizer,
        sessions: Sessions,
        name: str,
        batch_tokens: int | None = None,
    ) -> None:
        self.tokenizer, self.sessions, self.name = tokenizer, sessions, name
        self.batch_tokens = batch_tokens or _BATCH_TOKENS
        self.width, self.heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        self.depth, self.positions = int(config["num_hidden_layers"]), int(config["max_position_embeddings"])
        epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._graphs = {
            "embeddings": graphs.embeddings(epsilon),
            "before": graphs.queries_keys_values(weights.products),
            "attention": graphs.heads_attention(self.heads),
            "after": graphs.layer_output(weights.products, epsilon),
        }
        prefix = "" if "embeddings.LayerNorm.weight" in weights.file else "bert."
        self._before, self._after = (
            [weights.feeds(self._graphs[name], f"{prefix}encoder.layer.{layer}.") for layer in range(self.depth)]
            for name in ("before", "after")
        )
        self._norm = weights.feeds(self._graphs["embeddings"], f"{prefix}embeddings.")
        self._words, places, types = (
            weights.table(f"{prefix}embeddings.{kind}_embeddings.weight") for kind in ("word", "position", "token_type")
        )
        self._place = places.rows(range(self.positions)) + types.rows([0])

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
        (states,) = self._run("embeddings", self._norm, states=self._words.rows(ids) + places)
        groups = [(len(list(same)), length) for length, same in groupby(map(len, rows))]  # rows are sorted by length
        for before, after in zip(self._before[:depth], self._after[:depth], strict=True):
            check()
            attended = self._attend(self._run("before", before, states=states), groups)
            (states,) = self._run("after", after, attended=attended, states=states)
        return states

    def _run(self, name: str, weights: _Feeds, **states: Array) -> list[Array]:
        return self.sessions.run(name, lambda: self._graphs[name], {**weights, **states})

    def _attend(self, parts: Sequence[Array], groups: Sequence[tuple[int, int]]) -> Array:
        """What the tokens of each text see; (tokens, width).

        Texts of equal length are computed together. None is padded, so no text's states depend on another's length.
        """
        attended = []
        for (texts, tokens), part in zip(groups, consecutive(n * length for n, length in groups), strict=True):
            query, key, value = (rows[part].reshape(texts, tokens, self.width) for rows in parts)
            (seen,) = self._run("attention", {}, query=query, key=key, value=value)
            attended.append(seen.reshape(-1, self.width))
        return np.concatenate(attended)
