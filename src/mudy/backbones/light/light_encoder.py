"""Sentence encoders (BERT) without torch: a vector for a text, or for a span in its context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy.backbones.batches import in_order
from mudy.backbones.light import encoder_graphs
from mudy.backbones.light.decoder import unsigned
from mudy.backbones.light.light_tokenizer import LightTokenizer
from mudy.backbones.light.products import MIDDLE, FloatProducts, Int8Products, Products, signed_products_are_exact
from mudy.backbones.light.sessions import Array, Sessions
from mudy.backbones.light.weight_file import WeightFile
from mudy.backbones.tokens import Tokens, tokenise
from mudy.cancellation import check
from mudy.errors import UnsupportedModel
from mudy.text import Span

_FAMILIES = frozenset({"bert"})
_BATCH_TOKENS = 1024
_SPARE = 2  # tokens kept free, since a window cut out of a text may begin with a piece more than it had there
_REACH = 600  # characters of context read on either side of a span
_HIDDEN = np.float32(np.finfo(np.float32).min)


class LightEncoder:
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

    # --- Vectors -------------------------------------------------------------------------------------------------

    def embed(self, texts: Sequence[str]) -> Array:
        """A vector of length 1 for each text: the mean of its last states, those of special tokens too; (texts, width).

        What does not fit into the model's window is not read.
        """
        if not texts:
            return np.empty((0, self.width), np.float32)
        rows = [self.read_alone(text) for text in texts]
        means = np.stack(self.states(rows, pool=lambda state: state.mean(0)))
        found: Array = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.float32(1e-12))
        return found

    def span_states(self, text: str, spans: Sequence[Span], contexts: Sequence[Span]) -> Array:
        """The mean of the last states over each span, read within its context; (spans, width)."""
        near = [
            Span(max(c.start, s.start - _REACH), min(c.end, s.end + _REACH))
            for s, c in zip(spans, contexts, strict=True)
        ]
        read = {context: self.read_span(text, context) for context in dict.fromkeys(near)}
        states = dict(zip(read, self.states([tokens.ids for tokens in read.values()]), strict=True))
        means = []
        for span, context in zip(spans, near, strict=True):
            tokens = read[context].of(span)
            means.append(states[context][tokens.start : tokens.stop].mean(0))
        return np.stack(means)

    # --- Tokens --------------------------------------------------------------------------------------------------

    def room(self) -> int:
        """How many tokens of text fit into one reading."""
        return max(1, self.positions - self.tokenizer.num_special_tokens_to_add() - _SPARE)

    def token_ends(self, text: str) -> list[int]:
        """Where each token of a text ends, in characters: for planning windows."""
        return tokenise(self.tokenizer, text, Span(0, len(text)), special=False).ends

    def read_span(self, text: str, span: Span) -> Tokens:
        """A stretch of text as tokens, with the special ones, cut where the encoder ends."""
        tokens, longest = tokenise(self.tokenizer, text, span), self.positions
        return Tokens(tokens.ids[:longest], tokens.starts[:longest], tokens.ends[:longest], tokens.first)

    def read_alone(self, phrase: str) -> list[int]:
        """A phrase as token ids, with the special ones."""
        return self.read_span(phrase, Span(0, len(phrase))).ids

    def mask_token(self) -> int:
        """The token that stands for a hidden one."""
        token = self.tokenizer.mask_token_id
        if token is None:
            raise UnsupportedModel(f"{self.name} has no mask token; an encoder trained with one (BERT) is needed.")
        return token

    # --- States --------------------------------------------------------------------------------------------------

    def states(
        self, rows: Sequence[Sequence[int]], layer: int = -1, pool: Callable[[Array], Array] = lambda state: state
    ) -> list[Array]:
        """What `pool` makes of the (tokens, width) states of each row of token ids, read alone; -1: the last layer."""

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
