"""Semantic precision, recall and F1 with vectors set by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from mudy.evaluation.measures import MACRO, MICRO, Depth, FloatArray, PhraseVectors, Predictions, semantic_kinds

ANGLES = {"car": 0, "automobile": 0, "truck": 60, "river": 90, "anti": 180}


class Angles:
    """An encoder whose vectors lie at known angles."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> FloatArray:
        self.embedded += texts
        radians = np.deg2rad([ANGLES[text] for text in texts])
        return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def predictions(phrases: str, gold: str, name: str = "d") -> Predictions:
    return Predictions(name, phrases.split(), gold.split())


def test_each_phrase_is_worth_its_best_cosine() -> None:
    kinds = semantic_kinds(PhraseVectors(Angles().embed))
    one = predictions("car truck", "automobile river")
    near = np.cos(np.deg2rad(30))  # truck and river
    precision, recall = 100 * (1 + near) / 2, 100 * (1 + near) / 2
    assert (kinds["SemP"] @ 5).of(one) == pytest.approx(precision)
    assert (kinds["SemR"] @ 5).of(one) == pytest.approx(recall)
    assert (kinds["SemP"] @ 1).of(one) == pytest.approx(100)
    assert (kinds["SemR"] @ 1).of(one) == pytest.approx(50)
    assert (kinds["SemF1"] @ 1).of(one) == pytest.approx(2 * 100 * 50 / 150)


def test_opposite_meaning_is_worth_nothing_and_so_is_an_empty_list() -> None:
    measure = semantic_kinds(PhraseVectors(Angles().embed))["SemF1"] @ 5
    assert measure.of(predictions("anti", "car")) == 0
    assert measure.of(predictions("", "car")) == 0


def test_phrases_are_embedded_once_in_lower_case() -> None:
    encoder = Angles()
    kinds = semantic_kinds(PhraseVectors(encoder.embed))
    documents = [predictions("Car car truck", "river", "one"), predictions("car", "River", "two")]
    for kind in kinds.values():
        (kind @ 5)(documents)
    assert sorted(encoder.embedded) == ["car", "river", "truck"]
    assert (kinds["SemP"] @ 2).of(documents[0]) == pytest.approx(100 * np.cos(np.deg2rad(30)) / 2)  # car once


def test_documents_are_pooled_or_averaged() -> None:
    measure = semantic_kinds(PhraseVectors(Angles().embed))["SemP"] @ Depth.RETURNED
    documents = [predictions("car", "car", "one"), predictions("river river truck anti", "car", "two")]
    best = np.cos(np.deg2rad(60))  # truck and car
    assert measure(documents, MACRO) == pytest.approx(100 * (1 + best / 3) / 2)
    assert measure(documents, MICRO) == pytest.approx(100 * (1 + best) / 4)
