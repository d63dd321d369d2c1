"""Attention through a visitor: observed (Eqs. 13-14), or pulled towards an occurrence (Eqs. 5-8).

One function is registered with transformers' AttentionInterface and serves every architecture. A model is called with
`visitor=...`, which reaches that function; without one, attention is the model's own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mudy._support.callbacks import check
from mudy.engines.interfaces import Floats, MapObserver, Rule, Weighting

NAME = "mudy"


@dataclass(frozen=True, slots=True)
class Call:
    layer: int
    cross: bool  # a decoder looking at its encoder
    query: Tensor  # (batch, heads, rows, width)
    key: Tensor  # (batch, kv_heads, tokens, width)
    value: Tensor
    mask: Tensor | None  # added to the scores; (batch, 1, rows, tokens)
    bias: Tensor | None  # T5's relative positions; (1, heads, rows, tokens)
    scaling: float
    softcap: float | None
    window: int | None  # how far back a sliding layer looks


def own_attention(call: Call) -> Tensor:
    if call.softcap is None:
        bias = _add(call.bias, call.mask)
        return torch.nn.functional.scaled_dot_product_attention(
            call.query, call.key, call.value, attn_mask=bias, scale=call.scaling, enable_gqa=True
        )
    groups = call.query.shape[1] // call.key.shape[1]
    return probabilities(call).to(call.value.dtype) @ call.value.repeat_interleave(groups, dim=1)


def probabilities(call: Call) -> Tensor:
    """The attention map: scale, soft-cap, mask, softmax."""
    groups = call.query.shape[1] // call.key.shape[1]
    scores = soft_cap(call.query @ call.key.repeat_interleave(groups, dim=1).mT * call.scaling, call.softcap)
    bias = _add(call.bias, call.mask)
    scores = scores if bias is None else scores + bias
    return torch.softmax(scores, dim=-1, dtype=torch.float32)  # (batch, heads, rows, tokens)


def soft_cap(scores: Tensor, cap: float | None) -> Tensor:
    """Gemma 2 bends scores into (-cap, cap); others leave them."""
    return scores if cap is None else torch.tanh(scores / cap) * cap


def _add(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def received_sums(attention: Tensor) -> Tensor:
    """The attention that each token gets from all rows, averaged over heads (Eqs. 13-14).

    (batch, heads, rows, tokens) -> (batch, tokens)
    """
    rows = attention.new_ones(attention.shape[0], attention.shape[2])
    return torch.einsum("bhrt,br->bt", attention, rows) / attention.shape[1]


@dataclass(slots=True)
class Observer:
    """Adds up the attention received in some layers, or shows it to another; leaves the model as it is."""

    layers: frozenset[int]
    to: MapObserver | None = None
    sums: dict[int, Tensor] = field(default_factory=dict)  # layer -> (batch, tokens)

    def attend(self, call: Call) -> Tensor:
        if call.layer in self.layers and self.to is not None:
            self.to.see(call.layer, partial(shown_maps, call))
        elif call.layer in self.layers:
            for _, attention in row_maps(call):  # no (heads, tokens, tokens) map is held
                self.sums[call.layer] = self.sums.get(call.layer, 0) + received_sums(attention)
        return own_attention(call)

    def mean(self) -> Floats:
        """The average over the layers observed; (tokens,)."""
        return np.asarray(torch.stack(list(self.sums.values())).mean(0)[0].cpu().numpy())


def shown_maps(call: Call, head: int | None = None) -> Iterator[tuple[slice, Floats]]:
    heads = slice(None) if head is None else slice(head, head + 1)
    for rows, attention in row_maps(call):
        yield rows, attention[0, heads].cpu().numpy()


def row_maps(call: Call, block: int = 256) -> Iterator[tuple[slice, Tensor]]:
    """The attention map in blocks of rows; (batch, heads, rows, tokens)."""
    for start in range(0, call.query.shape[2], block):
        rows = slice(start, start + block)
        some = replace(
            call,
            query=call.query[:, :, rows],
            mask=None if call.mask is None else call.mask[:, :, rows],
            bias=None if call.bias is None else call.bias[:, :, rows],
        )
        yield rows, probabilities(some)


@dataclass(frozen=True, slots=True)
class Edit:
    """A weighting, applied to prompts of one shape."""

    weighting: Weighting
    prompts: Sequence[int]  # which prompts of the weighting these are
    counted: slice  # rows of each prompt whose agreement with a token counts

    def __call__(self, layer: int, scores: Tensor, first: int) -> Tensor:
        """Edit the scores over the document's tokens from `first` on; (prompts, kv_heads, groups, rows, tokens)."""
        given = torch.from_numpy(self.weighting.weights(layer, self.prompts)[:, first:])
        weights = given.to(scores.device, scores.dtype)[:, None, None]  # (prompts, 1, 1, tokens)
        if self.weighting.k:
            aligned = scores[..., self.counted, :].sum(-2)  # Eqs. 5-6, per head; (prompts, kv_heads, groups, tokens)
            eligible = torch.from_numpy(self.weighting.eligible[first:]).to(scores.device)
            weights = keep_aligned(weights, aligned, eligible, self.weighting.k)
        return reweighted(scores, weights.unsqueeze(-2), self.weighting.rule)


