"""Attention as a visitor sees it: observed (Eqs. 13-14), or pulled towards a place (Eqs. 5-8).

One function is registered with transformers' AttentionInterface and serves every architecture. A model is called with
`visitor=...`, which reaches that function; without one, attention is the model's own.

Scores of prompts that follow a shared document are laid out as (kv_heads, groups, prompts, rows, tokens): the
document's keys are multiplied once for all rows of a head, and are copied neither per prompt nor per query head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from mudy._support.cancellation import check
from mudy.engines.backbone import Floats, MapObserver, Rule, Weighting

NAME = "mudy"
PACKED = "mudy_packed"  # texts and prompts one after the other in one row: only a visitor knows who sees whom


@dataclass(frozen=True, slots=True)
class Call:
    """One attention module at work."""

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


class Visitor(Protocol):
    """Computes attention in a model's stead; gives (batch, heads, rows, width)."""

    def attend(self, call: Call) -> Tensor: ...


class Enough(Exception):
    """Raised by a visitor that has seen what it wanted: the layers above need not run."""


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
    visitor: Visitor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    call = Call(
        layer=int(getattr(module, "layer_idx", None) or 0),
        cross=bool(getattr(module, "is_decoder", False)) and not getattr(module, "is_causal", True),
        query=query,
        key=key,
        value=value,
        mask=attention_mask,
        bias=position_bias,
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        softcap=softcap,
        window=sliding_window,
    )
    check()
    attended = own_attention(call) if visitor is None else visitor.attend(call)
    return attended.transpose(1, 2).contiguous(), None


def _packed(module: nn.Module, *tensors: Any, visitor: Visitor, **more: Any) -> tuple[Tensor, None]:
    """The same without a mask, so a visitor is needed."""
    query, key, value, mask = tensors
    return _attention(module, query, key, value, mask, visitor=visitor, **more)


@cache
def register() -> None:
    """Make both known to transformers, which is imported only now."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, eager_mask)  # without a mask of its own, causality would silently disappear
    AttentionInterface.register(PACKED, _packed)
    AttentionMaskInterface.register(PACKED, lambda **_: None)


def own_attention(call: Call) -> Tensor:
    """What the model itself computes."""
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


# --- Observing: how much each token is looked at -----------------------------------------------------------------


def received_sums(attention: Tensor, rows: Tensor) -> Tensor:
    """Sum, for each token, the attention it gets from all real rows, averaged over heads (Eqs. 13-14).

    `attention` is (batch, heads, rows, tokens), `rows` is (batch, rows) with 1 for a real row and 0 for padding.
    """
    return torch.einsum("bhrt,br->bt", attention, rows) / attention.shape[1]


@dataclass(slots=True)
class Observer:
    """Adds up the attention received in some layers, and leaves the model as it is."""

    rows: Tensor  # (batch, rows): 1 for a real token, 0 for padding
    layers: frozenset[int]
    sums: dict[int, Tensor] = field(default_factory=dict)  # layer -> (batch, tokens)

    def attend(self, call: Call) -> Tensor:
        self.see(call)
        return own_attention(call)

    def see(self, call: Call) -> None:
        """Add up one layer, if it is among those asked for."""
        if call.layer in self.layers:
            self.sums[call.layer] = self._received(call)

    def mean(self) -> Floats:
        """The average over the layers observed; (batch, tokens)."""
        found: Floats = torch.stack(list(self.sums.values())).mean(0).cpu().numpy()
        return found

    def _received(self, call: Call) -> Tensor:
        """Column sums in blocks of rows, so that no (heads, tokens, tokens) map is held."""
        total = torch.zeros_like(self.rows)
        for rows, attention in row_maps(call):
            total += received_sums(attention, self.rows[:, rows])
        return total


@dataclass(slots=True, kw_only=True)
class Showing(Observer):
    """Shows the maps of one text to an observer."""

    to: MapObserver

    def see(self, call: Call) -> None:
        if call.layer in self.layers:
            self.to.see(call.layer, partial(shown_maps, call))


def shown_maps(call: Call, head: int | None = None) -> Iterator[tuple[slice, Floats]]:
    """The maps of a call as `Maps` has them."""
    for rows, attention in row_maps(call if head is None else one_head(call, head)):
        yield rows, attention[0].cpu().numpy()


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


def one_head(call: Call, head: int) -> Call:
    """The same call with one query head and the key head that it shares."""
    key = head // (call.query.shape[1] // call.key.shape[1])
    return replace(
        call,
        query=call.query[:, head : head + 1],
        key=call.key[:, key : key + 1],
        bias=None if call.bias is None else call.bias[:, head : head + 1],
    )


# --- Editing: Eqs. 5-8 -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Edit:
    """A weighting, applied to prompts of one shape."""

    weighting: Weighting
    prompts: Sequence[int]  # which prompts of the weighting these are
    counted: slice  # rows of each prompt whose agreement with a token counts

    def touches(self, layer: int, window: int | None) -> bool:
        return self.weighting.touches(layer) and (window is None or self.weighting.sliding)

    def __call__(self, layer: int, scores: Tensor, first: int) -> Tensor:
        """Edit the scores over the document's tokens from `first` on; (kv_heads, groups, prompts, rows, tokens)."""
        given = torch.from_numpy(self.weighting.weights(layer, self.prompts)[:, first:])
        weights = given.to(scores.device, scores.dtype)  # (prompts, tokens)
        if self.weighting.k:
            aligned = alignment(scores, self.counted)
            eligible = torch.from_numpy(self.weighting.eligible[first:]).to(scores.device)
            weights = keep_aligned(weights, aligned, eligible, self.weighting.k)
        return RULES[self.weighting.rule](scores, weights.unsqueeze(-2))


