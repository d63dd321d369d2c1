"""What all our transformers share: batches within a budget, results in the order asked, no work beyond what is used."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mudy.backbones.attention import Edit, Observer, Weighting
from mudy.backbones.base import Received, Stretch
from mudy.backbones.machine import Machine
from mudy.backbones.tokens import Prompt, Tokens, prompts_of, tokenise
from mudy.backbones.vocabulary import Head, LinearHead, log_probabilities
from mudy.text import Span

LONGEST_PROMPT = 512  # tokens kept free for the template and a candidate
T = TypeVar("T")


class Transformer(ABC):
    """A model, its tokeniser and a machine. A family says how a text is read and how a prompt follows it."""

    implementation: str  # of attention, as registered with transformers
    template: str  # with {} in the candidate's place
    special_in_prompt: bool  # whether the tokeniser's special tokens belong to the prompt
    special_in_window: bool  # and to a text whose attention is observed

    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str) -> None:
        self.model = model.eval().to(machine.device)
        self.model.set_attn_implementation(self.implementation)
        self.tokenizer = tokenizer
        self.machine = machine
        self.name = name
        cap = getattr(self.model.config, "final_logit_softcapping", None)
        self.head: Head = LinearHead(self.model.lm_head.weight, self.model.lm_head.bias, cap)

    @property
    def family(self) -> str:
        return str(self.model.config.model_type)

    @property
    def heads(self) -> int:
        return int(self.model.config.num_attention_heads)

    @property
    def device(self) -> torch.device:
        return self.machine.device

    def token_ends(self, text: str) -> list[int]:
        return tokenise(self.tokenizer, text, Span(0, len(text)), special=False).ends

    def received_attention(self, stretches: Sequence[Stretch], layers: Sequence[int]) -> list[Received]:
        tokens = [self.window(*stretch) for stretch in stretches]
        observers = [Observer(self._rows(len(t)), frozenset(layers)) for t in tokens]
        with self.machine.at_work():
            self._observe(tokens, observers)
        return [Received(t, observer.mean()[0]) for t, observer in zip(tokens, observers, strict=True)]

    def window(self, text: str, span: Span) -> Tokens:
        return tokenise(self.tokenizer, text, span, special=self.special_in_window)

    def observe(self, tokens: Tokens, observer: Observer) -> None:
        with self.machine.at_work():
            self._observe([tokens], [observer])

    @abstractmethod
    def _observe(self, texts: Sequence[Tokens], observers: Sequence[Observer]) -> None:
        """Show each text to its observer, and run no layer above those that it asks for."""

    def _rows(self, tokens: int, more: int = 0) -> Tensor:
        """A text's rows as an observer wants them: 1 for each of its tokens, 0 for those after it; (1, rows)."""
        return (torch.arange(tokens + more, device=self.device) < tokens).float()[None]

    def _prompts(self, phrases: Sequence[str]) -> list[Prompt]:
        return prompts_of(self.tokenizer, self.template, phrases, LONGEST_PROMPT, self.special_in_prompt)

    def _edit(self, weighting: Weighting | None, prompts: Sequence[int], one: Prompt) -> Edit | None:
        """A weighting as applied to prompts of the shape of one of them."""
        if weighting is None:
            return None
        stop = len(one.ids) if weighting.aligned_rows == "tail" else one.last + 1
        return Edit(weighting, torch.tensor(prompts, device=self.device), slice(one.first, stop))

    def _log_probabilities(
        self, states: Tensor, rows: Sequence[int], words: Sequence[int], said: Tensor | None = None
    ) -> list[float]:
        asked = torch.tensor(rows, device=self.device), torch.tensor(words, device=self.device)
        found: list[float] = log_probabilities(self.head, states, *asked, said=said).tolist()
        return found

    @property
    def filler(self) -> int:
        """The token that batches are padded with; no real token ever sees it."""
        return int(self.tokenizer.pad_token_id or 0)


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices of similar length together, each batch within a budget of padded tokens (at least one item)."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if batch and (len(batch) + 1) * lengths[index] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def packs(items: Iterable[T], size: Callable[[T], int], budget: int) -> Iterator[list[T]]:
    """Items in their order, as many together as a budget holds (at least one)."""
    pack: list[T] = []
    held = 0
    for item in items:
        if pack and held + size(item) > budget:
            yield pack
            pack, held = [], 0
        pack.append(item)
        held += size(item)
    if pack:
        yield pack


def of_one_shape(prompts: Sequence[Prompt], budget: int) -> Iterator[list[int]]:
    """Indices of prompts with equally many tokens and the candidate in the same place, within a budget of tokens."""
    order = sorted(range(len(prompts)), key=lambda i: (prompts[i].shape, i))
    for (length, _, _), same in groupby(order, key=lambda i: prompts[i].shape):
        yield from packs(same, lambda _, length=length: length, budget)  # type: ignore[misc]


def in_order(lengths: Sequence[int], budget: int, work: Callable[[list[int]], Sequence[T]]) -> list[T]:
    """Do some work in batches of similar length, and give its results back in the order asked."""
    found: dict[int, T] = {}
    for batch in batches(lengths, budget):
        found.update(zip(batch, work(batch), strict=True))
    return [found[i] for i in range(len(lengths))]


def padded(rows: Sequence[Sequence[int]], fill: int, device: torch.device) -> Tensor:
    """Rows of unequal length as one tensor, filled up on the right."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], device=device)


def presence(lengths: Sequence[int], ids: Tensor) -> Tensor:
    """1 for a real token, 0 for padding, in the shape of `ids`."""
    return (torch.arange(ids.shape[1], device=ids.device) < torch.tensor(lengths, device=ids.device)[:, None]).float()


class Skip(nn.Module):
    """A layer that is not run."""

    def forward(self, states: Tensor, *_: Any, **__: Any) -> Tensor:
        return states


def layers_between(body: nn.Module, name: str, start: int, stop: int) -> Any:
    """The same network, sharing all weights, with only the layers from `start` to `stop`."""
    part = copy.copy(body)
    part._modules = dict(body._modules)
    whole = list(getattr(body, name))
    part._modules[name] = nn.ModuleList([Skip() for _ in whole[:start]] + whole[start:stop])
    return part
