"""Attention in a decoder: who sees whom, in blocks of rows; edits of the scores (Eqs. 5-8); and what the rows see."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mudy._support.onnx import CONTRIB, Array, Graph, ThreadMap
from mudy.engines.interfaces import Rule, Weighting
from mudy.engines.light.decoder import DecoderConfig

BLOCK = 64  # rows that are multiplied together
_HIDDEN = np.float32(-np.inf)


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a text or of prompts, and the stretch of tokens that they see."""

    rows: slice
    first: int  # the first token that any of them sees
    stop: int
    mask: Array  # 0 or -inf; (rows, stop - first)


def causal_blocks(length: int, window: int | None) -> Iterator[Block]:
    """The rows of one text: each sees itself and what stands before it, in a sliding layer no more than a window."""
    for start in range(0, length, BLOCK):
        stop, first = min(start + BLOCK, length), 0 if window is None else max(0, start - window + 1)
        row, token = np.arange(start, stop)[:, None], np.arange(first, stop)
        seen = token <= row
        if window is not None:
            seen &= row - token < window
        yield Block(slice(start, stop), first, stop, np.where(seen, np.float32(0), _HIDDEN))


@dataclass(frozen=True, slots=True)
class Branches:
    """Prompts after one text as a forest: prompts that begin alike share their first rows.

    A row sees the remembered tokens of the text, and of the prompts only those from which it branched off.
    """

    ids: list[int]
    parents: list[int]  # the row before each, -1 for the first of a prompt
    depths: list[int]  # rows before each

    def __len__(self) -> int:
        return len(self.ids)


def branch_blocks(branches: Branches, before: int, window: int | None, whole: bool = False) -> Iterator[Block]:
    """The rows of prompts that follow `before` tokens, which stand ahead of their own among the tokens seen.

    `whole` gives one block of all rows, for an edit that compares the rows of a prompt.
    """
    depths, seen = np.array(branches.depths), np.eye(len(branches), dtype=bool)
    for row, parent in enumerate(branches.parents):  # which rows each row sees, itself included
        if parent >= 0:
            seen[row] |= seen[parent]
    total = before + len(branches)
    position = np.concatenate([np.arange(before), before + depths])
    first = 0 if window is None else max(0, before - window + 1)  # what no row sees is not computed
    step = len(branches) if whole else BLOCK
    for start in range(0, len(branches), step):
        rows = slice(start, min(start + step, len(branches)))
        near = np.concatenate([np.ones((rows.stop - start, before - first), bool), seen[rows]], axis=1)
        if window is not None:
            near &= before + depths[rows, None] - position[first:] < window
        yield Block(rows, first, total, np.where(near, np.float32(0), _HIDDEN))


def grow(paths: Sequence[Sequence[int]], shared: bool = True) -> tuple[Branches, list[list[int]]]:
    """Token sequences as a forest, and in which of its rows each sequence stands.

    With `shared`, equal beginnings are one branch; else each sequence has rows of its own.
    """
    ids: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    known: dict[tuple[int, int], int] = {}
    places = []
    for number, path in enumerate(paths):
        row, place = -1, []
        for depth, token in enumerate(path):
            key = (row, token) if shared else (number, depth)
            if key not in known:
                known[key] = len(ids)
                ids.append(token)
                parents.append(row)
                depths.append(depth)
            place.append(row := known[key])
        places.append(place)
    return Branches(ids, parents, depths), places


