"""Sentence encoders (BERT) without torch: a vector for a text, or for a span in its context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy.backbones.batches import in_order
from mudy.backbones.encoder import SentenceEncoder
from mudy.backbones.light import encoder_graphs
from mudy.backbones.light.decoder import unsigned
from mudy.backbones.light.light_tokenizer import LightTokenizer
from mudy.backbones.light.products import MIDDLE, FloatProducts, Int8Products, Products, signed_products_are_exact
from mudy.backbones.light.sessions import Array, Sessions
from mudy.backbones.light.weight_file import WeightFile
from mudy.cancellation import check
from mudy.errors import UnsupportedModel

_FAMILIES = frozenset({"bert"})
_BATCH_TOKENS = 1024
_HIDDEN = np.float32(np.finfo(np.float32).min)


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
        def work(batch: list[int]) -> list[Array]:
            some = [rows[i] for i in batch]
            found = self._forward(some, self.depth if layer == -1 else layer % (self.depth + 1))
            return [pool(state[: len(row)]) for state, row in zip(found, some, strict=True)]

        return in_order([len(row) for row in rows], self.batch_tokens, work)

    def _forward(self, rows: Sequence[Sequence[int]], depth: int) -> Array:
        """States after so many layers; (texts, longest text, width)."""
        longest = max(map(len, rows))
        ids = np.zeros((len(rows), longest), np.int64)
        mask = np.full((len(rows), 1, 1, longest), _HIDDEN, np.float32)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, :, :, : len(row)] = 0
        states = self._table("word_embeddings", ids.ravel()).reshape(*ids.shape, -1) + self._place[:longest]
        states = states.reshape(-1, self.width)
        norm = partial(encoder_graphs.embeddings, self._epsilon)
        (states,) = self.sessions.run("embeddings", norm, {"states": states, **self._norm})
        shape = np.array([*ids.shape, self.heads, self.width // self.heads])
        graph = partial(encoder_graphs.layer, self._products, self.heads, self.width, self._epsilon)
        for weights in self._layers[:depth]:
            check()
            (states,) = self.sessions.run("layer", graph, {"states": states, "mask": mask, "shape": shape, **weights})
        return states.reshape(*ids.shape, -1)

    # --- Weights -------------------------------------------------------------------------------------------------

    def _layer_weights(self, layer: int) -> dict[str, NDArray[Any]]:
        prefix = f"encoder.layer.{layer}."
        feeds: dict[str, NDArray[Any]] = {}
        for name in encoder_graphs.NORMS:
            feeds |= {f"{name}.{part}": self._floats(f"{prefix}{name}.{part}") for part in ("weight", "bias")}
        for name in encoder_graphs.LINEARS:
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


def check_family(config: Mapping[str, Any], name: str) -> None:
    """Raise for an encoder that only the torch engine computes."""
    family = config.get("model_type")
    plain = config.get("position_embedding_type", "absolute") == "absolute" and config.get("hidden_act") == "gelu"
    if family not in _FAMILIES or not plain:
        raise UnsupportedModel(
            f"{name} is of the family {family!r}, or a variant of it, which only the torch engine computes (without "
            f"torch: {', '.join(sorted(_FAMILIES))}). Install mudy[torch]."
        )
