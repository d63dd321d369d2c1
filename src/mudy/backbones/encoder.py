"""Sentence encoders (BERT and its kin): a vector for a text, or for a span in its context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mudy.backbones.batches import in_order
from mudy.backbones.compute import Machine
from mudy.backbones.int8 import round_layers
from mudy.backbones.tokens import Tokens, fast_tokenizer, tokenise
from mudy.backbones.transformer import padded, presence
from mudy.cancellation import check
from mudy.text import Span

ENCODER_FAMILIES = frozenset({"bert", "roberta", "xlm-roberta", "distilbert", "mpnet", "electra", "deberta-v2"})
ROUNDED_FAMILIES = frozenset({"bert"})  # whose layers are plain enough to be computed in 8 bits
_REACH = 600  # characters of context read on either side of a span


class SentenceEncoder:
    """An encoder and its tokeniser."""

    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str) -> None:
        self.model = model.eval().to(machine.device)
        self.tokenizer = tokenizer
        self.machine = machine
        self.name = name

    @classmethod
    def load(cls, path: str, machine: Machine, name: str) -> SentenceEncoder:
        from transformers import AutoModel

        model = AutoModel.from_pretrained(path, dtype=machine.dtype, trust_remote_code=False)
        if machine.int8 and model.config.model_type in ROUNDED_FAMILIES:
            round_layers(model)
        return cls(model, fast_tokenizer(path), machine, name)

    def span_states(self, text: str, spans: Sequence[Span], contexts: Sequence[Span]) -> Tensor:
        """The mean of the last states over each span, read within its context; (spans, width)."""
        near = [
            Span(max(c.start, s.start - _REACH), min(c.end, s.end + _REACH))
            for s, c in zip(spans, contexts, strict=True)
        ]
        read = {context: tokenise(self.tokenizer, text, context) for context in dict.fromkeys(near)}
        states = dict(zip(read, self._states(list(read.values())), strict=True))
        rows = [
            states[context][(t := read[context].of(s)).start : t.stop] for s, context in zip(spans, near, strict=True)
        ]
        return torch.stack([row.mean(0) for row in rows])

    def embed(self, texts: Sequence[str]) -> Tensor:
        """A vector of length 1 for each text: the mean of its last states, those of special tokens too; (texts, width).

        What does not fit into the model's window is not read.
        """
        if not texts:
            return torch.empty(0, int(self.model.config.hidden_size))
        read = [tokenise(self.tokenizer, text, Span(0, len(text))) for text in texts]
        means = torch.stack([state.mean(0) for state in self._states(read)])
        return torch.nn.functional.normalize(means, dim=1)

    def _states(self, texts: Sequence[Tokens]) -> list[Tensor]:
        longest = int(self.model.config.max_position_embeddings)

        def states(batch: list[int]) -> list[Tensor]:
            check()
            rows = [texts[i].ids[:longest] for i in batch]
            ids = padded(rows, int(self.tokenizer.pad_token_id or 0), self.machine.device)
            mask = presence([len(row) for row in rows], ids).long()
            last = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            return [state[: len(row)] for state, row in zip(last, rows, strict=True)]

        with self.machine.at_work():
            return in_order([len(t) for t in texts], self.machine.batch_tokens, states)
