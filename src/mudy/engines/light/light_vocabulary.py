"""Log-probabilities over a large vocabulary, without ever holding a row of it for each state.

Logits are laid out as (words, states), so that a stretch of the vocabulary is used where it lies in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from mudy._support.cancellation import check
from mudy._support.onnx import CONTRIB, Array, Feeds, Graph, Sessions
from mudy.engines.light.conversion import Table, round_rows, row_scales
from mudy.engines.light.graphs import MIDDLE

_LARGE = 1 << 17  # a vocabulary worth shortening
_COMMON, _CHARACTERS = 1 << 16, 1 << 10  # to so many words, and so many single characters
_STATES = 1024  # multiplied at once
_WORDS = 2048  # with so many words of the vocabulary: a block of logits stays in a CPU's cache


class LightHead:
    """The last layer of a language model, states to logits; in 8 bits, words are unsigned and states signed."""

    def __init__(self, table: Table, sessions: Sessions) -> None:
        self.table, self.sessions, self.words = table, sessions, len(table.values)

    def blocks(self, states: Array) -> list[Callable[[], Array]]:
        """What gives the logits of some words each, of all words in all; (words, states). They may be written over."""
        weight, scales = self.table
        given: Feeds = {"states": states}
        if scales is not None:
            given = {"states": np.ascontiguousarray(round_rows(states).T), "scales": row_scales(states)}

        def logits(words: slice) -> Array:
            if scales is None:
                feeds: Feeds = {**given, "weight": np.ascontiguousarray(weight[words], np.float32)}
                return self.sessions.run("vocabulary", _float_graph, feeds)[0]
            feeds = {**given, "weight": weight[words], "word_scales": scales[words, None]}
            return self.sessions.run("vocabulary_int8", _int8_graph, feeds)[0]

        return [partial(logits, slice(start, start + _WORDS)) for start in range(0, self.words, _WORDS)]

    def logit(self, states: Array, words: NDArray[np.intp]) -> Array:
        """The logit of one word after each state; (states,).

        In 8 bits as `blocks` has it, to the last bit: else a word could be likelier than all words together.
        """
        if self.table.scales is None:
            return np.asarray((states * self.table.values[words]).sum(-1))
        weight = self.table.values[words].astype(np.int32) - MIDDLE
        sums = (round_rows(states).astype(np.int32) * weight).sum(-1, dtype=np.int32).astype(np.float32)
        return np.asarray(sums * row_scales(states) * self.table.scales[words])

    def only(self, words: slice | NDArray[np.intp]) -> LightHead:
        """The same with fewer words."""
        weight, scales = self.table
        return LightHead(Table(weight[words], None if scales is None else scales[words]), self.sessions)


def _float_graph() -> Graph:
    graph = Graph("vocabulary")
    graph.output("logits", graph.add("Gemm", graph.input("weight"), graph.input("states"), transB=1))
    return graph


def _int8_graph() -> Graph:
    graph = Graph("vocabulary")
    given = [graph.input("weight", "uint8"), graph.input("states", "int8"), graph.scalar(1.0)]
    given += [graph.input("scales"), graph.scalar(MIDDLE, "uint8")]
    product = graph.add("MatMulIntegerToFloat", *given, domain=CONTRIB)
    graph.output("logits", graph.add("Mul", product, graph.input("word_scales")))
    return graph


class VocabularySum:
    """What the softmax over a vocabulary divides by.

    A large vocabulary in 8 bits is summed up over its commonest words, its commonest characters, and the words that
    the text itself says: tokenisers number their words from common to rare. What is left out holds some 2% of the sum.
    """

    def __init__(self, head: LightHead, single_characters: Callable[[], Sequence[int]] = list) -> None:
        """`single_characters` gives the words of one character, common ones first."""
        self.head, self._parts = head, [head]
        self._summed = np.ones(head.words, bool)
        if head.table.scales is not None and head.words > _LARGE:
            rest = np.array([word for word in single_characters() if word >= _COMMON][:_CHARACTERS], np.intp)
            self._parts = [head.only(slice(_COMMON)), *([head.only(rest)] if len(rest) else [])]
            self._summed[_COMMON:] = False
            self._summed[rest] = True

    def log_mass(self, states: Array) -> Array:
        """The logarithm of the sum after each state, without the words that a text says; (states,)."""
        parts = [states[start : start + _STATES] for start in range(0, len(states), _STATES)]
        return np.concatenate([reduce(np.logaddexp, [log_sum(head, part) for head in self._parts]) for part in parts])

    def with_said(self, mass: Array, states: Array, said: Iterable[int]) -> Array:
        """The same with the words that a text says; (states,)."""
        added = [word for word in sorted(said) if not self._summed[word]]
        return np.logaddexp(mass, log_sum(self.head.only(np.array(added)), states)) if added else mass


def log_sum(head: LightHead, states: Array) -> Array:
    """The logarithm of what a softmax divides by, added up over blocks of words; (states,)."""
    if len(states) == 1:  # numpy adds up a single column in another order, and no state's sum depends on its company
        return log_sum(head, np.repeat(states, 2, axis=0))[:1]
    tops, masses = zip(*head.sessions.map(_top_and_mass, head.blocks(states)), strict=True)
    top: Array = np.max(tops, axis=0)
    mass = np.zeros(len(states), np.float32)
    for own_top, own_mass in zip(tops, masses, strict=True):
        mass += own_mass * np.exp(own_top - top)
    return np.asarray(top + np.log(mass))


def _top_and_mass(block: Callable[[], Array]) -> tuple[Array, Array]:
    """The highest logit after each state, and the sum of the exponentials of all, which are taken below it."""
    check()
    logits = block()
    top = logits.max(0)
    np.subtract(logits, top, out=logits)
    return top, np.exp(logits, out=logits).sum(0)