def keep_aligned(weights: Tensor, aligned: Tensor, eligible: Tensor, k: int) -> Tensor:
    """Full weight for the k best-aligned tokens of each head, whatever their distance (Eq. 7)."""
    aligned = aligned.masked_fill(~eligible, -torch.inf)
    best = aligned.topk(min(k, int(eligible.sum())), dim=-1).indices
    return weights.expand_as(aligned).scatter(-1, best, 1.0)


def reweighted(scores: Tensor, weights: Tensor, rule: Rule) -> Tensor:
    """Pull attention towards heavy tokens without flipping any sign (Eq. 8); or multiply it by the weights.

    Weights lie in [0, 1]. By Eq. 8, weight 1 keeps a positive score and lifts a negative one to zero, so all ones is
    not the identity: to leave a model untouched, pass no edit. For "post_softmax", log W is added before the softmax,
    which multiplies and renormalises after it. Masks are added afterwards, never reweighted.
    """
    if rule == "logit":
        return torch.where(scores >= 0, scores * weights, scores * (1 - weights))
    return scores + weights.log()


@dataclass(frozen=True, slots=True)
class Following:
    """Prompts of one shape that follow one document: all look at the same keys and values, which are never copied.

    A decoder-only model remembers the document's keys and values in a cache; those of an encoder-decoder model come
    with its cross-attention.
    """

    edit: Edit | None = None
    cache: Any = None  # a DynamicCache of transformers with a batch of one

    def attend(self, call: Call) -> Tensor:
        if call.cross:
            return self._attend(call, call.key[0], call.value[0], with_prompt=False)
        if self.cache is None:
            return own_attention(call)
        document = self.cache.layers[call.layer]
        return self._attend(call, document.keys[0], document.values[0], with_prompt=True)

    def _attend(self, call: Call, keys: Tensor, values: Tensor, with_prompt: bool) -> Tensor:
        """Attention to the document and, with `with_prompt`, to the prompt's own earlier tokens, in one softmax."""
        length = keys.shape[1]
        first = 0 if call.window is None else max(0, length - call.window + 1)  # no row sees what lies before it
        keys, values = keys[:, first:], values[:, first:]  # (kv_heads, tokens, width)
        prompts, _, rows, width = call.query.shape
        query = call.query.reshape(prompts, len(keys), -1, rows, width)  # (prompts, kv_heads, groups, rows, width)
        scores = scaled(call, torch.einsum("pkgrw,ktw->pkgrt", query, keys))
        if self.edit is not None and self.edit.weighting.edits(call.layer, call.window):
            scores = self.edit(call.layer, scores, first)
        if call.window is not None:
            row = torch.arange(length, length + rows, device=scores.device)[:, None]
            token = torch.arange(first, length, device=scores.device)
            scores = scores.masked_fill(row - token >= call.window, -torch.inf)
        if with_prompt:
            assert call.mask is not None
            near = scaled(call, torch.einsum("pkgrw,pktw->pkgrt", query, call.key))
            scores = torch.cat([scores, near + call.mask[:, :, None]], dim=-1)
        attention = scores.softmax(-1).to(values.dtype)
        attended = torch.einsum("pkgrt,ktw->pkgrw", attention[..., : length - first], values)
        if with_prompt:
            attended = attended + torch.einsum("pkgrt,pktw->pkgrw", attention[..., length - first :], call.value)
        return attended.flatten(1, 2)  # (prompts, heads, rows, width)


def scaled(call: Call, products: Tensor) -> Tensor:
    """Scores from products of queries and keys: scaled, soft-capped, in float32."""
    return soft_cap(products * call.scaling, call.softcap).float()


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    sliding_window: int | None = None,
    position_bias: Tensor | None = None,
    visitor: Observer | Following | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    layer = int(getattr(module, "layer_idx", None) or 0)
    cross = bool(getattr(module, "is_decoder", False)) and not getattr(module, "is_causal", True)
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    call = Call(layer, cross, query, key, value, attention_mask, position_bias, scaling, softcap, sliding_window)
    check()
    attended = own_attention(call) if visitor is None else visitor.attend(call)
    return attended.transpose(1, 2).contiguous(), None


@cache
def register() -> None:
    """Register the function with transformers, which is imported only now."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, eager_mask)  # without a mask of its own, causality would silently disappear
