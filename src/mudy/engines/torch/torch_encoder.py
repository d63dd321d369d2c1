"""Sentence encoders (BERT and its kin) by torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from mudy._support.callbacks import check
from mudy.engines.interfaces import Floats, SentenceEncoder
from mudy.engines.tokens import fast_tokenizer
from mudy.engines.torch.machine import Machine

OFFSET_FAMILIES = frozenset({"roberta", "xlm-roberta", "mpnet"})  # whose positions count on from the padding token's id


class TorchEncoder(SentenceEncoder):
    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str) -> None:
        self.model = model.eval().to(machine.device)
        self.tokenizer = tokenizer
        self.machine = machine
        self.name = name
        self.width = int(model.config.hidden_size)
        offset = int(model.config.pad_token_id or 0) + 1 if model.config.model_type in OFFSET_FAMILIES else 0
        self.positions = int(model.config.max_position_embeddings) - offset

    @classmethod
    def load(cls, path: str, machine: Machine, name: str) -> TorchEncoder:
        from transformers import AutoModel

        model = AutoModel.from_pretrained(path, dtype=machine.dtype, trust_remote_code=False)
        return cls(model, fast_tokenizer(path), machine, name)

    def states(
        self, rows: Sequence[Sequence[int]], layer: int = -1, pool: Callable[[Floats], Floats] = lambda state: state
    ) -> list[Floats]:
        def work(batch: list[int]) -> list[Floats]:
            check()
            some = [torch.tensor(rows[i], device=self.machine.device) for i in batch]
            ids = pad_sequence(some, batch_first=True, padding_value=int(self.tokenizer.pad_token_id or 0))
            mask = pad_sequence([torch.ones_like(row) for row in some], batch_first=True)
            output = self.model(input_ids=ids, attention_mask=mask, output_hidden_states=layer != -1)
            found = output.last_hidden_state if layer == -1 else output.hidden_states[layer]  # (batch, tokens, width)
            every = found.float().cpu().numpy()
            return [pool(state[: len(row)]) for state, row in zip(every, some, strict=True)]

        results: dict[int, Floats] = {}
        with self.machine.at_work():
            for batch in length_batches([len(row) for row in rows], self.machine.batch_tokens):
                results.update(zip(batch, work(batch), strict=True))
        return [results[i] for i in range(len(rows))]


def length_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices of similar length together, each batch within a budget of padded tokens (at least one item)."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if batch and (len(batch) + 1) * lengths[index] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