@dataclass(frozen=True, slots=True)
class LightEdit:
    """A weighting, applied to the rows of several prompts."""

    weighting: Weighting
    prompts: Sequence[int]  # which prompts of the weighting these are
    owners: NDArray[np.intp]  # (rows,): whose row each is, as an index of `prompts`
    counted: NDArray[np.bool_]  # (rows,): whether its agreement with a token counts

    def __call__(self, layer: int, scores: Array, first: int, tokens: int) -> None:
        """Edit in place the scores over a text's tokens from `first` on; (kv_heads, groups, rows, first ... tokens)."""
        weights = self.weighting.weights(layer, self.prompts)[:, first:tokens]  # (prompts, tokens)
        text = scores[..., : tokens - first]
        if self.weighting.k:
            # How well each token agrees with a prompt's counted rows (Eqs. 5-6); (kv_heads, groups, prompts, tokens)
            aligned = np.zeros((*text.shape[:2], len(self.prompts), text.shape[-1]), np.float32)
            for row in np.flatnonzero(self.counted):
                aligned[:, :, self.owners[row]] += text[:, :, row]
            weights = _keep_aligned(weights, aligned, self.weighting.eligible[first:tokens], self.weighting.k)
        text[...] = reweighted(text, weights[..., self.owners, :], self.weighting.rule)


def _keep_aligned(weights: Array, aligned: Array, eligible: NDArray[np.bool_], k: int) -> Array:
    """Full weight for the k best-aligned tokens of each head, whatever their distance (Eq. 7)."""
    k = min(k, int(eligible.sum()))
    kept = np.broadcast_to(weights, aligned.shape).copy()
    if k:
        aligned = np.where(eligible, aligned, -np.inf)
        best = np.argpartition(-aligned, k - 1, axis=-1)[..., :k]
        np.put_along_axis(kept, best, np.float32(1), axis=-1)
    return kept


def reweighted(scores: Array, weights: Array, rule: Rule) -> Array:
    """Eq. 8; or, for "post_softmax", attention times the weights, renormalised: log W added before the softmax."""
    if rule == "logit":
        return np.where(scores >= 0, scores * weights, scores * (1 - weights))
    with np.errstate(divide="ignore"):
        return scores + np.log(weights)


