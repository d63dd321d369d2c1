"""Models by torch and transformers: Llama, Gemma 2 and 3, Qwen 2 and 3, Mistral, and T5; sentence encoders; and chat.

What all language models share comes first: a tokeniser, prompts, observers, and log-probabilities. The keys and
values of a document are computed once, and all candidates look at them.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationConfig
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from mudy._support.callbacks import check
from mudy.engines import no_template
from mudy.engines.interfaces import (
    Backbone,
    DecoderOnly,
    Encoding,
    Floats,
    MapObserver,
    Question,
    Received,
    Rule,
    SentenceEncoder,
    TextRange,
)
from mudy.engines.tokens import LONGEST_PROMPT, Prompt, Tokens, encodable, fast_tokenizer, packs, prompts_of, tokenise
from mudy.engines.torch import Machine
from mudy.engines.torch.attention import NAME, Edit, Following, Observer, register, soft_cap
from mudy.errors import UnsupportedModel
from mudy.reading.document import Span

STATES = 64  # projected to the vocabulary at once


@dataclass(frozen=True, slots=True)
class TorchEncoding(Encoding):
    """A document as the model has read it."""

    states: Tensor  # the last ones; (1, tokens, width)
    cache: DynamicCache  # keys and values that prompts look at, of every layer; (1, kv_heads, tokens, width)


class Transformer(Backbone):
    """A model, its tokeniser and a machine. A family says how a text is read and how a prompt follows it."""

    kind: ClassVar[Any]  # the class of transformers that loads it
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

    @classmethod
    def load(cls, path: str, machine: Machine, name: str) -> Self:
        model = cls.kind.from_pretrained(path, dtype=machine.dtype, trust_remote_code=False)
        return cls(model, fast_tokenizer(path), machine, name)

    @abstractmethod
    def opened(self, text_range: TextRange) -> Tokens:
        """A range of text as prompts follow it."""

    @abstractmethod
    def _read(self, ids: Tensor, observer: Observer) -> tuple[Tensor, DynamicCache]:
        """Show a text to an observer; its last states, and the keys and values that prompts look at."""

    def encode(
        self, ranges: Sequence[TextRange], layers: Sequence[int] = (), middle: bool = False
    ) -> list[TorchEncoding]:
        encodings = []
        for tokens in map(self.opened, ranges):
            observer = Observer(frozenset(layers))
            states, cache = self._show(tokens, observer)
            received = Received(tokens, observer.mean()) if layers else None
            half = self._middle(tokens) if middle else None
            encodings.append(TorchEncoding(tokens, received, half, states, cache))
        return encodings

    def _middle(self, tokens: Tokens) -> Floats | None:  # noqa: ARG002
        """The states of a text after half of the layers, where a family has them; (tokens, width)."""
        return None

    def received_attention(self, ranges: Sequence[TextRange], layers: Sequence[int]) -> list[Received]:
        """One text after another: padding would change the last bits of a text's sums with its neighbours."""
        received = []
        for tokens in (self.window(*text_range) for text_range in ranges):
            observer = Observer(frozenset(layers))
            self._show(tokens, observer)
            received.append(Received(tokens, observer.mean()))
        return received

    def observe(self, tokens: Tokens, observer: MapObserver) -> None:
        self._show(tokens, Observer(observer.layers, observer))

    def _show(self, tokens: Tokens, observer: Observer) -> tuple[Tensor, DynamicCache]:
        check()
        with self.machine.at_work():
            return self._read(torch.tensor([tokens.ids], device=self.device), observer)

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
            edit = None
            if question.weighting is not None:
                aligned = one.aligned(question.weighting.aligned_rows)
                edit = Edit(question.weighting, same, slice(aligned.start, aligned.stop))
            states = self._follow(question.encoding, ids, edit)
            before = states[:, one.scored.start - 1 : one.scored.stop - 1]
            words = ids[:, one.scored.start : one.scored.stop]
            values = self._log_probabilities(before.flatten(0, 1), words.flatten()).view(words.shape)
            scores.update(zip(same, values.tolist(), strict=True))
        return [scores[i] for i in range(len(prompts))]

    def _prompts(self, phrases: Sequence[str]) -> list[Prompt]:
        return prompts_of(self.tokenizer, self.template, phrases, LONGEST_PROMPT, self.special_in_prompt)

    def _log_probabilities(self, states: Tensor, words: Tensor) -> Tensor:
        """Log-probability of each word after its state, a few states at a time; (words,)."""
        cap = getattr(self.model.config, "final_logit_softcapping", None)
        values = []
        for some_states, some_words in zip(torch.split(states, STATES), torch.split(words, STATES), strict=True):
            check()
            logits = soft_cap(self.model.lm_head(some_states).float(), cap)  # (states, vocabulary)
            values.append(logits.log_softmax(-1).gather(1, some_words[:, None])[:, 0])
        return torch.cat(values)


