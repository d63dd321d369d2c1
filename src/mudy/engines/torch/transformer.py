"""What all transformers share: a tokeniser, prompts, observers, and log-probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import torch
from torch import Tensor

from mudy._support.cancellation import check
from mudy.engines.backbone import MapObserver, Prompted, Question, Received, TextRange, Weighting
from mudy.engines.batches import of_one_shape
from mudy.engines.tokens import LONGEST_PROMPT, Prompt, Tokens, prompts_of, tokenise
from mudy.engines.torch.attention import NAME, Edit, Enough, Observer, Showing, register, soft_cap
from mudy.engines.torch.machine import Machine
from mudy.reading.document import Span

STATES = 64  # projected to the vocabulary at once


class Transformer(Prompted, ABC):
    """A model, its tokeniser and a machine. A family says how a text is read and how a prompt follows it."""

    special_in_prompt: ClassVar[bool]  # whether the tokeniser's special tokens belong to the prompt
    special_in_window: ClassVar[bool]  # and to a text whose attention is observed

    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str) -> None:
        register()
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

    # --- Observing attention -------------------------------------------------------------------------------------

    @abstractmethod
    def _read(self, ids: Tensor, mask: Tensor, visitor: Observer) -> None:
        """Show a batch of texts to a visitor; `mask` is 1 for a real token and 0 for padding."""

    def window(self, text: str, span: Span) -> Tokens:
        return tokenise(self.tokenizer, text, span, special=self.special_in_window)

    def received_attention(self, ranges: Sequence[TextRange], layers: Sequence[int]) -> list[Received]:
        """One text after another: padding would change the last bits of a text's sums with its neighbours."""
        return [self._received(self.window(*text_range), frozenset(layers)) for text_range in ranges]

    def _received(self, tokens: Tokens, layers: frozenset[int]) -> Received:
        ids = torch.tensor([tokens.ids], device=self.device)
        observer = Observer(torch.ones(ids.shape, device=self.device), layers)
        self._show(ids, observer)
        (sums,) = observer.mean()
        return Received(tokens, sums)

    def observe(self, tokens: Tokens, observer: MapObserver) -> None:
        ids = torch.tensor([tokens.ids], device=self.device)
        self._show(ids, Showing(torch.ones(ids.shape, device=self.device), observer.layers, to=observer))

    def _show(self, ids: Tensor, observer: Observer) -> None:
        """Show texts to an observer, and run no layer above those that it asks for."""
        with self.machine.at_work(), suppress(Enough):
            self._read(ids, observer.rows.long(), observer)

    # --- Prompting -----------------------------------------------------------------------------------------------

    @abstractmethod
    def _follow(self, encoding: Any, ids: Tensor, edit: Edit | None) -> Tensor:
        """The last hidden states of prompts of one shape that follow one text; (prompts, tokens, width)."""

    def log_likelihood(self, questions: Sequence[Question[Any]]) -> list[list[list[float]]]:
        with self.machine.at_work():
            return [self._likelihood(question) for question in questions]

    def _likelihood(self, question: Question[Any]) -> list[list[float]]:
        prompts = self._prompts(question.phrases)
        scores: dict[int, list[float]] = {}
        for same in of_one_shape(prompts, self.machine.batch_tokens):
            one = prompts[same[0]]
            ids = torch.tensor([prompts[i].ids for i in same], device=self.device)
            states = self._follow(question.encoding, ids, self._edit(question.weighting, same, one))
            before = states[:, one.scored.start - 1 : one.scored.stop - 1]
            words = ids[:, one.scored.start : one.scored.stop]
            values = self._log_probabilities(before.flatten(0, 1), words.flatten()).view(words.shape)
            scores.update(zip(same, values.tolist(), strict=True))
        return [scores[i] for i in range(len(prompts))]

    def _prompts(self, phrases: Sequence[str]) -> list[Prompt]:
        return prompts_of(self.tokenizer, self.template, phrases, LONGEST_PROMPT, self.special_in_prompt)

    def _edit(self, weighting: Weighting | None, prompts: Sequence[int], one: Prompt) -> Edit | None:
        """A weighting as applied to prompts of the shape of one of them."""
        if weighting is None:
            return None
        aligned = one.aligned(weighting.aligned_rows)
        return Edit(weighting, prompts, slice(aligned.start, aligned.stop))

    def _log_probabilities(self, states: Tensor, words: Tensor) -> Tensor:
        """Log-probability of each word after its state, a few states at a time; (words,)."""
        cap = getattr(self.model.config, "final_logit_softcapping", None)
        values = []
        for some_states, some_words in zip(torch.split(states, STATES), torch.split(words, STATES), strict=True):
            check()
            logits = soft_cap(self.model.lm_head(some_states).float(), cap)  # (states, vocabulary)
            values.append(logits.log_softmax(-1).gather(1, some_words[:, None])[:, 0])
        return torch.cat(values)


def padded(rows: Sequence[Sequence[int]], fill: int, device: torch.device) -> Tensor:
    """Rows of unequal length as one tensor, filled up on the right."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows], device=device)


def presence(lengths: Sequence[int], ids: Tensor) -> Tensor:
    """1 for a real token, 0 for padding, in the shape of `ids`."""
    return (torch.arange(ids.shape[1], device=ids.device) < torch.tensor(lengths, device=ids.device)[:, None]).float()
