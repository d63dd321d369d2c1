"""All evidence of one text: a table with a column for each kind, named as its weight, and a row per candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

COUNTED = (
    "own_frequency",
    "nested_frequency",
    "cohesion",
    "first_position",
    "first_mention",
    "in_heading",
    "is_heading",
    "noun_phrase",
    "one_word",
    "one_word_noun_phrase",
    "usual_length",
    "digit",
    "symbol",
    "capitalised",
    "acronym",
    "generic",
    "rare_words",
)
PLAIN_PREFIX = "plain_"  # before the name of evidence that counts for more or less in plain language
ENCODED = ("similarity", "keyphraseness")  # from the sentence encoder
CHEAP = (*COUNTED, "plain_generic", "plain_own_frequency", "plain_one_word", *ENCODED, "plain_similarity")
ANSWERS = ("likelihood", "ending", "attention", "in_context")  # from the language model
EVIDENCE = (*CHEAP, *ANSWERS, "plain_ending")
CONTEXT = ("words",)

LONG = 400  # words; in shorter texts position, usual length, similarity and attention tell less
UNKNOWN_SIMILARITY = -1.0  # of a phrase that was not encoded: below the middle


@dataclass(frozen=True)
class Table:
    """Columns of evidence, one row per candidate, and what is the same for all of them."""

    columns: Mapping[str, Numbers]
    context: Mapping[str, float]
    plainness: float = 0.0

    def rows(self, names: Sequence[str]) -> Numbers:
        """Some columns as a matrix; (candidates, names)."""
        return np.column_stack([self.columns[name] for name in names])

    def adding(self, **columns: Numbers) -> Table:
        """The table with more columns, each also as it counts in plain language, where it does."""
        scaled = {PLAIN_PREFIX + name: self.plainness * column for name, column in columns.items()}
        plain = {name: column for name, column in scaled.items() if name in EVIDENCE}
        return Table({**self.columns, **plain, **columns}, self.context, self.plainness)


def long(words: int) -> float:
    """How long a text is, between 0 and 1."""
    return min(1.0, words / LONG)
