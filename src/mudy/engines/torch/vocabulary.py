"""Log-probabilities over a large vocabulary, without ever holding a row of it for each state."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from mudy._support.cancellation import cancellable
from mudy.engines.torch.attention import soft_cap

_ROWS = 1024  # states multiplied at once
WORDS = 2048  # with so many words of the vocabulary: a block of logits stays in a CPU's cache


class Head(Protocol):
    """The last layer of a language model: states to logits."""

    @property
    def words(self) -> int: ...

    def logits(self, states: Tensor, words: slice) -> Tensor:
        """Logits of a stretch of the vocabulary; (states, words)."""

    def logit(self, states: Tensor, words: Tensor) -> Tensor:
        """The logit of one word after each state; (states,)."""


class LinearHead:
    """A linear layer as it is."""

    def __init__(self, weight: Tensor, bias: Tensor | None, cap: float | None) -> None:
        self.weight, self.bias, self.cap = weight, bias, cap

    @property
    def words(self) -> int:
        return len(self.weight)

    def logits(self, states: Tensor, words: slice) -> Tensor:
        bias = None if self.bias is None else self.bias[words]
        return soft_cap(torch.nn.functional.linear(states, self.weight[words], bias).float(), self.cap)

    def logit(self, states: Tensor, words: Tensor) -> Tensor:
        found = (states.float() * self.weight[words].float()).sum(-1)
        return soft_cap(found if self.bias is None else found + self.bias[words].float(), self.cap)


def log_probabilities(head: Head, states: Tensor, rows: Tensor, words: Tensor) -> Tensor:
    """Log-probability of each word after the state in its row; (words,). Each state is projected once."""
    mass = torch.cat([log_mass(head, states[start : start + _ROWS]) for start in range(0, len(states), _ROWS)])
    return head.logit(states[rows], words) - mass[rows]


def log_mass(head: Head, states: Tensor) -> Tensor:
    """The logarithm of what the softmax divides by, added up over blocks of the vocabulary; (states,)."""
    top = torch.full((len(states), 1), -torch.inf, device=states.device)
    mass = torch.zeros(len(states), 1, device=states.device)
    for start in cancellable(range(0, head.words, WORDS)):
        logits = head.logits(states, slice(start, start + WORDS))
        higher = torch.maximum(top, logits.amax(1, keepdim=True))
        mass = mass * (top - higher).exp_() + logits.sub_(higher).exp_().sum(1, keepdim=True)
        top = higher
    return (top + mass.log())[:, 0]
