"""Concepts that are near a phrase in meaning, though no label of theirs stands in the text.

A phrase of the text is given the concept whose label has the highest cosine to it, by the sentence encoder, if that
reaches a threshold. The phrase stands in the text; the label does not, and the match says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mudy._support.cancellation import cancellable
from mudy.errors import SettingError
from mudy.vocabularies import Concept, Vocabulary

if TYPE_CHECKING:
    from mudy.engines.encoder import SentenceEncoder

MOST_LABELS = 250_000  # that are encoded
_BLOCK = 4096  # labels encoded or compared at once


class NearConcept(NamedTuple):
    """A concept, and the cosine of its nearest label to a phrase."""

    concept: Concept
    similarity: float


class LabelVectors:
    """The labels of a vocabulary as vectors of one encoder, made once."""

    def __init__(self, encoder: SentenceEncoder, vocabulary: Vocabulary) -> None:
        labels = [(label, concept) for concept in vocabulary.concepts for label in concept.labels]
        if len(labels) > MOST_LABELS:
            raise SettingError(
                f"near compares every phrase with every label, but there are {len(labels):,}; at most {MOST_LABELS:,} "
                "are encoded. Leave out `near`, or take a smaller vocabulary."
            )
        self._encoder, self.vocabulary = encoder, vocabulary
        self._concepts = [concept for _, concept in labels]
        texts = [label for label, _ in labels]
        blocks = [_vectors(encoder, texts[i : i + _BLOCK]) for i in cancellable(range(0, len(texts), _BLOCK))]
        self._vectors = np.concatenate(blocks).astype(np.float16)  # (labels, width)

    def nearest(self, phrases: Sequence[str]) -> list[NearConcept]:
        """The nearest concept of each phrase; of equals the first."""
        vectors = _vectors(self._encoder, phrases)  # (phrases, width)
        best = np.full(len(phrases), -np.inf)
        place = np.zeros(len(phrases), dtype=int)
        for start in cancellable(range(0, len(self._vectors), _BLOCK)):
            cosines = vectors @ self._vectors[start : start + _BLOCK].astype(np.float32).T  # (phrases, block)
            highest = cosines.argmax(axis=1)
            values = cosines[np.arange(len(phrases)), highest]
            better = values > best
            best[better], place[better] = values[better], start + highest[better]
        return [NearConcept(self._concepts[i], round(float(c), 4)) for i, c in zip(place, best, strict=True)]


def _vectors(encoder: SentenceEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    return encoder.embed([text.lower() for text in texts])
