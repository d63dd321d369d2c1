"""Log-probabilities over a large vocabulary, without ever holding a row of it for each state.

Logits are laid out as (words, states), so that a stretch of the vocabulary is used where it lies in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.cancellation import check
from mudy._support.onnx import CONTRIB, Array, Feeds, Graph, Sessions
from mudy.engines.light.conversion import round_rows, row_scales
from mudy.engines.light.graphs import MIDDLE

_LARGE = 1 << 17  # a vocabulary worth shortening
_COMMON, _CHARACTERS = 1 << 16, 1 << 10  # to so many words, and so many single characters
_STATES = 1024  # multiplied at once
_WORDS = 2048  # with so many words of the vocabulary: a block of logits stays in a CPU's cache


class LightFloatHead:
    """The last layer of a language model, states to logits, in float32."""

    def __init__(self, weight: NDArray[Any], sessions: Sessions) -> None:
        self.weight, self.sessions, self.words = weight, sessions, len(weight)

    def blocks(self, states: Array) -> list[Callable[[], Array]]:
        """What gives the logits of some words each, of all words in all; (words, states). They may be written over."""

        def logits(words: slice) -> Array:
            some = np.ascontiguousarray(self.weight[words], np.float32)
            return self.sessions.run("vocabulary", _float_graph, {"weight": some, "states": states})[0]

        return [partial(logits, words) for words in _stretches(self.words)]

    def logit(self, states: Array, words: NDArray[np.intp]) -> Array:
        """The logit of one word after each state; (states,)."""
        return np.asarray((states * self.weight[words]).sum(-1))

    def only(self, words: slice | NDArray[np.intp]) -> LightFloatHead:
        """The same with fewer words."""
        return LightFloatHead(self.weight[words], self.sessions)


class LightInt8Head:
    """The same in 8 bits: the words of the vocabulary are unsigned, states are signed."""

    def __init__(self, weight: NDArray[np.uint8], scales: Array, sessions: Sessions) -> None:
        self.weight, self.scales, self.sessions, self.words = weight, scales, sessions, len(weight)

    def blocks(self, states: Array) -> list[Callable[[], Array]]:
        given: Feeds = {"states": np.ascontiguousarray(round_rows(states).T), "scales": row_scales(states)}

        def logits(words: slice) -> Array:
            feeds = {**given, "weight": self.weight[words], "word_scales": self.scales[words, None]}
            return self.sessions.run("vocabulary_int8", _int8_graph, feeds)[0]

        return [partial(logits, words) for words in _stretches(self.words)]

    def logit(self, states: Array, words: NDArray[np.intp]) -> Array:
        """As `blocks` has it, to the last bit: else a word could be likelier than all words together."""
        weight = self.weight[words].astype(np.int32) - MIDDLE
        sums = (round_rows(states).astype(np.int32) * weight).sum(-1, dtype=np.int32).astype(np.float32)
        return np.asarray(sums * row_scales(states) * self.scales[words])

    def only(self, words: slice | NDArray[np.intp]) -> LightInt8Head:
        return LightInt8Head(self.weight[words], self.scales[words], self.sessions)


LightHead = LightFloatHead | LightInt8Head


def _stretches(words: int) -> Iterator[slice]:
    return (slice(start, start + _WORDS) for start in range(0, words, _WORDS))


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

    def __init__(self, head: LightHead, characters: Sequence[int] | None = None) -> None:
        """`characters` are the words of a single character, common ones first; None for the sum over all words."""
        self.head, self._parts = head, [head]
        self._summed = np.ones(head.words, bool)
        if characters is not None:
            self._summed[_COMMON:] = False
            rest = np.array([word for word in characters if word >= _COMMON][:_CHARACTERS], np.intp)
            self._parts = [head.only(slice(_COMMON)), *([head.only(rest)] if len(rest) else [])]
            self._summed[rest] = True

    def log_mass(self, states: Array) -> Array:
        """The logarithm of the sum after each state, without the words that a text says; (states,)."""
        parts = [slice(start, start + _STATES) for start in range(0, len(states), _STATES)]
        return np.concatenate([self._log_mass(states[part]) for part in parts])

    def _log_mass(self, states: Array) -> Array:
        first, *others = (log_sum(head, states) for head in self._parts)
        for other in others:
            first = np.logaddexp(first, other)
        return first

    def with_said(self, mass: Array, states: Array, said: Iterable[int]) -> Array:
        """The same with the words that a text says; (states,)."""
        added = [word for word in sorted(said) if not self._summed[word]]
        return np.logaddexp(mass, log_sum(self.head.only(np.array(added)), states)) if added else mass


def vocabulary_sum(head: LightHead, single_characters: Callable[[], Sequence[int]]) -> VocabularySum:
    """The sum over all words, or over the common ones where that is much quicker."""
    short = isinstance(head, LightInt8Head) and head.words > _LARGE
    return VocabularySum(head, single_characters() if short else None)


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
