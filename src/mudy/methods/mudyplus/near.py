"""Evidence from a sentence encoder: keyphraseness, and how similar phrases are to their text, to one another, to seeds
and a query.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from heapq import heapify, heappop, heappush
from importlib.resources import files
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from mudy._support.storage import dump_json
from mudy.methods.mudyplus.evidence import Numbers
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document, Span
from mudy.reading.languages import stop_words

if TYPE_CHECKING:
    from mudy.engines.interfaces import SentenceEncoder

Embed = Callable[[Sequence[str]], Numbers]  # texts -> their vectors; (texts, width)
Pair = tuple[int, int, float]  # two rows, and how much nearer than ALIKE they are
FLAT = 1e-6  # a deviation below is float noise
SHORT = 200  # words that one window may have if they are the whole text
WINDOW = 150  # words at most of a window of a longer text
NEAREST = 3  # windows that a phrase is compared with
ALIKE = 0.5  # cosine from which two phrases may mean the same
MOST_PHRASES = 300  # that are compared with seeds: those that lead without them
MOST_SENTENCES = 200  # of a text, the first ones, that are compared with a query


# -- Similarity to the text -------------------------------------------------------------------------------------------


def windows(document: Document) -> list[Span]:
    """All of a text in windows of at most WINDOW words; a heading begins a new one, unless the one before is short.

    A short rest joins the last window. A text that fits into one window of SHORT words is not cut.
    """
    spans = document.word_spans
    if len(spans) <= SHORT:
        return [Span(0, spans[-1].end)] if spans else []
    starts = [span.start for span in spans]
    cuts, last = [0], 0
    for heading in [*(bisect_left(starts, heading.start) for heading in document.headings), len(spans)]:
        if heading - last >= WINDOW // 2:
            parts = ceil((heading - last) / WINDOW)
            cuts += [last + round(part * (heading - last) / parts) for part in range(1, parts + 1)]
            last = heading
    cuts[-1] = len(spans)
    return [Span(spans[start].start, spans[end - 1].end) for start, end in pairwise(cuts)]


@dataclass(frozen=True)
class WindowCosines:
    """How similar the leading phrases of a text are to each of its windows."""

    rows: Sequence[int]  # the candidates that were encoded
    windows: Sequence[Span]
    cosines: Numbers  # (rows, windows)

    @classmethod
    def of(cls, rows: Sequence[int], windows: Sequence[Span], phrases: Numbers, texts: Numbers) -> WindowCosines:
        """From the vectors of phrases and windows."""
        return cls(rows, windows, unit_vectors(phrases) @ unit_vectors(texts).T)

    @cached_property
    def similarity(self) -> Numbers:
        """The mean of each phrase's cosines to its nearest windows, brought to mean 0 and deviation 1.

        With one window, as in EmbedRank; with many, a phrase may matter in a few of them alone.
        """
        return self._scaled(self._nearest)

    @cached_property
    def _nearest(self) -> Numbers:
        return np.asarray(np.sort(self.cosines, axis=1)[:, -NEAREST:].mean(axis=1))

    def _scaled(self, values: Numbers) -> Numbers:
        """Cosines in the units of `similarity`; 0 where all phrases are equally similar."""
        nearest = self._nearest
        deviation = nearest.std()
        return np.asarray((values - nearest.mean()) / deviation if deviation > FLAT else np.zeros_like(values))

    def __contains__(self, row: int) -> bool:
        place = bisect_left(self.rows, row)
        return place < len(self.rows) and self.rows[place] == row

    def at(self, row: int, positions: Sequence[int]) -> Numbers:
        """The similarity of one encoded phrase to the windows in which it occurs."""
        starts = [window.start for window in self.windows]
        held = [max(0, bisect_right(starts, position) - 1) for position in positions]
        return self._scaled(self.cosines[bisect_left(self.rows, row), held])


# -- Similarity to other phrases ---------------------------------------------------------------------------------------


def alike(rows: Sequence[int], stems: Sequence[Set[str]], vectors: Numbers) -> tuple[Pair, ...]:
    """The pairs of phrases with similar vectors, but for those of which one has all words of the other.

    A list tells the latter apart by their words.
    """
    units = unit_vectors(vectors)
    cosines = np.einsum("ik,jk->ij", units, units)  # not @, which wakes the threads of a BLAS
    excess = np.round(np.triu(cosines, 1) - ALIKE, 6)
    return tuple(
        (rows[i], rows[j], float(excess[i, j]))
        for i, j in np.argwhere(excess > 0).tolist()
        if not (stems[i] <= stems[j] or stems[j] <= stems[i])
    )


def repeated(values: Numbers, pairs: Sequence[Pair], weight: float) -> Numbers:
    """What phrases lose because they mean nearly the same as one with a higher value, after what that one lost itself.

    The highest value is settled first; then the next highest, less what the settled ones take from it.
    """
    lost: Numbers = np.zeros(len(values))
    if not weight:
        return lost
    near: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for first, second, excess in pairs:
        near[first].append((second, excess))
        near[second].append((first, excess))
    left = [
        (-round(float(values[row]), 9), row) for row in near
    ]  # a heap: the highest value first, of equals the first
    heapify(left)
    settled: set[int] = set()
    while left:
        value, row = heappop(left)
        now = -round(float(values[row] - lost[row]), 9)
        if row in settled or value != now:  # it fell since
            continue
        settled.add(row)
        for other, excess in near[row]:
            if other not in settled and weight * excess > lost[other]:
                lost[other] = weight * excess
                heappush(left, (-round(float(values[other] - lost[other]), 9), other))
    return lost


# -- Keyphraseness ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Keyphraseness:
    """How much a phrase means what keyphrases of other documents mean, whatever its text: a direction of the encoder.

    "irregular time series" is far along it, "second example" is not. The direction was fitted on documents with gold
    keyphrases, beside the evidence that needs no language model, so that it says what that evidence does not.
    """

    languages: frozenset[str]  # that the encoder knows
    direction: Numbers  # (width,)
    offset: float  # what the phrases that it was fitted on have on average

    def of(self, phrases: Numbers) -> Numbers:
        """One number per vector; about 0 for a phrase that says nothing either way."""
        return np.asarray(phrases @ self.direction - self.offset)


def keyphraseness_for(model: str, language: str, width: int) -> Keyphraseness | None:
    """The direction that was fitted for a model, if there is one for the language and its vectors are so wide."""
    known = _directions().get(model)
    usable = known is not None and language in known.languages and len(known.direction) == width
    return known if usable else None


def directions_hash() -> str:
    """The same as long as the directions are."""
    numbers = {model: [known.offset, *known.direction.tolist()] for model, known in _directions().items()}
    return sha256(dump_json(numbers).encode()).hexdigest()[:12]


@cache
def _directions() -> dict[str, Keyphraseness]:
    """By model: of the encoders, and of the language model's states in context."""
    folder = files("mudy.methods.mudyplus") / "fitted"
    return {
        model: Keyphraseness(frozenset(row["languages"]), np.array(row["direction"]), row["offset"])
        for name in ("keyphraseness", "keyphraseness_in_context")
        for model, row in json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["directions"].items()
    }


