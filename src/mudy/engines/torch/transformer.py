"""What all transformers share: a tokeniser, prompts, observers, and log-probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import torch
from torch import Tensor

from mudy._support.cancellation import check
from mudy.engines.backbone import Backbone, MapObserver, Question, Received, TextRange, Weighting
from mudy.engines.batches import of_one_shape
from mudy.engines.tokens import LONGEST_PROMPT, Prompt, Tokens, prompts_of
from mudy.engines.torch.attention import NAME, Edit, Enough, Observer, Showing, register, soft_cap
from mudy.engines.torch.machine import Machine

STATES = 64  # projected to the vocabulary at once


class Transformer(Backbone):
    """A model, its tokeniser and a machine. A family says how a text is read and how a prompt follows it."""

    special_in_prompt: ClassVar[bool]  # whether the tokeniser's special tokens belong to the prompt

    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str) -> None:
        register()
        self.model = model.eval().to(machine.device)
        self.model.set_attn_implementation(NAME)
        self.tokenizer = tokenizer
        self.machine, self.device = machine, machine.device
        self.name, self.family = name, str(model.config.model_type)
        self.depth, self.heads = int(model.config.num_hidden_layers), int(model.config.num_attention_heads)
        self.prompt_depth = int(getattr(model.config, "num_decoder_layers", self.depth))

    # --- Reading -------------------------------------------------------------------------------------------------

    @abstractmethod
    def _encode(self, text_range: TextRange, layers: frozenset[int]) -> Any:
        """A range of text, read for prompts to follow, with attention observed in some layers."""

    def encode(self, ranges: Sequence[TextRange], layers: Sequence[int] = ()) -> list[Any]:
        encodings = []
        with self.machine.at_work():
            for text_range in ranges:
                check()
                encodings.append(self._encode(text_range, frozenset(layers)))
        return encodings

    @abstractmethod
    def _observe(self, ids: Tensor, observer: Observer) -> None:
        """Show a text to an observer."""

    def received_attention(self, ranges: Sequence[TextRange], layers: Sequence[int]) -> list[Received]:
        """One text after another: padding would change the last bits of a text's sums with its neighbours."""
        received = []
        for tokens in (self.window(*text_range) for text_range in ranges):
            observer = Observer(frozenset(layers))
            self._show(tokens, observer)
            received.append(Received(tokens, observer.mean()))
        return received

    def observe(self, tokens: Tokens, observer: MapObserver) -> None:
        self._show(tokens, Showing(observer.layers, to=observer))

    def _show(self, tokens: Tokens, observer: Observer) -> None:
        """Show a text to an observer, and run no layer above those that it asks for."""
        check()
        with self.machine.at_work(), suppress(Enough):
            self._observe(self._ids(tokens), observer)

    def _ids(self, tokens: Tokens) -> Tensor:
        """A text as a batch of one; (1, tokens)."""
        return torch.tensor([tokens.ids], device=self.device)

    # --- Prompting -----------------------------------------------------------------------------------------------

    @abstractmethod
    def _follow(self, encoding: Any, ids: Tensor, edit: Edit | None) -> Tensor:
        """The last hidden states of prompts of one shape that follow one text; (prompts, tokens, width)."""

    def log_likelihood(self, questions: Sequence[Question]) -> list[list[list[float]]]:
        with self.machine.at_work():
            return [self._likelihood(question) for question in questions]

    def _likelihood(self, question: Question) -> list[list[float]]:
        prompts = self._prompts(question.phrases)
        scores: dict[int, list[float]] = {}
        for same in of_one_shape(prompts, self.machine.batch_tokens):
            check()
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
