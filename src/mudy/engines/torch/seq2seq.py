"""Encoder-decoder language models: T5 and its kin.

The encoder reads the document once; every layer's cross-attention keys and values are computed once and shared by all
candidates, whose prompts are the decoder's input.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, DynamicCache, EncoderDecoderCache

from mudy.engines.backbone import Encoding, Floats, Received, Rule, TextRange
from mudy.engines.tokens import WORD_MARKS, Tokens, fast_tokenizer, tokenise
from mudy.engines.torch.attention import Edit, Following, Observer
from mudy.engines.torch.machine import Machine
from mudy.engines.torch.transformer import Transformer
from mudy.reading.document import Span

PROMPT_OPENING, PROMPT_CLOSING = 'Book:"', '"'


@dataclass(frozen=True, slots=True)
class SourceEncoding(Encoding):
    """A document as the encoder has read it, with the decoder's keys and values for it."""

    states: Tensor  # (1, tokens, width)
    cross: DynamicCache


class Seq2SeqBackbone(Transformer):
    sink_token = None
    default_rule: Rule = "logit"
    small_sums = False
    template = "This book mainly talks about {} ."
    special_in_prompt = True
    special_in_window = False

    @classmethod
    def load(cls, path: str, machine: Machine, name: str) -> Seq2SeqBackbone:
        logger = logging.getLogger("transformers.modeling_utils")
        logger.addFilter(_of_use)
        try:
            model = AutoModelForSeq2SeqLM.from_pretrained(path, dtype=machine.dtype, trust_remote_code=False)
        finally:
            logger.removeFilter(_of_use)
        return cls(model, fast_tokenizer(path), machine, name)

    def room(self) -> int:
        """T5's relative positions allow any length, but it was trained on `n_positions` tokens (512)."""
        return int(getattr(self.model.config, "n_positions", 512)) - len(PROMPT_OPENING) - len(PROMPT_CLOSING) - 1

    def blank_pieces(self, tokens: Tokens) -> list[int]:
        pieces = self.tokenizer.convert_ids_to_tokens(tokens.ids)
        return [i for i, piece in enumerate(pieces) if piece in WORD_MARKS]

    def span_states(self, encoding: SourceEncoding, spans: Sequence[Span]) -> Floats | None:
        """The mean of the encoder's last states over each span (Sec. 4.2)."""
        tokens = [encoding.tokens.of(span) for span in spans]
        states: Floats = encoding.states[0].float().cpu().numpy()
        return np.stack([states[t.start : t.stop].mean(0) for t in tokens])

    def _encode(self, text_range: TextRange, layers: frozenset[int]) -> SourceEncoding:
        tokens = tokenise(self.tokenizer, *text_range, prefix=PROMPT_OPENING, suffix=PROMPT_CLOSING)
        observer = Observer(layers, whole=True)
        states = self.model.encoder(input_ids=self._ids(tokens), visitor=observer).last_hidden_state
        received = Received(tokens, observer.mean()) if layers else None
        return SourceEncoding(tokens, received, states, self._cross_cache(states))

    def _cross_cache(self, states: Tensor) -> DynamicCache:
        """Every decoder layer's keys and values for the document, computed once."""
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        start = torch.full((1, 1), self._start, device=self.device)
        self.model.decoder(input_ids=start, encoder_hidden_states=states, past_key_values=cache, use_cache=True)
        return cache.cross_attention_cache

    def _observe(self, ids: Tensor, observer: Observer) -> None:
        self.model.encoder(input_ids=ids, visitor=observer)

    def _follow(self, encoding: SourceEncoding, ids: Tensor, edit: Edit | None) -> Tensor:
        """The start token takes the place of the template's first word, as in PromptRank."""
        ids = torch.cat([torch.full_like(ids[:, :1], self._start), ids[:, 1:]], dim=1)
        states: Tensor = self.model.decoder(
            input_ids=ids,
            encoder_hidden_states=encoding.states,
            past_key_values=EncoderDecoderCache(DynamicCache(), encoding.cross),
            use_cache=True,
            visitor=Following(edit),
        ).last_hidden_state
        return states * self.model.config.d_model**-0.5 if self.model.config.scale_decoder_outputs else states

    @property
    def _start(self) -> int:
        return int(self.model.config.decoder_start_token_id or 0)


def _of_use(record: logging.LogRecord) -> bool:
    """Not the warning that T5's input and output embeddings differ: Flan-T5's do, and both are loaded."""
    return "will NOT tie them" not in record.getMessage()
