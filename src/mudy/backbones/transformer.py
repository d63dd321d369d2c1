"""What all our transformers share: batches within a budget, results in the order asked, no work beyond what is used."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mudy.backbones.attention import NAME, Edit, Observer, Weighting
from mudy.backbones.base import Received
from mudy.backbones.machine import Machine
from mudy.backbones.tokens import Prompt, Tokens, candidate_rows, prompts_of, tokenise
from mudy.text import Span

LONGEST_PROMPT = 512  # tokens kept free for the template and a candidate
VOCABULARY_BLOCK = 256  # scored tokens projected to the vocabulary at once
T = TypeVar("T")


class Transformer(ABC):
    """A model, its tokeniser and a machine. A family says how a text is read and how a prompt follows it."""

    template: str  # with {} in the candidate's place
    special_in_prompt: bool  # whether the tokeniser's special tokens belong to the prompt
    special_in_window: bool  # and to a text whose attention is observed

    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str) -> None:
        self.model = model.eval().to(machine.device)
        self.model.set_attn_implementation(NAME)
        self.tokenizer = tokenizer
        self.machine = machine
        self.name = name

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

    def received_attention(self, text: str, spans: Sequence[Span], layers: Sequence[int]) -> list[Received]:
        tokens = [self.window(text, span) for span in spans]

        def observe(batch: list[int]) -> list[Received]:
            ids = padded([tokens[i].ids for i in batch], self.filler, self.device)
            observer = Observer(presence([len(tokens[i]) for i in batch], ids), frozenset(layers))
            self._observe(ids, observer, max(layers) + 1)
            return [Received(tokens[i], row[: len(tokens[i])]) for i, row in zip(batch, observer.mean(), strict=True)]

        with self.machine.at_work():
            return in_order([len(t) for t in tokens], self.machine.batch_tokens, observe)

    def window(self, text: str, span: Span) -> Tokens:
        return tokenise(self.tokenizer, text, span, special=self.special_in_window)

    def observe(self, tokens: Tokens, observer: Observer) -> None:
        with self.machine.at_work():
            self._observe(torch.tensor([tokens.ids], device=self.device), observer, max(observer.layers) + 1)

    def log_likelihood(
        self, encoding: Any, phrases: Sequence[str], weighting: Weighting | None = None
    ) -> list[list[float]]:
        prompts = prompts_of(self.tokenizer, self.template, phrases, LONGEST_PROMPT, self.special_in_prompt)

        def score(batch: list[int]) -> list[list[float]]:
            some = [prompts[i] for i in batch]
            ids = padded([p.ids for p in some], self.filler, self.device)
            edit = None if weighting is None else self._edit(weighting, batch, some, ids)
            return self._scored(ids, self._follow(encoding, ids, edit), some)

        with self.machine.at_work():
            return in_order([len(p.ids) for p in prompts], self.machine.batch_tokens, score)

    def _edit(self, weighting: Weighting, batch: list[int], prompts: Sequence[Prompt], ids: Tensor) -> Edit:
        rows = candidate_rows(prompts, ids, tail=weighting.aligned_rows == "tail")
        return Edit(weighting, torch.tensor(batch, device=self.device), rows)

    def _scored(self, ids: Tensor, states: Tensor, prompts: Sequence[Prompt]) -> list[list[float]]:
        """Log-probability of every scored token of every prompt, from the hidden state before it."""
        row = torch.tensor([r for r, p in enumerate(prompts) for _ in p.scored], device=self.device)
        token = torch.tensor([t for p in prompts for t in p.scored], device=self.device)
        cap = getattr(self.model.config, "final_logit_softcapping", None)
        found = log_probabilities(self.model.lm_head, states[row, token - 1], ids[row, token], cap)
        values = iter(found.tolist())
        return [list(islice(values, len(p.scored))) for p in prompts]

    @abstractmethod
    def _observe(self, ids: Tensor, observer: Observer, layers: int) -> None:
        """Show a padded batch of texts to an observer, running no more than the first `layers` layers."""

    @abstractmethod
    def _follow(self, encoding: Any, ids: Tensor, edit: Edit | None) -> Tensor:
        """Last hidden states of a padded batch of prompts that follow one text; (prompts, tokens, width)."""

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


def lower_layers(body: nn.Module, name: str, count: int) -> Any:
    """The same network, sharing all weights, that ends after its first `count` layers."""
    lower = copy.copy(body)
    lower._modules = dict(body._modules)
    lower._modules[name] = nn.ModuleList(list(getattr(body, name))[:count])
    return lower


def log_probabilities(head: nn.Module, states: Tensor, targets: Tensor, cap: float | None) -> Tensor:
    """Log-probability of each target after its state; only these are projected to the vocabulary, in blocks."""
    parts = []
    for start in range(0, len(targets), VOCABULARY_BLOCK):
        wanted = targets[start : start + VOCABULARY_BLOCK]
        logits = head(states[start : start + VOCABULARY_BLOCK]).float()
        if cap is not None:
            logits = torch.tanh(logits / cap) * cap
        parts.append(logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(dim=1))
    return torch.cat(parts)