def alignment(scores: Tensor, rows: slice) -> Tensor:
    """How well each document token agrees with the candidate's own rows, per head (Eqs. 5-6)."""
    return scores[..., rows, :].sum(-2)  # (kv_heads, groups, prompts, tokens)


def keep_aligned(weights: Tensor, aligned: Tensor, eligible: Tensor, k: int) -> Tensor:
    """Full weight for the k best-aligned tokens of each head, whatever their distance (Eq. 7)."""
    aligned = aligned.masked_fill(~eligible, -torch.inf)
    best = aligned.topk(min(k, int(eligible.sum())), dim=-1).indices
    return weights.expand_as(aligned).scatter(-1, best, 1.0)


def reweight(scores: Tensor, weights: Tensor) -> Tensor:
    """Pull attention towards heavy tokens without flipping any sign (Eq. 8).

    Weights lie in [0, 1]. Weight 1 keeps a positive score and lifts a negative one to zero, so all ones is not the
    identity: to leave a model untouched, pass no edit. Masks are added afterwards, never reweighted.
    """
    return torch.where(scores >= 0, scores * weights, scores * (1 - weights))


def reweight_after_softmax(scores: Tensor, weights: Tensor) -> Tensor:
    """Multiply the attention itself by the weights and renormalise, which equals adding log W before the softmax."""
    return scores.add_(weights.log())  # in place: the scores are the largest thing in memory


RULES: dict[Rule, Callable[[Tensor, Tensor], Tensor]] = {"logit": reweight, "post_softmax": reweight_after_softmax}


# --- Looking at a document that all prompts share ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CrossAttention:
    """Encoder-decoder: rows whose look at the encoder may be edited; the encoder's keys have a batch of one."""

    edit: Edit | None = None

    def attend(self, call: Call) -> Tensor:
        if not call.cross:
            return own_attention(call)
        query = call.query.transpose(0, 1).unsqueeze(1)  # (heads, 1, prompts, rows, width): every head has its own keys
        scores = shared_scores(query * call.scaling, call.key[0])
        if self.edit is not None and self.edit.touches(call.layer, None):
            scores = self.edit(call.layer, scores, 0)
        attention = torch.softmax(scores, dim=-1, dtype=torch.float32).to(call.value.dtype)
        return shared_sum(attention, call.value[0]).squeeze(1).transpose(0, 1)


def shared_scores(query: Tensor, keys: Tensor) -> Tensor:
    """All rows of all prompts against one document, as one product per key head."""
    kv_heads, groups, prompts, rows, width = query.shape
    scores = query.reshape(kv_heads, groups * prompts * rows, width) @ keys.mT
    return scores.view(kv_heads, groups, prompts, rows, keys.shape[1])


def shared_sum(attention: Tensor, values: Tensor) -> Tensor:
    kv_heads, groups, prompts, rows, tokens = attention.shape
    attended = attention.reshape(kv_heads, groups * prompts * rows, tokens) @ values
    return attended.view(kv_heads, groups, prompts, rows, values.shape[-1])


def joint_softmax(far: Tensor, far_values: Tensor, near: Tensor, near_values: Tensor) -> Tensor:
    """One softmax over two blocks of scores that are never put side by side in memory; the scores are used up."""
    far, near = far.float(), near.float()
    top = torch.maximum(far.amax(-1, keepdim=True), near.amax(-1, keepdim=True))
    far, near = far.sub_(top).exp_(), near.sub_(top).exp_()
    mass = far.sum(-1, keepdim=True) + near.sum(-1, keepdim=True)
    attended = shared_sum(far.to(far_values.dtype), far_values) + near.to(near_values.dtype) @ near_values
    return (attended / mass).to(near_values.dtype)
