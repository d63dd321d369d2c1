"""Decoder-only language models without torch: Llama and SmolLM2, Gemma 3.

A document's keys and values are computed once and all prompts look at them. Rows that no weighting has reached are
alike for all prompts that begin alike, so these share a branch: the template's head is computed once for a document,
and a phrase once for all of its occurrences, up to the first layer that is edited.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from mudy._support.onnx import Array, ThreadMap
from mudy.engines import Compute, read_config
from mudy.engines.interfaces import DecoderOnly, Encoding, MapObserver, Question, Received, TextRange, Weighting
from mudy.engines.light.attention import Attention, Block, Branches, LightEdit, branch_blocks, causal_blocks, grow
from mudy.engines.light.decoder import Decoder, LightHead, VocabularySum, decoder_config
from mudy.engines.light.weights import LightWeights
from mudy.engines.tokens import LONGEST_PROMPT, LightTokenizer, Prompt, Tokens, consecutive, packs, prompts_of
from mudy.models.fetch import Report, silent

_BATCH_TOKENS = 640
_Memory = dict[int, tuple[Array, Array]]  # layer -> keys and values of one text; (kv_heads, tokens, head_width)


@dataclass(frozen=True, slots=True)
class LightPrefix(Encoding):
    """A document as the decoder remembers it."""

    memory: _Memory


@dataclass(frozen=True, slots=True)
class LightQuestion:
    prefix: LightPrefix
    prompts: list[Prompt]
    paths: list[tuple[int, ...]]  # the tokens of each prompt whose rows are needed
    weighting: Weighting | None

    def before(self, places: Sequence[Sequence[int]]) -> list[int]:
        """The state before each token that is scored, given where each prompt's rows are."""
        return [rows[i - 1] for prompt, rows in zip(self.prompts, places, strict=True) for i in prompt.scored]


@dataclass(frozen=True, slots=True)
class LightRun:
    """Prompts on their way through the model, after one text."""

    prefix: LightPrefix
    branches: Branches
    edit: LightEdit | None = None
    given: Sequence[int] = ()  # which known states the rows begin with, if they do not begin with words


_Places = list[list[list[int]]]  # question, prompt -> rows of an array of states