def of_one_shape(prompts: Sequence[Prompt], budget: int) -> Iterator[list[int]]:
    """Indices of prompts with equally many tokens and the candidate in the same place, within a budget of tokens."""
    order = sorted(range(len(prompts)), key=lambda i: (prompts[i].shape, i))
    for (length, _, _), same in groupby(order, key=lambda i: prompts[i].shape):
        yield from packs(same, lambda _, length=length: length, budget)  # type: ignore[misc]


class CausalBackbone(DecoderOnly, Transformer):
    kind = AutoModelForCausalLM
    special_in_prompt = False

    def room(self) -> int:
        return int(self.model.config.max_position_embeddings) - LONGEST_PROMPT

    def _read(self, ids: Tensor, observer: Observer) -> tuple[Tensor, DynamicCache]:
        cache = DynamicCache()  # without a configuration it forgets nothing: `Following` hides what is out of a window
        read = self.model.model(input_ids=ids, past_key_values=cache, use_cache=True, visitor=observer)
        return read.last_hidden_state, cache

    def _middle(self, tokens: Tokens) -> Floats:
        with self.machine.at_work():
            ids = torch.tensor([tokens.ids], device=self.device)
            read = self.model.model(input_ids=ids, visitor=Observer(frozenset()), output_hidden_states=True)
            states: Floats = read.hidden_states[self.depth // 2][0].float().cpu().numpy()
        return states

    def _follow(self, encoding: TorchEncoding, ids: Tensor, edit: Edit | None) -> Tensor:
        positions = torch.arange(ids.shape[1], device=self.device)[None] + len(encoding.tokens)
        states: Tensor = self.model.model(
            input_ids=ids, position_ids=positions, use_cache=False, visitor=Following(edit, encoding.cache)
        ).last_hidden_state
        return states


# --- T5: the encoder reads the document once, and prompts are the decoder's input --------------------------------

PROMPT_OPENING, PROMPT_CLOSING = 'Book:"', '"'
WORD_MARKS = ("\u2581", "\u0120")  # how SentencePiece and byte-level tokenisers write a space


class Seq2SeqBackbone(Transformer):
    kind = AutoModelForSeq2SeqLM
    sink_token = None
    default_rule: Rule = "logit"
    small_sums = False
    template = "This book mainly talks about {} ."
    special_in_prompt = True
    special_in_window = False

    def room(self) -> int:
        """T5's relative positions allow any length, but it was trained on `n_positions` tokens (512)."""
        return int(getattr(self.model.config, "n_positions", 512)) - len(PROMPT_OPENING) - len(PROMPT_CLOSING) - 1

    def blank_pieces(self, tokens: Tokens) -> list[int]:
        pieces = self.tokenizer.convert_ids_to_tokens(tokens.ids)
        return [i for i, piece in enumerate(pieces) if piece in WORD_MARKS]

    def span_states(self, encoding: TorchEncoding, spans: Sequence[Span]) -> Floats | None:
        """The mean of the encoder's last states over each span (Sec. 4.2)."""
        tokens = [encoding.tokens.of(span) for span in spans]
        states: Floats = encoding.states[0].float().cpu().numpy()
        return np.stack([states[t.start : t.stop].mean(0) for t in tokens])

    def opened(self, text_range: TextRange) -> Tokens:
        return tokenise(self.tokenizer, *text_range, prefix=PROMPT_OPENING, suffix=PROMPT_CLOSING)

    def _read(self, ids: Tensor, observer: Observer) -> tuple[Tensor, DynamicCache]:
        states = self.model.encoder(input_ids=ids, visitor=observer).last_hidden_state
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        start = torch.full((1, 1), self._start, device=self.device)
        self.model.decoder(input_ids=start, encoder_hidden_states=states, past_key_values=cache, use_cache=True)
        return states, cache.cross_attention_cache

    def _follow(self, encoding: TorchEncoding, ids: Tensor, edit: Edit | None) -> Tensor:
        """The start token takes the place of the template's first word, as in PromptRank."""
        ids = torch.cat([torch.full_like(ids[:, :1], self._start), ids[:, 1:]], dim=1)
        states: Tensor = self.model.decoder(
            input_ids=ids,
            encoder_hidden_states=encoding.states,
            past_key_values=EncoderDecoderCache(DynamicCache(), encoding.cache),
            use_cache=True,
            visitor=Following(edit),
        ).last_hidden_state
        return states * self.model.config.d_model**-0.5 if self.model.config.scale_decoder_outputs else states

    @property
    def _start(self) -> int:
        return int(self.model.config.decoder_start_token_id or 0)


OFFSET_FAMILIES = frozenset({"roberta", "xlm-roberta", "mpnet"})  # whose positions count on from the padding token's id


class TorchEncoder(SentenceEncoder):
    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str) -> None:
        self.model = model.eval().to(machine.device)
        self.tokenizer, self.machine, self.name = tokenizer, machine, name
        self.width = int(model.config.hidden_size)
        offset = int(model.config.pad_token_id or 0) + 1 if model.config.model_type in OFFSET_FAMILIES else 0
        self.positions = int(model.config.max_position_embeddings) - offset

    @classmethod
    def load(cls, path: str, machine: Machine, name: str) -> Self:
        model = AutoModel.from_pretrained(path, dtype=machine.dtype, trust_remote_code=False)
        return cls(model, fast_tokenizer(path), machine, name)

    def states(
        self, rows: Sequence[Sequence[int]], layer: int = -1, pool: Callable[[Floats], Floats] = lambda state: state
    ) -> list[Floats]:
        results: dict[int, Floats] = {}
        with self.machine.at_work():
            for batch in length_batches([len(row) for row in rows], self.machine.batch_tokens):
                check()
                some = [torch.tensor(rows[i], device=self.machine.device) for i in batch]
                ids = pad_sequence(some, batch_first=True, padding_value=int(self.tokenizer.pad_token_id or 0))
                mask = pad_sequence([torch.ones_like(row) for row in some], batch_first=True)
                output = self.model(input_ids=ids, attention_mask=mask, output_hidden_states=layer != -1)
                found = output.last_hidden_state if layer == -1 else output.hidden_states[layer]
                for i, state in zip(batch, found.float().cpu().numpy(), strict=True):  # (tokens, width)
                    results[i] = pool(state[: len(rows[i])])
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


class LocalChat:
    """A model that writes greedily, so that the same prompt gets the same answer; its attention is as it was made.

    A model without a template is refused. Base models were tried with plain text instead ("... Keyphrases:" to be
    continued), and do not follow it: gemma3-270m repeats the instruction, or one sentence, until its tokens run out.
    """

    def __init__(self, model: Any, tokenizer: Any, machine: Machine, name: str, template: str = "") -> None:
        """`template` is for models whose tokeniser has none of its own."""
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
    def load(cls, path: str, machine: Machine, name: str, template: str = "") -> Self:
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
            written = self.model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=max_new_tokens)
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
