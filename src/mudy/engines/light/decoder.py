"""A decoder-only network: word vectors, layers, and the norm at the end. Attention is computed for whom it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.cancellation import check
from mudy._support.onnx import Array, Sessions
from mudy.engines.light import graphs
from mudy.engines.light.conversion import LightWeights, Table
from mudy.engines.light.graphs import DecoderConfig
from mudy.engines.light.light_attention import Block, LightEdit

ROWS = 160  # that pass through the linear layers at once: more take more memory, and fewer more time to lay out weights
FEWEST_ROWS = 32  # that are worth a thread of their own
Attend = Callable[[int, Array, Array, Array], Array | None]  # layer, query, key, value -> attended, or None: enough
_Feeds = dict[str, NDArray[Any]]


class Decoder:
    def __init__(self, config: DecoderConfig, weights: LightWeights, sessions: Sessions) -> None:
        self.config, self.sessions = config, sessions
        self._graphs = {
            "before": graphs.before_attention(config, weights.products),
            "after": graphs.after_attention(config, weights.products),
            "final_norm": graphs.final_norm(config),
        }
        self._before, self._after = (
            [weights.feeds(self._graphs[name], f"model.layers.{layer}.") for layer in range(config.depth)]
            for name in ("before", "after")
        )
        self._norm = weights.feeds(self._graphs["final_norm"], "model.")
        self._words = weights.table("model.embed_tokens.weight")
        self.vocabulary: Table = weights.table("lm_head.weight") if "lm_head.weight" in weights.file else self._words
        self._rotations: dict[float, tuple[Array, Array]] = {}

    # --- A forward pass ------------------------------------------------------------------------------------------

    def embed(self, ids: Sequence[int]) -> Array:
        """Word vectors; (rows, width)."""
        return self._words.rows(ids, self.config.embedding_factor)

    def layers(self, start: int, stop: int, states: Array, positions: Sequence[int], attend: Attend) -> Array | None:
        """States after some layers, and after the final norm with the last of them; None if attention was enough."""
        place = np.asarray(positions, np.int64)
        for layer in range(start, stop):
            check()
            attended = attend(layer, *self._queries(layer, states, place))
            if attended is None:
                return None
            given = {"attended": attended, "states": states}
            (states,) = self._run_rows("after", self._after[layer], given, [states.shape[1]])
        if stop == self.config.depth:
            (states,) = self._run("final_norm", {"states": states, **self._norm})
        return states

    def _queries(self, layer: int, states: Array, positions: NDArray[np.int64]) -> list[Array]:
        """Query, key and value of all rows; (rows, heads x head_width)."""
        config = self.config
        cos, sin = self._rotation(config.thetas[layer], int(positions.max()) + 1)
        weights = {**self._before[layer], "cos": cos, "sin": sin}
        widths = [heads * config.head_width for heads in (config.heads, config.kv_heads, config.kv_heads)]
        return self._run_rows("before", weights, {"states": states, "positions": positions}, widths)

    def _run_rows(self, name: str, weights: _Feeds, states: _Feeds, widths: Sequence[int]) -> list[Array]:
        """The results of one of a layer's graphs, so many columns each, some rows at a time."""
        count = len(next(iter(states.values())))
        results = [np.empty((count, width), np.float32) for width in widths]

        def run(part: slice) -> None:
            given = {key: value[part] for key, value in states.items()}
            if "positions" in given:
                given["positions"] = given["positions"][None]
            for result, rows in zip(results, self._run(name, {**weights, **given}), strict=True):
                result[part] = rows.reshape(-1, result.shape[1])

        self.sessions.map(run, row_blocks(count, self.sessions.threads))
        return results

    def _run(self, name: str, feeds: _Feeds) -> list[Array]:
        return self.sessions.run(name, lambda: self._graphs[name], feeds)

    def _rotation(self, theta: float, positions: int) -> tuple[Array, Array]:
        """Cosines and sines of rotary positions, for at least so many of them; (positions, head_width / 2)."""
        known = self._rotations.get(theta)
        if known is None or len(known[0]) < positions:
            width = self.config.head_width
            turns = 1 / np.float32(theta) ** (np.arange(0, width, 2, dtype=np.float32) / np.float32(width))
            size = 1 << max(10, (positions - 1).bit_length())
            angles = np.arange(size, dtype=np.float32)[:, None] * turns.astype(np.float32)
            known = self._rotations[theta] = np.cos(angles), np.sin(angles)
        return known

    # --- Attention -----------------------------------------------------------------------------------------------

    def by_heads(self, rows: Array) -> Array:
        """Keys or values (rows, kv_heads x head_width) as (kv_heads, rows, head_width)."""
        config = self.config
        return np.ascontiguousarray(rows.reshape(-1, config.kv_heads, config.head_width).transpose(1, 0, 2))

    def attend(
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
        for block, received in reversed(list(zip(every, self.sessions.map(attend, every), strict=True))):
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
        feeds = {
            "query": query,
            "key": key,
            "value": value,
            "mask": block.mask[:, None],
            "shape": np.array([len(query), count, self.config.groups, tokens]),
            "flat_shape": np.array([len(query), count * self.config.groups, tokens]),
        }
        name = "attention_summed" if summed else "attention"
        attended, *more = self.sessions.run(name, partial(graphs.attention_graph, self.config, summed), feeds)
        return attended, more[0] if summed else None

    def _attend_edited(
        self, layer: int, query: Array, key: Array, value: Array, block: Block, edit: LightEdit, text: int
    ) -> Array:
        (scores,) = self.sessions.run("scores", partial(graphs.scores, self.config), {"query": query, "key": key})
        rows, tokens = block.mask.shape
        every = scores.reshape(len(query), rows, self.config.groups, tokens).transpose(0, 2, 1, 3)  # the same memory
        edit(layer, every, block.first, text)
        every += block.mask
        feeds = {"scores": scores, "value": value}
        (attended,) = self.sessions.run("weighted_sum", graphs.weighted_sum, feeds)
        return attended


def row_blocks(rows: int, threads: int = 1) -> Iterator[slice]:
    """Rows in stretches of nearly equal length, and equally many for each thread.

    They are short where there is one thread, for that may be one of many processes, which are to need little memory.
    """
    most = ROWS if threads == 1 else 2 * ROWS
    count = -(-rows // (most * threads)) * threads
    count = max(1, -(-rows // most), min(count, rows // FEWEST_ROWS))
    size = -(-rows // count)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))
