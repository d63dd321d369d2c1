"""All evidence of one text side by side: a column for each kind, under the name that its weight has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from mudy.candidates import Candidate
from mudy.methods.mudyplus.evidence.containment import Containment
from mudy.methods.mudyplus.evidence.frequency import nested_frequency, own_frequency
from mudy.methods.mudyplus.evidence.generality import generic
from mudy.methods.mudyplus.evidence.length import one_word, usual_length
from mudy.methods.mudyplus.evidence.noun_phrase import noun_phrase
from mudy.methods.mudyplus.evidence.places import Numbers, Places
from mudy.methods.mudyplus.evidence.plainness import plainness
from mudy.methods.mudyplus.evidence.position import first_position
from mudy.reading.document import Document

COUNTED = (
    "own_frequency",
    "nested_frequency",
    "noun_phrase",
    "one_word",
    "one_word_noun_phrase",
    "usual_length",
    "first_position",
    "generic",
)
PLAIN_PREFIX = "plain_"  # before the name of evidence that counts for more or less in plain language
CHEAP = (*COUNTED, "plain_generic", "plain_own_frequency", "plain_one_word", "similarity", "plain_similarity")
ANSWERS = ("likelihood", "ending", "attention")  # what the language model is asked for
EVIDENCE = (*CHEAP, "likelihood", "ending", "plain_ending", "attention")
CONTEXT = ("words",)

LONG = 400  # words; in shorter texts position, usual length, similarity and attention tell less
UNKNOWN_SIMILARITY = -1.0  # of a phrase that was not encoded: below the middle


@dataclass(frozen=True)
class Table:
    """Columns of evidence, one row a candidate, and what is the same for all of them."""

    columns: Mapping[str, Numbers]
    context: Mapping[str, float]
    plainness: float = 0.0

    def rows(self, names: Sequence[str]) -> Numbers:
        """Some columns as a matrix; (candidates, names)."""
        return np.column_stack([self.columns[name] for name in names])

    def adding(self, **columns: Numbers) -> Table:
        """The table with some columns more, and with each of them as it counts in plain language, if it does."""
        scaled = {PLAIN_PREFIX + name: self.plainness * column for name, column in columns.items()}
        plain = {name: column for name, column in scaled.items() if name in EVIDENCE}
        return Table({**self.columns, **plain, **columns}, self.context, self.plainness)


def counted(document: Document, candidates: Sequence[Candidate], tokenizer: Any) -> Table:
    """The evidence that needs no model; the tokeniser knows which words are common."""
    places = Places.of(document, candidates)
    containment = Containment.of(places)
    words = document.word_count
    whole, single = noun_phrase(document, candidates), one_word(places)
    plain, everyday = plainness(document), generic(places, [each.phrase for each in candidates], tokenizer)
    columns = {
        "own_frequency": own_frequency(places, containment),
        "nested_frequency": nested_frequency(places, containment),
        "noun_phrase": whole,
        "one_word": single,
        "one_word_noun_phrase": whole * single,
        "usual_length": long(words) * usual_length(places, containment),
        "first_position": long(words) * first_position(places),
        "generic": (1 - plain) * everyday,
        "plain_generic": plain * everyday,  # an everyday word may be the subject of a plain text
    }
    return Table({}, {"words": log(max(words, 20) / 200)}, plain).adding(**columns)


def long(words: int) -> float:
    """How much a text is a long one: between 0 and 1."""
    return min(1.0, words / LONG)
