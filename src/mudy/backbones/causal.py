"""Decoder-only language models: Llama and SmolLM2, Gemma 2 and 3, Qwen 2 and 3, Mistral.

The prompt follows the document, so the document's keys and values are computed once and all candidates look at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mudy.backbones.attention import Continuation, Edit, Memory, Observer
from mudy.backbones.machine import Machine
from mudy.backbones.tokens import Tokens, fast_tokenizer, tokenise
from mudy.backbones.transformer import LONGEST_PROMPT, Transformer, lower_layers
from mudy.text import Span

FAMILIES = frozenset({"llama", "gemma2", "gemma3_text", "qwen2", "qwen3", "mistral"})
OPENING = "Text: "


@dataclass(frozen=True, slots=True)
class Prefix:
    """A document as the decoder remembers it."""

    tokens: Tokens
    memory: Memory


class CausalBackbone(Transformer):
    """A decoder-only model and its tokeniser."""

    decoder_only = True
    template = " Answer: This text mainly talks about {}."
    special_in_prompt = False
    special_in_window = True  # Gemma is lost without its BOS

    @classmethod
    def load(cls, path: str, machine: Machine, name: str) -> CausalBackbone:
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(path, dtype=machine.dtype)
        return cls(model, fast_tokenizer(path), machine, name)

    @property
    def depth(self) -> int:
        return int(self.model.config.num_hidden_layers)

    @property
    def prompt_depth(self) -> int:
        return self.depth

    def room(self) -> int:
        return int(self.model.config.max_position_embeddings) - LONGEST_PROMPT

    def blank_pieces(self, tokens: Tokens) -> list[int]:  # noqa: ARG002 (the rule is about T5's cross-attention)
        return []

    def span_states(self, encoding: Prefix, spans: Sequence[Span]) -> Tensor | None:  # noqa: ARG002 (no encoder)
        return None

    def encode(self, text: str, span: Span) -> Prefix:
        tokens = tokenise(self.tokenizer, text, span, prefix=OPENING)
        memory = Memory()
        with self.machine.at_work():
            self.model.model(input_ids=torch.tensor([tokens.ids], device=self.device), use_cache=False, visitor=memory)
        return Prefix(tokens, memory)

    def _observe(self, ids: Tensor, observer: Observer, layers: int) -> None:
        lower_layers(self.model.model, "layers", layers)(input_ids=ids, use_cache=False, visitor=observer)

    def _follow(self, encoding: Prefix, ids: Tensor, edit: Edit | None) -> Tensor:
        start = len(encoding.tokens)
        positions = torch.arange(start, start + ids.shape[1], device=self.device)[None]
        visitor = Continuation(encoding.memory, edit)
        states: Tensor = self.model.model(
            input_ids=ids, position_ids=positions, use_cache=False, visitor=visitor
        ).last_hidden_state
        return states
