"""Chat models on this machine: decoder-only, tuned to follow instructions, with a chat template.

A model without a template is refused. Base models were tried with plain text instead ("... Keyphrases:" to be
continued), and do not follow it: gemma3-270m repeats the instruction, or one sentence, until its tokens run out.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import torch

from mudy.engines import no_template
from mudy.engines.tokens import encodable, fast_tokenizer
from mudy.engines.torch import Machine
from mudy.errors import UnsupportedModel


class LocalChat:
    """A model that writes greedily, so that the same prompt gets the same answer; its attention is as it was made."""

    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str, template: str = "") -> None:
        """`template` is for models whose tokeniser has none of its own."""
        from transformers import GenerationConfig

        self.template = tokenizer.chat_template or template
        if not self.template:
            raise UnsupportedModel(no_template(name))
        self.model = model.eval().to(machine.device)
        self.tokenizer, self.machine, self.name = tokenizer, machine, name
        stops = ends(getattr(model.generation_config, "eos_token_id", None)) | ends(tokenizer.eos_token_id)
        # In place of what the model's makers recommend, which may sample.
        self.model.generation_config = GenerationConfig(
            do_sample=False, eos_token_id=sorted(stops) or None, pad_token_id=int(tokenizer.pad_token_id or 0)
        )
        marks = [t.content for t in tokenizer.added_tokens_decoder.values() if t.special]
        self._marks = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))) or r"(?!)")

    @classmethod
    def load(cls, path: str, machine: Machine, name: str, template: str = "") -> LocalChat:
        from transformers import AutoModelForCausalLM

        tokenizer = fast_tokenizer(path)
        if not (tokenizer.chat_template or template):
            raise UnsupportedModel(no_template(name))  # before the weights are loaded for nothing
        model = AutoModelForCausalLM.from_pretrained(path, dtype=machine.dtype, trust_remote_code=False)
        return cls(model, tokenizer, machine, name, template)

    @property
    def room(self) -> int:
        return int(self.model.config.get_text_config().max_position_embeddings)

    def length(self, system: str, user: str) -> int:
        return len(self._ids(system, user))

    def write(self, system: str, user: str, max_new_tokens: int) -> str:
        prompt = torch.tensor([self._ids(system, user)], device=self.machine.device)
        with self.machine.at_work():
            written = self.model.generate(
                prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=max_new_tokens
            )  # (1, tokens)
        return str(self.tokenizer.decode(written[0, prompt.shape[1] :], skip_special_tokens=True))

    def _ids(self, system: str, user: str) -> list[int]:
        filled = self._filled(self._harmless(system), self._harmless(user))
        return list(self.tokenizer(filled, add_special_tokens=False, verbose=False)["input_ids"])

    def _harmless(self, text: str) -> str:
        """The text without marks such as <|im_end|>: what stands in a document must not end its turn."""
        return self._marks.sub(" ", encodable(text))

    def _filled(self, system: str, user: str) -> str:
        """The two turns in the model's template; in one turn where it knows no system message (Gemma 2)."""
        from jinja2 import TemplateError  # which transformers fills templates with

        given = {"chat_template": self.template, "tokenize": False, "add_generation_prompt": True}
        given["enable_thinking"] = False  # a word of Qwen 3's template, which the others do not know
        fill = partial(self.tokenizer.apply_chat_template, **given)
        try:
            return str(fill([{"role": "system", "content": system}, {"role": "user", "content": user}]))
        except TemplateError:
            return str(fill([{"role": "user", "content": f"{system}\n\n{user}"}]))


def ends(ids: int | list[int] | None) -> set[int]:
    """The tokens that end an answer, of which a model may name none, one or many."""
    return set() if ids is None else {ids} if isinstance(ids, int) else set(ids)
