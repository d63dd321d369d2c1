"""Floating-point operations, counted as they are dispatched; multiplication and addition are two.

Counted are matrix products and attention. Of attention only what a row may see counts: pairs hidden by a mask or by
causality do not, whether or not a kernel multiplies them. In plain matrix products all that is multiplied counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from experiments.reproduce.timing import Clock


def visible_pairs(query: Tensor, key: Tensor, is_causal: bool, mask: Tensor | None) -> int:
    """How many rows see how many tokens, over the batch and all heads."""
    batch, heads, rows, _ = query.shape
    tokens = key.shape[2]
    if is_causal:
        return batch * heads * sum(min(row + 1, tokens) for row in range(rows))
    if mask is None:
        return batch * heads * rows * tokens
    seen = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    return int(seen.expand(batch, heads, rows, tokens).sum())


def attention_flops(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float = 0.0,  # noqa: ARG001
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    **_: Any,
) -> int:
    """The two products of attention, over visible pairs."""
    return 2 * visible_pairs(query, key, is_causal, attn_mask) * (query.shape[3] + value.shape[3])


def linear_flops(states: Tensor, weight: Tensor, *_: Any, **__: Any) -> int:
    """A linear layer whose weight (out, in) was packed for the processor beforehand."""
    return 2 * states.numel() * weight.shape[0]


attention_flops._get_raw = True  # type: ignore[attr-defined]  # tensors, not their shapes: a mask must be looked at
linear_flops._get_raw = True  # type: ignore[attr-defined]
FORMULAS = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attention_flops,
    torch.ops.mkldnn._linear_pointwise: linear_flops,
}


def counted(call: Callable[[], Any]) -> int:
    """The operations of a call."""
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    with counter:
        call()
    return counter.get_total_flops()


class FlopClock(Clock):
    """Counts operations by step, where a clock would count seconds."""

    def __call__(self, step: str, call: Callable[..., Any], *arguments: Any) -> Any:
        found: list[Any] = []
        self.spent[step] += counted(lambda: found.append(call(*arguments)))
        return found[0]
