"""Texts, and the prompts that follow them, one after the other in one row without padding.

A model is given a single row of tokens and knows of no mask; the visitors here say who sees whom. `PackedTexts` keeps
texts apart. `PackedPrompts` lets prompts look at the text that they follow, whose keys and values were remembered once,
and at their own earlier tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from mudy.engines.torch.attention import (
    Call,
    Edit,
    Enough,
    Observer,
    joint_softmax,
    shared_scores,
    shared_sum,
    soft_cap,
)

_BLOCK = 64  # rows of a text that are multiplied together


@dataclass(slots=True)
class Memory:
    """Every layer's keys and values of one text."""

    keys: dict[int, Tensor] = field(default_factory=dict)  # layer -> (kv_heads, tokens, width)
    values: dict[int, Tensor] = field(default_factory=dict)

    def keep(self, call: Call) -> None:
        self.keys[call.layer] = call.key[0]
        self.values[call.layer] = call.value[0]


# --- Reading -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PackedTexts:
    """Texts that are each read alone, every token seeing those before it, and no layer more than is wanted."""

    lengths: Sequence[int]  # tokens of each text
    last: int  # the last layer that is wanted
    memories: Sequence[Memory] = ()  # one a text, or none
    observers: Sequence[Observer] = ()  # likewise

    def attend(self, call: Call) -> Tensor:
        for observer, text in zip(self.observers, self._texts(call), strict=False):
            if call.layer in observer.layers:
                observer.see(replace(text, mask=causal_mask(text)))
        found = list(self._texts(call))
        for memory, text in zip(self.memories, found, strict=False):
            memory.keep(text)
        if call.layer == self.last:
            raise Enough
        return torch.cat([looking_back(text) for text in found], dim=2)

    def _texts(self, call: Call) -> Iterator[Call]:
        start = 0
        for length in self.lengths:
            part = slice(start, start := start + length)
            yield replace(call, query=call.query[:, :, part], key=call.key[:, :, part], value=call.value[:, :, part])


def causal_mask(call: Call) -> Tensor:
    """What each row of a text sees, as transformers would have it; (1, 1, rows, rows)."""
    rows = call.query.shape[2]
    mask = torch.zeros(1, 1, rows, rows, device=call.query.device)
    hide(mask, 0, call.window)
    return mask


def looking_back(call: Call) -> Tensor:
    """Causal attention within one text; a layer multiplies no more than the tokens that its rows see."""
    kv_heads, rows, width = call.key.shape[1:]
    query = (call.query[0] * call.scaling).view(kv_heads, -1, rows, width)  # (kv_heads, groups, rows, width)
    attended = torch.empty_like(query, memory_format=torch.contiguous_format)
    for start in range(0, rows, _BLOCK):
        stop = min(start + _BLOCK, rows)
        first = 0 if call.window is None else max(0, start - call.window + 1)
        scores = shared_scores(query[:, None, :, start:stop], call.key[0, :, first:stop])
        scores = soft_cap(scores, call.softcap).float()
        hide(scores, start - first, call.window)
        attention = scores.softmax(-1).to(call.value.dtype)
        attended[:, :, start:stop] = shared_sum(attention, call.value[0, :, first:stop])[:, 0]
    return attended.flatten(0, 1)[None]  # (1, heads, rows, width)


def hide(scores: Tensor, before: int, window: int | None) -> None:
    """-inf in place for what rows, the first after `before` tokens, cannot see: what follows, or is out of a window."""
    rows = scores.shape[-2]
    future = torch.ones(rows, rows, dtype=torch.bool, device=scores.device).triu_(1)
    scores[..., before:].masked_fill_(future, -torch.inf)
    if window is not None:
        forget(scores, before, window)


def forget(scores: Tensor, before: int, window: int) -> None:
    """-inf in place where a row, the first of which stands after `before` tokens, can no longer see a token."""
    rows = scores.shape[-2]
    edge = min(scores.shape[-1], max(0, before + rows - window))  # only the first few tokens go out of sight
    row = torch.arange(before, before + rows, device=scores.device)[:, None]
    token = torch.arange(edge, device=scores.device)
    scores[..., :edge].masked_fill_(row - token >= window, -torch.inf)


# --- Prompts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PromptRun:
    """Prompts of one shape that follow one text."""

    memory: Memory
    seen: int  # how many of the remembered tokens they follow
    prompts: int
    length: int  # rows of each
    edit: Edit | None = None

    @property
    def rows(self) -> int:
        return self.prompts * self.length


@dataclass(frozen=True, slots=True)
class PackedPrompts:
    """Runs of prompts, one after the other."""

    runs: Sequence[PromptRun]

    def attend(self, call: Call) -> Tensor:
        parts, start = [], 0
        for run in self.runs:
            parts.append(self._run(call, run, slice(start, start := start + run.rows)))
        return torch.cat(parts, dim=1)[None]  # (1, heads, rows, width)

    def _run(self, call: Call, run: PromptRun, rows: slice) -> Tensor:
        keys, values = run.memory.keys[call.layer], run.memory.values[call.layer]
        first = 0 if call.window is None else max(0, run.seen - call.window + 1)  # what no row sees is not computed
        heads, kv_heads, shape = call.query.shape[1], keys.shape[0], (run.prompts, run.length)
        query = call.query[0, :, rows] * call.scaling
        query = query.view(kv_heads, heads // kv_heads, *shape, -1)  # (kv_heads, groups, prompts, rows, width)
        own_keys = call.key[0, :, rows].view(kv_heads, 1, *shape, -1)  # (kv_heads, 1, prompts, rows, width)
        own_values = call.value[0, :, rows].view(kv_heads, 1, *shape, -1)
        far = soft_cap(shared_scores(query.to(keys.dtype), keys[:, first : run.seen]), call.softcap).float()
        near = soft_cap(query @ own_keys.mT, call.softcap)
        if run.edit is not None and run.edit.touches(call.layer, call.window):
            far = run.edit(call.layer, far, first)
        if call.window is not None:
            forget(far, run.seen - first, call.window)
        hide(near, 0, None)
        return joint_softmax(far, values[:, first : run.seen], near, own_values).flatten(2, 3).flatten(0, 1)