# -- Vectors ----------------------------------------------------------------------------------------------------------


def vectors_of(embed: Embed, texts: Sequence[Sequence[str]]) -> list[Numbers]:
    """The vectors of several rows of texts; what several of them share is read once."""
    distinct = list(dict.fromkeys(text for row in texts for text in row))
    vectors = dict(zip(distinct, embed(distinct), strict=True)) if distinct else {}
    return [np.stack([vectors[text] for text in row]) for row in texts]


def vectors_alone(encoder: SentenceEncoder, texts: Sequence[str]) -> Numbers:
    """Texts as vectors, each read alone; (texts, width)."""
    rows = [tuple(encoder.read_alone(text)) for text in texts]
    return np.stack([state.astype(np.float64) for state in encoder.states(rows, pool=lambda state: state.mean(0))])


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
    best = (unit_vectors(phrases) @ unit_vectors(seeds).T).max(axis=1)  # (phrases, seeds) -> (phrases,)
    return np.asarray(best - best.mean())


def unit_vectors(vectors: Numbers) -> Numbers:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def content_words(query: str, language: str) -> list[str]:
    """The words of a question that are not stop words, as one phrase; none if there are no others."""
    stops = stop_words(language)
    words = [word for word in re.findall(r"[\w'-]+", query) if word.lower() not in stops]
    return [" ".join(words)] if words else []
