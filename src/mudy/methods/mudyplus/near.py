"""Evidence from a sentence encoder: how similar phrases are to their text, to seeds and to a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mudy.candidates import Candidate
from mudy.methods.mudyplus.evidence_table import Numbers
from mudy.reading.document import Document, Span
from mudy.reading.stop_words import stop_words

if TYPE_CHECKING:
    from mudy.engines.encoder import SentenceEncoder
    from mudy.engines.universal_encoder import UniversalEncoder

Embed = Callable[[Sequence[str]], Numbers]  # texts -> their vectors; (texts, width)
FLAT = 1e-6  # a deviation below is float noise
MOST_PHRASES = 300  # that are compared with seeds: those that lead without them
MOST_SENTENCES = 200  # of a text, the first ones, that are compared with a query


# -- Similarity to the text -------------------------------------------------------------------------------------------


def similarity(phrases: Numbers, document: Numbers) -> Numbers:
    """Cosines of phrases and document, as in EmbedRank, brought to mean 0 and deviation 1; equal ones become 0.

    `phrases` are vectors (phrases, width), `document` is one (width,).
    """
    norms = np.linalg.norm(phrases, axis=1) * np.linalg.norm(document)
    cosines = phrases @ document / np.maximum(norms, 1e-12)
    deviation = cosines.std()
    return np.asarray((cosines - cosines.mean()) / deviation if deviation > FLAT else np.zeros_like(cosines))


def similarities(encoder: SentenceEncoder, texts: Sequence[tuple[str, Sequence[str]]]) -> list[Numbers]:
    """The similarity of phrases to their text, of which one window of the encoder is read; for each text.

    A phrase that several texts share is read once.
    """
    rows = [tuple(encoder.read_alone(text)) for text, _ in texts]
    alone = [[tuple(encoder.read_alone(phrase)) for phrase in phrases] for _, phrases in texts]
    distinct = list(dict.fromkeys([*rows, *(row for phrases in alone for row in phrases)]))
    vectors = dict(zip(distinct, _means(encoder, distinct), strict=True))
    return [
        similarity(np.stack([vectors[row] for row in phrases]), vectors[text])
        for text, phrases in zip(rows, alone, strict=True)
    ]


def multilingual_similarity(encoder: SentenceEncoder | UniversalEncoder, text: str, phrases: Sequence[str]) -> Numbers:
    """The similarity of phrases to a text in another language than English."""
    of_text, *of_phrases = encoder.embed([text, *phrases]).astype(np.float64)
    return similarity(np.stack(of_phrases), of_text)


def vectors_alone(encoder: SentenceEncoder, texts: Sequence[str]) -> Numbers:
    """Texts as vectors, each read alone; (texts, width)."""
    return np.stack(_means(encoder, [tuple(encoder.read_alone(text)) for text in texts]))


def _means(encoder: SentenceEncoder, rows: Sequence[tuple[int, ...]]) -> list[Numbers]:
    return [state.astype(np.float64) for state in encoder.states(rows, pool=lambda state: state.mean(0))]


# -- Similarity to seeds and a query ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Steering:
    """Steers a ranking towards seeds, which are phrases, and a query: what they add to the log-odds of phrases.

    Phrases are compared with the seeds and the query's content words, and the sentences of a phrase with the query as a
    whole, since what answers a question need not share its words.
    """

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
        """The sentences that are compared with the query."""
        return document.sentences[:MOST_SENTENCES] if self.query else ()

    def _of_phrases(self, embed: Embed, phrases: Sequence[str], wanted: Sequence[str]) -> Numbers:
        vectors = embed([*wanted, *phrases])
        return self.weight * seed_similarity(vectors[len(wanted) :], vectors[: len(wanted)])

    def _of_sentences(self, embed: Embed, document: Document, phrases: Sequence[Candidate], query: str) -> Numbers:
        """The mean over the sentences of each phrase, or else what is mentioned everywhere would always be near."""
        vectors = embed([query, *(span.of(document.text) for span in self.read(document))])
        near = self.weight * seed_similarity(vectors[1:], vectors[:1])
        sentences = [[o.sentence for o in phrase.occurrences if o.sentence < len(near)] for phrase in phrases]
        return np.array([near[rows].mean() if rows else near.min() for rows in sentences])


def seed_similarity(phrases: Numbers, seeds: Numbers) -> Numbers:
    """The highest cosine of each phrase to a seed, less the mean over the phrases.

    `phrases` are vectors (phrases, width), `seeds` too (seeds, width). Where nothing is near, all are about 0: a text
    unrelated to the seeds keeps its ranking.
    """
    best = (_unit(phrases) @ _unit(seeds).T).max(axis=1)  # (phrases, seeds) -> (phrases,)
    return np.asarray(best - best.mean())


def _unit(vectors: Numbers) -> Numbers:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def content_words(query: str, language: str) -> list[str]:
    """The words of a question that are not stop words, as one phrase; none if there are no others."""
    stops = stop_words(language)
    words = [word for word in re.findall(r"[\w'-]+", query) if word.lower() not in stops]
    return [" ".join(words)] if words else []
