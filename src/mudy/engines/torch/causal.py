"""Decoder-only language models: Llama and SmolLM2, Gemma 2 and 3, Qwen 2 and 3, Mistral.

The prompt follows the document, whose keys and values are computed once: all candidates look at them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, DynamicCache

from mudy.engines.backbone import DecoderOnly, Encoding, Received, TextRange
from mudy.engines.tokens import LONGEST_PROMPT, fast_tokenizer
from mudy.engines.torch.attention import Edit, Following, Observer
from mudy.engines.torch.machine import Machine
from mudy.engines.torch.transformer import Transformer


@dataclass(frozen=True, slots=True)
class PrefixEncoding(Encoding):
    """A document as the decoder remembers it."""

    cache: DynamicCache  # every layer's keys and values; (1, kv_heads, tokens, width)


class CausalBackbone(DecoderOnly, Transformer):
    special_in_prompt = False

    @classmethod
    def load(cls, path: str, machine: Machine, name: str) -> CausalBackbone:
        model = AutoModelForCausalLM.from_pretrained(path, dtype=machine.dtype, trust_remote_code=False)
        return cls(model, fast_tokenizer(path), machine, name)

    def room(self) -> int:
        return int(self.model.config.max_position_embeddings) - LONGEST_PROMPT

    def _encode(self, text_range: TextRange, layers: frozenset[int]) -> PrefixEncoding:
        tokens, observer = self.opened(text_range), Observer(layers, whole=True)
        cache = DynamicCache()  # without a configuration it forgets nothing: `Following` hides what is out of a window
        self.model.model(input_ids=self._ids(tokens), past_key_values=cache, use_cache=True, visitor=observer)
        return PrefixEncoding(tokens, Received(tokens, observer.mean()) if layers else None, cache)

    def _observe(self, ids: Tensor, observer: Observer) -> None:
        self.model.model(input_ids=ids, use_cache=False, visitor=observer)

    def _follow(self, encoding: PrefixEncoding, ids: Tensor, edit: Edit | None) -> Tensor:
        positions = torch.arange(ids.shape[1], device=self.device)[None] + len(encoding.tokens)
        states: Tensor = self.model.model(
            input_ids=ids, position_ids=positions, use_cache=False, visitor=Following(edit, encoding.cache)
        ).last_hidden_state
        return states
