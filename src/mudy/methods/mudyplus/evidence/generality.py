"""How little a word says by itself: "people", "time" and "water" stand in every text.

No list of words is needed: the vocabulary of a tokeniser is one, numbered from common to rare. Where an everyday word
is the subject the text repeats it, so the evidence fades with every place and is gone at sixty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mudy.methods.mudyplus.evidence.places import Numbers, Places

COMMON, RARE = 2_200, 10_000  # ranks: up to the first a word is everyday, from the second on it is not
UNKNOWN = 30_000  # rank of a word that is cut into pieces
ENOUGH = 60  # places at which a word is taken for a subject


def generic(places: Places, phrases: Sequence[str], tokenizer: Any) -> Numbers:
    """Between 0 and 1: sees a single everyday word that is named a few times."""
    fading: Numbers = np.maximum(0.0, 1 - np.log(places.counts) / np.log(ENOUGH))
    found: Numbers = np.zeros(len(phrases))
    single = np.flatnonzero(places.lengths == 1).tolist()
    found[single] = everyday(word_ranks(tokenizer, [phrases[row] for row in single]))
    found *= fading
    return found


def everyday(ranks: Numbers) -> Numbers:
    """1 for the commonest words, 0 for rare ones, between them by the logarithm of the rank."""
    found: Numbers = np.clip(np.log(RARE / ranks) / np.log(RARE / COMMON), 0.0, 1.0)
    return found


def word_ranks(tokenizer: Any, words: Sequence[str]) -> Numbers:
    """The place of each word in the tokeniser's vocabulary."""
    if not words:
        return np.zeros(0)
    pieces = tokenizer([word.lower() for word in words], add_special_tokens=False)["input_ids"]
    return np.array([ids[0] if len(ids) == 1 else UNKNOWN for ids in pieces], dtype=np.float64).clip(1, UNKNOWN)
