"""A ranking turned towards what somebody looks for: what seeds and a query add to the log-odds of phrases.

A phrase is held against the seeds and the query's own words; and the sentences in which it stands against the query as
a whole, since what answers a question need not share its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mudy.candidates import Candidate
from mudy.methods.mudyplus.evidence.places import Numbers
from mudy.methods.mudyplus.evidence.seeds import seed_similarity
from mudy.reading.document import Document, Span
from mudy.reading.stop_words import stop_words

if TYPE_CHECKING:
    from mudy.engines.encoder import SentenceEncoder

Embed = Callable[[Sequence[str]], Numbers]  # texts -> their vectors; (texts, width)
MOST_PHRASES = 300  # that are held against seeds: those that lead without them
MOST_SENTENCES = 200  # of a text, the first ones, that are held against a query


@dataclass(frozen=True, slots=True)
class Turning:
    """What is looked for, and how much it counts."""

    seeds: tuple[str, ...]
    query: str | None
    weight: float  # log-odds of a cosine of 1 over the mean

    def added(
        self, embed: Embed, document: Document, candidates: Sequence[Candidate], leaders: Sequence[int]
    ) -> list[dict[str, float]]:
        """The contributions to each candidate; those that do not lead count as the farthest of those that do."""
        parts: list[dict[str, float]] = [{} for _ in candidates]
        columns = {}
        if wanted := [*self.seeds, *content_words(self.query or "", document.language)]:
            columns["seeds"] = self._of_phrases(embed, [candidates[row].phrase for row in leaders], wanted)
        if self.query:
            columns["query"] = self._of_sentences(embed, document, [candidates[row] for row in leaders], self.query)
        for name, values in columns.items():
            everywhere = np.full(len(candidates), values.min())
            everywhere[list(leaders)] = values
            for part, value in zip(parts, everywhere.tolist(), strict=True):
                part[name] = value
        return parts

    def read(self, document: Document) -> tuple[Span, ...]:
        """The sentences that are held against the query."""
        return document.sentences[:MOST_SENTENCES] if self.query else ()

    def _of_phrases(self, embed: Embed, phrases: Sequence[str], wanted: Sequence[str]) -> Numbers:
        vectors = embed([*wanted, *phrases])
        return self.weight * seed_similarity(vectors[len(wanted) :], vectors[: len(wanted)])

    def _of_sentences(self, embed: Embed, document: Document, phrases: Sequence[Candidate], query: str) -> Numbers:
        """The mean over the sentences of each phrase, else what is named everywhere would always be near."""
        sentences = [span.of(document.text) for span in self.read(document)]
        vectors = embed([query, *sentences])
        near = self.weight * seed_similarity(vectors[1:], vectors[:1])
        own = [[o.sentence for o in phrase.occurrences if o.sentence < len(near)] for phrase in phrases]
        return np.array([near[places].mean() if places else near.min() for places in own])


def content_words(query: str, language: str) -> list[str]:
    """The words of a question that are no stop words, as one phrase; none where there are no others."""
    stops = stop_words(language)
    words = [word for word in re.findall(r"[\w'-]+", query) if word.lower() not in stops]
    return [" ".join(words)] if words else []


def vectors_alone(encoder: SentenceEncoder, texts: Sequence[str]) -> Numbers:
    """Texts as vectors, each read alone; (texts, width)."""
    rows = [tuple(encoder.read_alone(text)) for text in texts]
    states = encoder.states(rows, pool=lambda state: state.mean(0))
    return np.stack([state.astype(np.float64) for state in states])
