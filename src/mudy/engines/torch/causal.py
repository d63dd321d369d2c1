"""Decoder-only language models: Llama and SmolLM2, Gemma 2 and 3, Qwen 2 and 3, Mistral.

The prompt follows the document, so the document's keys and values are computed once and all candidates look at them.
Rows that no weighting has reached yet are alike for all prompts that begin alike: the template's head is computed once
for a document, and a phrase once for all of its occurrences, up to the first layer that is edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice, takewhile
from typing import Any

import torch
from torch import Tensor, nn

from mudy._support.cancellation import check
from mudy.engines.backbone import Floats, Question, Received, Rule, TextRange, Weighting
from mudy.engines.batches import of_one_shape, packs
from mudy.engines.tokens import Prompt, Tokens, fast_tokenizer, tokenise
from mudy.engines.torch.attention import PACKED, Enough, Observer, Visitor
from mudy.engines.torch.machine import Machine
from mudy.engines.torch.packing import Memory, PackedPrompts, PackedTexts, PromptRun
from mudy.engines.torch.transformer import LONGEST_PROMPT, Transformer, layers_between
from mudy.reading.document import Span

_PROMPT_OPENING = "Text: "


@dataclass(frozen=True, slots=True)
class PrefixEncoding:
    """A document, and the template's head after it, as the decoder remembers them."""

    tokens: Tokens  # of the document alone
    memory: Memory
    received: Received | None = None


_Places = Sequence[Sequence[Sequence[int]]]  # question, prompt -> rows of a tensor of states


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A question's prompts, cut where they cease to be alike."""

    prefix: PrefixEncoding
    prompts: list[Prompt]
    weighting: Weighting | None
    shared: int  # leading tokens that all prompts have in common with the template's head
    stop: int | None  # where the rows of a prompt that are needed end: nothing is asked of its last token

    @property
    def words(self) -> list[int]:
        """Every scored token of every prompt."""
        return [prompt.ids[token] for prompt in self.prompts for token in prompt.scored]

    def before(self, places: Sequence[Sequence[int]]) -> list[int]:
        """The state before each of them, given where each prompt's rows are."""
        return [rows[i - 1] for prompt, rows in zip(self.prompts, places, strict=True) for i in prompt.scored]

    def tail(self, prompt: Prompt) -> tuple[int, ...]:
        """The tokens of a prompt after the head."""
        return tuple(prompt.ids[self.shared : self.stop])

    def tails(self, budget: int) -> Iterator[list[tuple[int, ...]]]:
        """Each tail once, those of one length together, within a budget of tokens."""
        tails = sorted(dict.fromkeys(self.tail(prompt) for prompt in self.prompts), key=len)
        for length, same in groupby(tails, key=len):
            if length:
                yield from packs(same, len, budget)


@dataclass(frozen=True, slots=True)
class Rows:
    """One run of prompts on its way through the model."""

    run: PromptRun
    start: int  # position of each prompt's first row
    given: Sequence[int]  # token ids, or which known states the rows begin with

    def positions(self, device: torch.device) -> Tensor:
        return torch.arange(self.start, self.start + self.run.length, device=device).repeat(self.run.prompts)


