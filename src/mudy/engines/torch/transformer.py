"""What all our transformers share: a tokeniser, prompts, observers, and no work beyond what is used."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from mudy.engines.backbone import MapObserver, Received, TextRange, Weighting
from mudy.engines.tokens import Prompt, Tokens, prompts_of, tokenise
from mudy.engines.torch.attention import Edit, Observer, Showing, register
from mudy.engines.torch.machine import Machine
from mudy.engines.torch.vocabulary import Head, LinearHead, log_probabilities
from mudy.reading.document import Span

LONGEST_PROMPT = 512  # tokens kept free for the template and a candidate


class Transformer(ABC):
    """A model, its tokeniser and a machine. A family says how a text is read and how a prompt follows it."""

    implementation: str  # of attention, as registered with transformers
    template: str  # with {} in the candidate's place
    special_in_prompt: bool  # whether the tokeniser's special tokens belong to the prompt
    special_in_window: bool  # and to a text whose attention is observed

    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str) -> None:
        register()
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

    def with_template(self, template: str) -> Self:
        other = copy.copy(self)
        vars(other).pop("_head", None)  # the tokens of the other template
        other.template = template
        return other

    def token_ends(self, text: str) -> list[int]:
        return tokenise(self.tokenizer, text, Span(0, len(text)), special=False).ends

    def received_attention(self, ranges: Sequence[TextRange], layers: Sequence[int]) -> list[Received]:
        tokens = [self.window(*text_range) for text_range in ranges]
        observers = [Observer(self._rows(len(t)), frozenset(layers)) for t in tokens]
        with self.machine.at_work():
            self._observe(tokens, observers)
        return [Received(t, observer.mean()[0]) for t, observer in zip(tokens, observers, strict=True)]

    def window(self, text: str, span: Span) -> Tokens:
        return tokenise(self.tokenizer, text, span, special=self.special_in_window)

    def observe(self, tokens: Tokens, observer: MapObserver) -> None:
        with self.machine.at_work():
            self._observe([tokens], [Showing(self._rows(len(tokens)), observer.layers, to=observer)])

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
        return Edit(weighting, prompts, slice(one.first, stop))

    def _log_probabilities(self, states: Tensor, rows: Sequence[int], words: Sequence[int]) -> list[float]:
        indices = torch.tensor(rows, device=self.device), torch.tensor(words, device=self.device)
        values: list[float] = log_probabilities(self.head, states, *indices).tolist()
        return values

    @property
    def filler(self) -> int:
        """The token that batches are padded with; no real token ever sees it."""
        return int(self.tokenizer.pad_token_id or 0)


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
