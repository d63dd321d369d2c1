"""Texts, and the prompts that follow them, one after the other in one row without padding.

A model is given a single row of tokens and knows of no mask; the visitors here say who sees whom. `Reading` keeps texts
apart. `Following` lets prompts look at the text that they follow, whose keys and values were remembered once, and at
their own earlier tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from mudy.backbones.attention import (
    Call,
    Edit,
    Enough,
    Observer,
    joint_softmax,
    own_attention,
    shared_scores,
    soft_cap,
)

BLOCK = 256  # rows looked at together where a layer does not see the whole text


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
class Reading:
    """Texts that are each read alone, every token seeing those before it, and no layer more than is wanted."""

    lengths: Sequence[int]  # tokens of each text
    last: int  # the last layer that is wanted
    memories: Sequence[Memory] = ()  # one a text, or none
    observers: Sequence[Observer] = ()  # likewise

    def attend(self, call: Call) -> Tensor:
        found = list(self._texts(call))
        for memory, text in zip(self.memories, found, strict=False):
            memory.keep(text)
        for observer, text in zip(self.observers, found, strict=False):
            if call.layer in observer.layers:
                observer.see(replace(text, mask=past(text, 0, text.query.shape[2])))
        if call.layer == self.last:
            raise Enough
        return torch.cat([looking_back(text) for text in found], dim=2)

    def _texts(self, call: Call) -> Iterator[Call]:
        start = 0
        for length in self.lengths:
            part = slice(start, start := start + length)
            yield replace(call, query=call.query[:, :, part], key=call.key[:, :, part], value=call.value[:, :, part])


def looking_back(call: Call) -> Tensor:
    """Causal attention within one text; a sliding layer multiplies no more than the tokens that it sees."""
    rows = call.query.shape[2]
    if call.softcap is None and (call.window is None or rows <= call.window):
        return torch.nn.functional.scaled_dot_product_attention(
            call.query, call.key, call.value, is_causal=True, scale=call.scaling, enable_gqa=True
        )
    parts = []
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        first = 0 if call.window is None else max(0, start - call.window + 1)
        seen = slice(first, stop)
        parts.append(
            own_attention(
                replace(
                    call,
                    query=call.query[:, :, start:stop],
                    key=call.key[:, :, seen],
                    value=call.value[:, :, seen],
                    mask=past(call, start, stop, first),
                )
            )
        )
    return torch.cat(parts, dim=2)


def past(call: Call, start: int, stop: int, first: int = 0) -> Tensor:
    """-inf where a row from `start` to `stop` cannot see a token from `first` to `stop`; (1, 1, rows, tokens)."""
    row = torch.arange(start, stop, device=call.query.device)[:, None]
    token = torch.arange(first, stop, device=call.query.device)
    hidden = token > row
    if call.window is not None:
        hidden |= row - token >= call.window
    mask = torch.zeros(hidden.shape, dtype=call.query.dtype, device=call.query.device)
    return mask.masked_fill_(hidden, -torch.inf)[None, None]


# --- Following ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
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
class Following:
    """Runs of prompts, one after the other."""

    runs: Sequence[Run]

    def attend(self, call: Call) -> Tensor:
        parts, start = [], 0
        for run in self.runs:
            parts.append(self._run(call, run, slice(start, start := start + run.rows)))
        return torch.cat(parts, dim=1)[None]  # (1, heads, rows, width)

    def _run(self, call: Call, run: Run, rows: slice) -> Tensor:
        keys, values = run.memory.keys[call.layer], run.memory.values[call.layer]
        first = 0 if call.window is None else max(0, run.seen - call.window + 1)  # what no row sees is not computed
        heads, kv_heads, shape = call.query.shape[1], keys.shape[0], (run.prompts, run.length)
        query = call.query[0, :, rows] * call.scaling
        query = query.view(kv_heads, heads // kv_heads, *shape, -1)  # (kv_heads, groups, prompts, rows, width)
        own_keys = call.key[0, :, rows].view(kv_heads, 1, *shape, -1)  # (kv_heads, 1, prompts, rows, width)
        own_values = call.value[0, :, rows].view(kv_heads, 1, *shape, -1)
        far = soft_cap(shared_scores(query, keys[:, first : run.seen]), call.softcap)
        near = soft_cap(query @ own_keys.mT, call.softcap)
        if run.edit is not None and run.edit.touches(call.layer, call.window):
            far = run.edit(call.layer, far, first)
        if call.window is not None:
            forget(far, run.seen - first, call.window)
        near = near + past(call, 0, run.length)[0, 0]
        return joint_softmax(far, values[:, first : run.seen], near, own_values).flatten(2, 3).flatten(0, 1)


def forget(scores: Tensor, seen: int, window: int) -> None:
    """-inf in place where a row of a prompt, counted on from the text's end, can no longer see a token."""
    rows = scores.shape[-2]
    edge = min(seen, max(0, seen + rows - window))  # only the first few tokens go out of sight
    row = torch.arange(seen, seen + rows, device=scores.device)[:, None]
    token = torch.arange(edge, device=scores.device)
    scores[..., :edge].masked_fill_(row - token >= window, -torch.inf)