class CausalBackbone(Transformer):
    """A decoder-only model and its tokeniser."""

    sink_token = 0
    default_rule: Rule = "post_softmax"
    small_sums = True
    implementation = PACKED
    template = " Answer: This text mainly talks about {}."
    special_in_prompt = False
    special_in_window = True  # Gemma is lost without its BOS

    @classmethod
    def load(cls, path: str, machine: Machine, name: str) -> CausalBackbone:
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(path, dtype=machine.dtype, trust_remote_code=False)
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

    def span_states(self, encoding: PrefixEncoding, spans: Sequence[Span]) -> Floats | None:  # noqa: ARG002 (no encoder)
        return None

    # --- Reading -------------------------------------------------------------------------------------------------

    def encode(self, ranges: Sequence[TextRange], layers: Sequence[int] = ()) -> list[PrefixEncoding]:
        texts = [tokenise(self.tokenizer, *text_range, prefix=_PROMPT_OPENING) for text_range in ranges]
        encodings: list[PrefixEncoding] = []
        with self.machine.at_work():
            for pack in packs(texts, len, self.machine.batch_tokens):
                memories = [Memory() for _ in pack]
                observers = [Observer(self._rows(len(t), len(self._head)), frozenset(layers)) for t in pack]
                rows = [tokens.ids + self._head for tokens in pack]
                self._read(rows, self.depth - 1, memories=memories, observers=observers if layers else ())
                for tokens, memory, observer in zip(pack, memories, observers, strict=True):
                    received = Received(tokens, observer.mean()[0, : len(tokens)]) if layers else None
                    encodings.append(PrefixEncoding(tokens, memory, received))
        return encodings

    def _observe(self, texts: Sequence[Tokens], observers: Sequence[Observer]) -> None:
        pairs = zip(texts, observers, strict=True)
        for pack in packs(pairs, lambda pair: len(pair[0]), self.machine.batch_tokens):
            last = max(max(observer.layers) for _, observer in pack)
            self._read([tokens.ids for tokens, _ in pack], last, observers=[observer for _, observer in pack])

    def _read(self, texts: Sequence[list[int]], last: int, **kept: Any) -> None:
        """Read several texts in one pass, up to the keys of the last layer that is wanted."""
        ids = torch.tensor([[token for text in texts for token in text]], device=self.device)
        positions = torch.cat([torch.arange(len(text), device=self.device) for text in texts])[None]
        reading = PackedTexts([len(text) for text in texts], last, **kept)
        try:
            self._pass(0, last + 1, positions, reading, input_ids=ids)
        except Enough:
            return

    @cached_property
    def _head(self) -> list[int]:
        """The template's tokens before the candidate."""
        (prompt,) = self._prompts(["x"])
        return prompt.ids[: prompt.first]

    # --- Prompting -----------------------------------------------------------------------------------------------

    def log_likelihood(self, questions: Sequence[Question[PrefixEncoding]]) -> list[list[list[float]]]:
        prepared = [self._prepare(question) for question in questions if question.phrases]
        if not prepared:
            return [[] for _ in questions]
        with self.machine.at_work():
            unedited = min(self._unedited(question.weighting) for question in prepared)
            states, places = self._alike(prepared, unedited)
            if unedited < self.depth:
                states, places = self._apart(prepared, unedited, states, places)
            found = iter(self._scored(prepared, states, places))
        return [list(islice(found, len(question.phrases))) for question in questions]

    def _prepare(self, question: Question[PrefixEncoding]) -> PreparedQuestion:
        prompts = self._prompts(question.phrases)
        shared = min(alike(self._head, prompt.ids) for prompt in prompts)
        counted = question.weighting is not None and question.weighting.aligned_rows == "tail"
        return PreparedQuestion(question.encoding, prompts, question.weighting, shared, None if counted else -1)

    def _unedited(self, weighting: Weighting | None) -> int:
        """How many layers there are below the first one that a weighting edits."""
        if weighting is None:
            return self.depth
        edited = (i for i in range(self.depth) if weighting.touches(i) and (weighting.sliding or not self._slides(i)))
        return next(edited, self.depth)

    def _slides(self, layer: int) -> bool:
        everywhere = getattr(self.model.config, "sliding_window", None)
        return getattr(self.model.model.layers[layer].self_attn, "sliding_window", everywhere) is not None

    def _alike(self, prepared: Sequence[PreparedQuestion], layers: int) -> tuple[Tensor, _Places]:
        """States after the first layers, each beginning computed once; and in which of them each prompt's rows are."""
        every, places, offset = [], [], 0
        for question in prepared:
            start, memory = len(question.prefix.tokens), question.prefix.memory
            head = range(offset, offset := offset + question.shared)
            if question.shared:
                every.append(Rows(PromptRun(memory, start, 1, question.shared), start, self._head[: question.shared]))
            tails: dict[tuple[int, ...], range] = {(): range(0)}
            start += question.shared
            for same in question.tails(self.machine.batch_tokens):
                run = PromptRun(memory, start, len(same), len(same[0]))
                every.append(Rows(run, start, [token for tail in same for token in tail]))
                tails.update((tail, range(offset, offset := offset + run.length)) for tail in same)
            places.append([[*head, *tails[question.tail(prompt)]] for prompt in question.prompts])
        return self._follow(every, 0, layers), places

    def _apart(
        self, prepared: Sequence[PreparedQuestion], layers: int, states: Tensor, known: _Places
    ) -> tuple[Tensor, _Places]:
        """States after the last layer, every prompt on its own from the first edited layer on; and where they are."""
        every, places, offset = [], [], 0
        for question, rows in zip(prepared, known, strict=True):
            start, own_rows = len(question.prefix.tokens), dict[int, range]()
            for same in of_one_shape(question.prompts, self.machine.batch_tokens):
                edit = self._edit(question.weighting, same, question.prompts[same[0]])
                run = PromptRun(question.prefix.memory, start, len(same), len(rows[same[0]]), edit)
                every.append(Rows(run, start, [row for prompt in same for row in rows[prompt]]))
                own_rows.update((prompt, range(offset, offset := offset + run.length)) for prompt in same)
            places.append([own_rows[prompt] for prompt in range(len(question.prompts))])
        return self._follow(every, layers, self.depth, states), places

    def _follow(self, every: Sequence[Rows], start: int, stop: int, known: Tensor | None = None) -> Tensor:
        """The states of all runs after some layers, one after the other; (rows, width)."""
        states = []
        for pack in packs(every, lambda rows: rows.run.rows, self.machine.batch_tokens):
            positions = torch.cat([rows.positions(self.device) for rows in pack])[None]
            given = torch.tensor([item for rows in pack for item in rows.given], device=self.device)
            rows_in = {"input_ids": given[None]} if known is None else {"inputs_embeds": known[given][None]}
            states.append(self._pass(start, stop, positions, PackedPrompts([rows.run for rows in pack]), **rows_in)[0])
        return torch.cat(states)

    def _pass(self, start: int, stop: int, positions: Tensor, visitor: Visitor, **given: Tensor) -> Tensor:
        """Some of the network's layers; the final norm only with the last of them."""
        check()
        if (start, stop) not in self._parts:
            part = layers_between(self.model.model, "layers", start, stop)
            if stop < self.depth:
                part._modules["norm"] = nn.Identity()
            self._parts[start, stop] = part
        states: Tensor = self._parts[start, stop](
            position_ids=positions, use_cache=False, visitor=visitor, **given
        ).last_hidden_state
        return states

    @cached_property
    def _parts(self) -> dict[tuple[int, int], Any]:
        return {}

    def _scored(self, prepared: Sequence[PreparedQuestion], states: Tensor, places: _Places) -> list[list[float]]:
        """Log-probability of every scored token of every prompt, from the state before it."""
        pairs = list(zip(prepared, places, strict=True))
        before = [row for question, rows in pairs for row in question.before(rows)]
        words = [word for question in prepared for word in question.words]
        used = {row: i for i, row in enumerate(dict.fromkeys(before))}
        values = iter(self._log_probabilities(states[list(used)], [used[row] for row in before], words))
        return [list(islice(values, len(prompt.scored))) for question in prepared for prompt in question.prompts]


def alike(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two sequences have in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