class Attention:
    """The attention of a decoder's layers."""

    def __init__(self, config: DecoderConfig, threads: ThreadMap) -> None:
        self.config, self._threads = config, threads
        self._attention, self._summed = (_attention_graph(config, summed) for summed in (False, True))
        self._scores, self._weighted_sum = _edited_graphs(config)

    def by_heads(self, rows: Array) -> Array:
        """Keys or values (rows, kv_heads x head_width) as (kv_heads, rows, head_width)."""
        config = self.config
        return np.ascontiguousarray(rows.reshape(-1, config.kv_heads, config.head_width).transpose(1, 0, 2))

    def __call__(
        self,
        layer: int,
        query: Array,
        keys: Array,
        values: Array,
        blocks: Iterable[Block],
        sums: Array | None = None,
        edit: LightEdit | None = None,
        text: int = 0,
    ) -> Array:
        """Rows of queries that look at the tokens that their blocks say; (rows, heads x head_width).

        `sums`, of the length of a text, is added the attention that its tokens receive from its own rows, averaged over
        heads. An `edit` changes the scores over the first `text` tokens.
        """
        config, rows = self.config, len(query)
        shape = config.kv_heads, config.groups, config.head_width
        query = query.reshape(rows, *shape).transpose(1, 0, 2, 3)  # (kv_heads, rows, groups, head_width)
        attended = np.empty((rows, *shape), np.float32)

        def attend(block: Block) -> Array | None:
            some = np.ascontiguousarray(query[:, block.rows]).reshape(shape[0], -1, shape[-1])
            key, value = (np.ascontiguousarray(each[:, block.first : block.stop]) for each in (keys, values))
            summed = sums is not None and block.stop <= len(sums)
            if edit is None:
                found, received = self._attend_block(some, key, value, block, summed)
            else:
                found, received = self._attend_edited(layer, some, key, value, block, edit, text), None
            attended[block.rows] = found.reshape(shape[0], -1, *shape[1:]).transpose(1, 0, 2, 3)
            return received

        every = list(blocks)[::-1]  # the longest first
        for block, received in reversed(list(zip(every, self._threads(attend, every), strict=True))):
            if received is not None and sums is not None:
                sums[block.first : block.stop] += received / np.float32(config.heads)
        return attended.reshape(rows, -1)

    def maps(
        self, query: Array, keys: Array, blocks: Iterable[Block], head: int | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """The attention maps of a text in blocks of rows, of all heads or of one; (heads, rows, tokens)."""
        config, length = self.config, keys.shape[1]
        by_head = query.reshape(length, config.heads, -1).transpose(1, 0, 2)
        heads = range(config.heads) if head is None else [head]
        for block in blocks:
            found = np.zeros((len(heads), *block.mask.shape[:1], length), np.float32)
            for row, index in zip(found, heads, strict=True):
                key = keys[index // config.groups, block.first : block.stop]
                scores = by_head[index, block.rows] @ key.T * np.float32(config.scaling) + block.mask
                powers = np.exp(scores - scores.max(-1, keepdims=True))
                row[:, block.first : block.stop] = powers / powers.sum(-1, keepdims=True)
            yield block.rows, found

    def _attend_block(
        self, query: Array, key: Array, value: Array, block: Block, summed: bool
    ) -> tuple[Array, Array | None]:
        """What the rows of a block see, and with `summed`, the attention that each token receives from all heads."""
        count, tokens = block.mask.shape
        shape = np.array([len(query), count, self.config.groups, tokens])
        flat_shape = np.array([len(query), count * self.config.groups, tokens])
        feeds = {"query": query, "key": key, "value": value, "mask": block.mask[:, None]}
        graph = self._summed if summed else self._attention
        attended, *more = graph.run({**feeds, "shape": shape, "flat_shape": flat_shape})
        return attended, more[0] if summed else None

    def _attend_edited(
        self, layer: int, query: Array, key: Array, value: Array, block: Block, edit: LightEdit, text: int
    ) -> Array:
        (scores,) = self._scores.run({"query": query, "key": key})
        rows, tokens = block.mask.shape
        every = scores.reshape(len(query), rows, self.config.groups, tokens).transpose(0, 2, 1, 3)  # the same memory
        edit(layer, every, block.first, text)
        every += block.mask
        (attended,) = self._weighted_sum.run({"scores": scores, "value": value})
        return attended


def _attention_graph(config: DecoderConfig, summed: bool) -> Graph:
    """Rows of queries that look at keys; what each row sees is said by `mask`, which is added to its scores.

    query (kv_heads, rows x groups, head_width), key and value (kv_heads, tokens, head_width), mask (rows, 1, tokens) ->
    attended, as query; and with `summed`, the attention that each token receives from all rows and heads; (tokens,).
    """
    graph = Graph("attention")
    shape = graph.input("shape", "int64")  # kv_heads, rows, groups, tokens
    scores = _scores(graph, config)
    scores = graph.add("Add", graph.add("Reshape", scores, shape), graph.input("mask"))
    maps = graph.add("Softmax", scores, axis=-1)
    flat = graph.add("Reshape", maps, graph.input("flat_shape", "int64"))
    graph.output("attended", graph.add("MatMul", flat, graph.input("value")))
    if summed:
        graph.output("sums", graph.add("ReduceSum", maps, graph.shape(0, 1, 2), keepdims=0))
    return graph


def _edited_graphs(config: DecoderConfig) -> tuple[Graph, Graph]:
    """The scores alone, for whoever edits them, (kv_heads, rows x groups, tokens); then a softmax and sum of values."""
    scores, after = Graph("scores"), Graph("weighted_sum")
    scores.output("scores", _scores(scores, config))
    maps = after.add("Softmax", after.input("scores"), axis=-1)
    after.output("attended", after.add("MatMul", maps, after.input("value")))
    return scores, after


def _scores(graph: Graph, config: DecoderConfig) -> str:
    given = graph.input("query"), graph.input("key")
    return graph.add("FusedMatMul", *given, domain=CONTRIB, transB=1, alpha=float(config.scaling))