class LightDecoder(DecoderOnly):
    def __init__(self, folder: Path, compute: Compute, name: str, report: Report = silent) -> None:
        config, threads = decoder_config(read_config(folder)), ThreadMap(compute.threads)
        weights = LightWeights(folder, compute, report, norm_offset=1.0 if config.gemma else 0.0)
        self.tokenizer, self.name, self.family = LightTokenizer(folder), name, config.family
        self.batch_tokens = compute.batch_tokens or _BATCH_TOKENS
        self._decoder, self._attend = Decoder(config, weights, threads), Attention(config, threads)
        self._head = LightHead(self._decoder.vocabulary, threads)
        self._sum = VocabularySum(self._head, self.tokenizer.single_characters)
        self.heads, self.windows, self.positions = config.heads, config.windows, config.positions
        self.depth = self.prompt_depth = config.depth

    def room(self) -> int:
        return self.positions - LONGEST_PROMPT

    def encode(
        self, ranges: Sequence[TextRange], layers: Sequence[int] = (), middle: bool = False
    ) -> list[LightPrefix]:
        encodings: list[LightPrefix] = []
        for pack in packs(map(self.opened, ranges), len, self.batch_tokens):
            memories: list[_Memory] = [{} for _ in pack]
            sums, states = self._read(pack, self.depth - 1, layers, memories)
            for tokens, memory, received, rows in zip(pack, memories, sums, consecutive(map(len, pack)), strict=True):
                known = Received(tokens, received) if layers else None
                encodings.append(LightPrefix(tokens, known, states[rows].copy() if middle else None, memory))
        return encodings

    def received_attention(self, ranges: Sequence[TextRange], layers: Sequence[int]) -> list[Received]:
        texts = [self.window(*text_range) for text_range in ranges]
        found: list[Received] = []
        for pack in packs(texts, len, self.batch_tokens):
            sums, _ = self._read(pack, max(layers), layers)
            found += [Received(*pair) for pair in zip(pack, sums, strict=True)]
        return found

    def observe(self, tokens: Tokens, observer: MapObserver) -> None:
        self._read([tokens], max(observer.layers), observer=observer)

    def _read(
        self,
        texts: Sequence[Tokens],
        last: int,
        layers: Sequence[int] = (),
        memories: Sequence[_Memory] = (),
        observer: MapObserver | None = None,
    ) -> tuple[list[Array], Array]:
        """Read several texts in one pass, up to the last layer that is wanted.

        The mean attention in some layers, and the states after half of the layers, or as far as it was read.
        """
        lengths = [len(text) for text in texts]
        sums = [np.zeros(length, np.float32) for length in lengths]
        masks: dict[int | None, list[list[Block]]] = {}

        def attend(layer: int, query: Array, key: Array, value: Array) -> Array | None:
            window, observed = self.windows[layer], layer in layers
            if window not in masks:
                masks[window] = [list(causal_blocks(length, window)) for length in lengths]
            parts = []
            for text, rows in enumerate(consecutive(lengths)):
                keys, values = self._attend.by_heads(key[rows]), self._attend.by_heads(value[rows])
                blocks, seen = masks[window][text], sums[text] if observed else None
                if memories:
                    memories[text][layer] = keys, values
                if observer is not None and layer in observer.layers:
                    observer.see(layer, partial(self._attend.maps, query[rows], keys, blocks))
                if layer < last or observed:
                    parts.append(self._attend(layer, query[rows], keys, values, blocks, seen))
            return None if layer == last else np.concatenate(parts)

        ids = [token for text in texts for token in text.ids]
        positions = [place for length in lengths for place in range(length)]
        half = min(self.depth // 2, last)
        middle = self._decoder.layers(0, half, self._decoder.embed(ids), positions, attend)
        assert middle is not None  # attention is enough in the last layer alone
        self._decoder.layers(half, last + 1, middle, positions, attend)
        return [each / np.float32(max(1, len(set(layers)))) for each in sums], middle

    def log_likelihood(self, questions: Sequence[Question]) -> list[list[list[float]]]:
        asked = [self._prepare(question) for question in questions if question.phrases]
        if not asked:
            return [[] for _ in questions]
        unedited = min(self._unedited(each.weighting) for each in asked)
        states, places = self._alike(asked, unedited)
        if unedited < self.depth:
            states, places = self._apart(asked, unedited, states, places)
        found = iter(self._scored(asked, states, places))
        return [list(islice(found, len(question.phrases))) for question in questions]

    def _prepare(self, question: Question) -> LightQuestion:
        prompts = prompts_of(self.tokenizer, self.template, question.phrases, LONGEST_PROMPT, False)
        counted = question.weighting is not None and question.weighting.aligned_rows == "tail"
        paths = [tuple(prompt.ids if counted else prompt.ids[:-1]) for prompt in prompts]  # nothing asks the last token
        return LightQuestion(question.encoding, prompts, paths, question.weighting)

    def _unedited(self, weighting: Weighting | None) -> int:
        """How many layers there are below the first one that a weighting edits."""
        if weighting is None:
            return self.depth
        windows = enumerate(self.windows)
        return next((layer for layer, window in windows if weighting.edits(layer, window)), self.depth)

    def _alike(self, asked: Sequence[LightQuestion], layers: int) -> tuple[Array, _Places]:
        """States after the first layers, each beginning computed once; and in which of them each prompt's rows are."""
        runs, places, made = [], [], 0
        for each in asked:
            rows: dict[tuple[int, ...], list[int]] = {}
            for paths in self._path_packs(each.paths):
                branches, found = grow(paths)
                rows.update((path, [made + row for row in place]) for path, place in zip(paths, found, strict=True))
                runs.append(LightRun(each.prefix, branches))
                made += len(branches)
            places.append([rows[path] for path in each.paths])
        return self._follow(runs, 0, layers), places

    def _path_packs(self, paths: Iterable[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
        """Each prompt once, those that begin alike beside each other, within a budget of rows."""
        paths = sorted(set(paths))
        new = [len(paths[0]), *(len(path) - common_length(before, path) for before, path in pairwise(paths))]
        for pack in packs(zip(paths, new, strict=True), lambda pair: pair[1], self.batch_tokens):
            yield [path for path, _ in pack]

    def _apart(
        self, asked: Sequence[LightQuestion], layers: int, states: Array, known: _Places
    ) -> tuple[Array, _Places]:
        """States after the last layer, every prompt on its own from the first edited layer on; and where they are."""
        runs, places, made = [], [], 0
        for each, rows in zip(asked, known, strict=True):
            own: list[list[int]] = []
            for some in packs(range(len(each.prompts)), lambda i, rows=rows: len(rows[i]), self.batch_tokens):  # type: ignore[misc]
                branches, found = grow([each.paths[i] for i in some], shared=False)
                given = [row for i in some for row in rows[i]]
                runs.append(LightRun(each.prefix, branches, self._edit(each, some), given))
                own += [[made + row for row in place] for place in found]
                made += len(branches)
            places.append(own)
        return self._follow(runs, layers, self.depth, states), places

    def _edit(self, asked: LightQuestion, prompts: Sequence[int]) -> LightEdit | None:
        """A question's weighting as applied to the rows of some of its prompts."""
        if asked.weighting is None:
            return None
        rows = [len(asked.paths[i]) for i in prompts]
        aligned = [asked.prompts[i].aligned(asked.weighting.aligned_rows) for i in prompts]
        counted = [row in some for some, length in zip(aligned, rows, strict=True) for row in range(length)]
        return LightEdit(asked.weighting, prompts, np.repeat(np.arange(len(prompts)), rows), np.array(counted))

    def _follow(self, runs: Sequence[LightRun], start: int, stop: int, known: Array | None = None) -> Array:
        """The states of all runs after some layers, one after the other; (rows, width)."""
        found = []
        for pack in packs(runs, lambda run: len(run.branches), self.batch_tokens):
            positions = [len(run.prefix.tokens) + depth for run in pack for depth in run.branches.depths]
            if known is None:
                states = self._decoder.embed([token for run in pack for token in run.branches.ids])
            else:
                states = known[[row for run in pack for row in run.given]]
            after = self._decoder.layers(start, stop, states, positions, self._looking_at_texts(pack))
            assert after is not None
            found.append(after)
        return np.concatenate(found)

    def _looking_at_texts(self, pack: Sequence[LightRun]) -> Any:
        """Attention of prompts to the text that each follows and to its own earlier rows."""
        lengths = [len(run.branches) for run in pack]
        masks: dict[tuple[int, int | None, bool], list[Block]] = {}

        def attend(layer: int, query: Array, key: Array, value: Array) -> Array:
            window, parts = self.windows[layer], []
            for index, (run, rows) in enumerate(zip(pack, consecutive(lengths), strict=True)):
                edit = run.edit if run.edit is not None and run.edit.weighting.edits(layer, window) else None
                text, kind = len(run.prefix.tokens), (index, window, edit is not None)
                if kind not in masks:
                    masks[kind] = list(branch_blocks(run.branches, text, window, whole=edit is not None))
                keys, values = (
                    np.concatenate([known, self._attend.by_heads(own[rows])], axis=1)
                    for known, own in zip(run.prefix.memory[layer], (key, value), strict=True)
                )
                parts.append(self._attend(layer, query[rows], keys, values, masks[kind], edit=edit, text=text))
            return np.concatenate(parts)

        return attend

    def _scored(self, asked: Sequence[LightQuestion], states: Array, places: _Places) -> list[list[float]]:
        """Log-probability of every scored token of every prompt, from the state before it; never above 0."""
        before = [each.before(own) for each, own in zip(asked, places, strict=True)]
        used = [list(dict.fromkeys(rows)) for rows in before]
        mass = self._sum.log_mass(states[[row for rows in used for row in rows]])
        found = []
        for each, rows, own, part in zip(asked, before, used, consecutive(map(len, used)), strict=True):
            said = {*each.prefix.tokens.ids, *(token for prompt in each.prompts for token in prompt.ids)}
            words = np.array([prompt.ids[token] for prompt in each.prompts for token in prompt.scored])
            sums = self._sum.with_said(mass[part], states[own], said)
            at = {row: i for i, row in enumerate(own)}
            values = self._head.logit(states[rows], words) - sums[[at[row] for row in rows]]
            scored = iter(np.minimum(values, 0).tolist())
            found += [list(islice(scored, len(prompt.scored))) for prompt in each.prompts]
        return found


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
