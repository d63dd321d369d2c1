"""A model with its weights, and what is multiplied with them, rounded to 8 bits.

Each row of a weight matrix and each row of states has its own scale, so one large value coarsens no row but its own.
A CPU multiplies 8-bit integers several times as fast as float32; attention, norms and sums stay in float32.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mudy.backbones.attention import soft_cap

LARGEST = 127


def int8_rounded(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as 8-bit integers and the scale of each; (rows, width) and (rows, 1)."""
    scales = rows.abs().amax(-1, keepdim=True).clamp_(min=1e-12).div_(LARGEST)
    return (rows / scales).round_().to(torch.int8), scales


class Rounding:
    """Rounds states, and remembers the last: several layers in turn are given the same."""

    def __init__(self) -> None:
        self._last: tuple[Tensor | None, tuple[Tensor, Tensor]] = (None, (torch.empty(0), torch.empty(0)))

    def __call__(self, states: Tensor) -> tuple[Tensor, Tensor]:
        known, made = self._last  # both at once: another thread may be at work
        if known is not states:
            made = int8_rounded(states.reshape(-1, states.shape[-1]).float())
            self._last = states, made
        return made


class Int8Linear(nn.Module):
    """A linear layer in 8 bits."""

    def __init__(self, layer: nn.Linear, rounding: Rounding) -> None:
        super().__init__()
        weight, scales = int8_rounded(layer.weight.detach().float())
        self.weight, self.scales, self.bias = weight.t(), scales[:, 0], layer.bias  # (in, out), (out,)
        self.rounding = rounding

    def forward(self, states: Tensor) -> Tensor:
        rows, scales = self.rounding(states)
        product = torch._int_mm(rows, self.weight).float().mul_(scales).mul_(self.scales)
        product = product if self.bias is None else product.add_(self.bias)
        return product.view(*states.shape[:-1], -1)


class Int8Embedding(nn.Module):
    """Word vectors in 8 bits."""

    def __init__(self, layer: nn.Embedding) -> None:
        super().__init__()
        self.weight, self.scales = int8_rounded(layer.weight.detach().float())  # (words, width), (words, 1)
        scale = getattr(layer, "embed_scale", None)  # Gemma's
        self.times = 1.0 if scale is None else float(scale)

    def forward(self, ids: Tensor) -> Tensor:
        return self.weight[ids] * (self.scales[ids] * self.times)


class Int8Head:
    """The vocabulary in 8 bits, as vocabulary.Head wants it."""

    def __init__(self, weight: Tensor, scales: Tensor, bias: Tensor | None, cap: float | None) -> None:
        self.weight, self.scales, self.bias, self.cap = weight, scales, bias, cap
        self.rounding = Rounding()

    @property
    def words(self) -> int:
        return len(self.weight)

    def logits(self, states: Tensor, words: slice) -> Tensor:
        rows, scales = self.rounding(states)
        found = torch._int_mm(rows, self.weight[words].t()).float().mul_(scales).mul_(self.scales[words, 0])
        return soft_cap(found if self.bias is None else found.add_(self.bias[words]), self.cap)

    def logit(self, states: Tensor, words: Tensor) -> Tensor:
        """As `logits` has it, to the last bit: else a word could be likelier than all words together."""
        rows, scales = int8_rounded(states.float())
        found = (rows.int() * self.weight[words]).sum(-1, dtype=torch.int32).float() * scales[:, 0]
        found = found.mul_(self.scales[words, 0])
        return soft_cap(found if self.bias is None else found.add_(self.bias[words]), self.cap)

    def only(self, words: Tensor) -> Int8Head:
        bias = None if self.bias is None else self.bias[words]
        return Int8Head(self.weight[words], self.scales[words], bias, self.cap)


def round_layers(body: nn.Module) -> None:
    """Replace the linear layers of a model by 8-bit ones, in place."""
    rounding = Rounding()
    for module in list(body.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Int8Linear(child, rounding))


def round_model(model: Any, cap: float | None) -> Int8Head:
    """Replace a causal model's linear layers and word vectors by 8-bit ones, in place; gives its head."""
    body = model.model
    round_layers(body)
    tied = model.lm_head.weight is body.embed_tokens.weight
    words = Int8Embedding(body.embed_tokens)
    weight, scales = (words.weight, words.scales) if tied else int8_rounded(model.lm_head.weight.detach().float())
    head = Int8Head(weight, scales, model.lm_head.bias, cap)
    body.embed_tokens = words
    model.lm_head = nn.Identity()
    return head
