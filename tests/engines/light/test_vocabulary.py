"""Sums over a vocabulary: over all its words, or over the common ones and those that a text says."""

import numpy as np
import pytest

from mudy._support.onnx import Array, ThreadMap
from mudy.engines.light import decoder
from mudy.engines.light.decoder import LightHead, VocabularySum
from mudy.engines.light.weights import MIDDLE, Table, round_rows, row_scales

WORDS, WIDTH = 300, 16


@pytest.fixture
def head() -> LightHead:
    weights = np.random.default_rng(1).normal(size=(WORDS, WIDTH)).astype(np.float32)
    rounded = (round_rows(weights).astype(np.int16) + MIDDLE).astype(np.uint8)
    return LightHead(Table(rounded, row_scales(weights)), ThreadMap(1))


@pytest.fixture
def states() -> Array:
    return np.random.default_rng(2).normal(size=(5, WIDTH)).astype(np.float32)


def summed(head: LightHead, states: Array, words: list[int]) -> Array:
    """The plain sum over some words."""
    logits = np.stack([head.logit(states, np.full(len(states), word)) for word in words])
    found: Array = np.log(np.exp(logits).sum(0))
    return found


def test_a_small_vocabulary_is_summed_up_whole(head: LightHead, states: Array) -> None:
    found = VocabularySum(head, list).log_mass(states)
    np.testing.assert_allclose(found, summed(head, states, list(range(WORDS))), atol=1e-5)


def test_of_a_large_one_common_words_common_characters_and_words_said_are_counted_once(
    head: LightHead, states: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder, "_LARGE", 100)
    monkeypatch.setattr(decoder, "_COMMON", 40)
    monkeypatch.setattr(decoder, "_CHARACTERS", 2)
    sums = VocabularySum(head, lambda: [7, 200, 201, 202])
    np.testing.assert_allclose(sums.log_mass(states), summed(head, states, [*range(40), 200, 201]), atol=1e-5)
    with_said = sums.with_said(sums.log_mass(states), states, {3, 200, 250})
    np.testing.assert_allclose(with_said, summed(head, states, [*range(40), 200, 201, 250]), atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_sum_does_not_depend_on_the_states_beside_it(count: int, head: LightHead, states: Array) -> None:
    sums = VocabularySum(head)
    np.testing.assert_array_equal(sums.log_mass(states)[:count], sums.log_mass(states[:count]))


def test_a_sum_does_not_depend_on_how_many_threads_add_it_up(
    head: LightHead, states: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder, "_WORDS", 32)
    threaded = LightHead(head.table, ThreadMap(3))
    np.testing.assert_array_equal(VocabularySum(head).log_mass(states), VocabularySum(threaded).log_mass(states))
