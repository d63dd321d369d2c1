"""Algorithm 1: likelihood with attention pulled towards each occurrence, raised by the attention that it receives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, log1p
from typing import Any, ClassVar, NamedTuple

from mudy.engines import ENCODER_DECODERS
from mudy.engines.interfaces import Encoding, Question, TextRange
from mudy.errors import SettingError
from mudy.methods.chunks import Chunk, scored_in_chunks
from mudy.methods.method import Architecture, ModelField, OccurrenceScore, ScorePart, Scores, Work
from mudy.methods.mudy.settings import PRESETS, RECOMMENDED, SAM_LAYERS, Attention, MudySettings
from mudy.methods.mudy.weighting import Focus, focus
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.stemming import stems_of
from mudy.reading.document import Span

Factors = list[list[float]]  # for each chunk, for each of its occurrences


class Likelihood(NamedTuple):
    """The p of one occurrence, and whether its prompt looked at its place in particular."""

    p: float
    weighted: bool


@dataclass(frozen=True)
class Mudy(MudySettings):
    """Multi-granular dynamic candidate contextualization, Algorithm 1."""

    title = "MUDY"
    citation = "Kang and Yoon, SIGIR 2026"
    needs = ("backbone", "encoder")
    parts = (
        ScorePart("p", "likelihood of the phrase"),
        ScorePart("G", "attention in the whole text"),
        ScorePart("L", "attention in its passage"),
        ScorePart("AS", "attention score"),
        ScorePart("lambda", "weight of attention here", "λ"),
        ScorePart("m", "sections that hold it"),
        ScorePart("weighted", "whether p was computed with weighting (1) or without (0)", "w"),
    )
    presets = PRESETS
    speeds: ClassVar[Mapping[str, Mapping[str, Any]]] = {"fast": {"leaders": 15, "one_reading": True}}
    rescorable = ("lambda_",)  # p, G and L do not depend on it

    @classmethod
    def recommended(cls, architecture: Callable[[], Architecture]) -> Mapping[str, Any]:
        return RECOMMENDED.get(architecture(), {})

    @classmethod
    def needed(cls, settings: Mapping[str, Any], architecture: Callable[[], Architecture]) -> frozenset[ModelField]:
        """An encoder says which candidates are related, if the language model has none of its own."""
        related = settings.get("weighting", cls.weighting) and settings.get("mixture", cls.mixture)
        return frozenset(cls.needs if related and architecture().family not in ENCODER_DECODERS else ("backbone",))

    @property
    def layers(self) -> tuple[int, ...]:
        depth = self.backbone.depth
        layers = self.sam_layers or SAM_LAYERS.get((self.backbone.family, depth), (round(0.55 * depth),))
        if not all(0 <= layer < depth for layer in layers):
            raise SettingError(f"sam_layers is {layers}, but {self.backbone.name} has the layers 0 to {depth - 1}.")
        return layers

    def score_many(self, work: Work) -> list[Scores]:
        every = scored_in_chunks(work, self.backbone, self.section_tokens, self._scored)
        return [
            Scores(recurring(candidates, scores, self.recurrence, document.language), **scores.read)
            for (document, candidates), scores in zip(work, every, strict=True)
        ]

    def _scored(self, chunks: Sequence[Chunk]) -> Iterator[Iterator[OccurrenceScore]]:
        """The score of every occurrence in each chunk; what a model remembers of the texts is gone afterwards."""
        observed = self.layers if self.one_reading and self.attention != "none" else ()
        encodings = self.backbone.encode([chunk.text_range for chunk in chunks], observed)  # once for all occurrences
        g, local = self._attention(chunks, encodings)  # Eqs. 9-10
        p = self._likelihoods(chunks, encodings, g, local)  # Eqs. 1-8
        for chunk, p_chunk, g_chunk, l_chunk in zip(chunks, p, g, local, strict=True):
            yield self._combine(chunk, self.lambda_, p_chunk, g_chunk, l_chunk)  # Eqs. 11-12

    # -- Attention that occurrences receive (Sec. 4.3) ----------------------------------------------------------------

    def _attention(self, chunks: Sequence[Chunk], encodings: Sequence[Encoding]) -> tuple[Factors, Factors]:
        """G and L of every occurrence (Eqs. 9-10).

        A factor that is not asked for is 1. A text of fewer sentences than a window is its own window.
        """
        ones = [[1.0] * len(chunk.places) for chunk in chunks]
        g = ones if self.attention in ("none", "L") else self._globally(chunks, encodings)
        local = ones if self.attention in ("none", "G") else self._locally(chunks)
        for index, chunk in enumerate(chunks):
            if self.attention in ("GxL", "L") and not self._has_windows(chunk):
                whole = g[index] if self.attention == "GxL" else self._globally([chunk], [encodings[index]])[0]
                g[index] = local[index] = normalised(whole)
        return g, local

    def _globally(self, chunks: Sequence[Chunk], encodings: Sequence[Encoding]) -> Factors:
        """Attention within the whole chunk (Eq. 9)."""
        received = [encoding.received for encoding in encodings if encoding.received]
        if not received:
            received = self.backbone.received_attention([chunk.text_range for chunk in chunks], self.layers)
        g = [[at.at(place.span) for place in chunk.places] for chunk, at in zip(chunks, received, strict=True)]
        divided = self.backbone.small_sums if self.normalise_global is None else self.normalise_global
        return [normalised(values) for values in g] if divided else g

    def _locally(self, chunks: Sequence[Chunk]) -> Factors:
        """Attention within the window around each occurrence's sentence, divided by the window's mean (Eq. 10)."""
        windows: dict[tuple[int, Span], list[int]] = defaultdict(list)
        for row, chunk in enumerate(chunks):
            for index, place in enumerate(chunk.places if self._has_windows(chunk) else ()):
                windows[row, chunk.sentences_around(place.span, self.w)].append(index)
        ranges = [TextRange(chunks[row].document.text, window) for row, window in windows]
        every = self.backbone.received_attention(ranges, self.layers)
        scores = [[0.0] * len(chunk.places) for chunk in chunks]
        for ((row, _), inside), received in zip(windows.items(), every, strict=True):
            values = [received.at(chunks[row].places[index].span) for index in inside]
            values = normalised(values) if self.normalise_local else values
            for index, value in zip(inside, values, strict=True):
                scores[row][index] = value
        return scores

    def _has_windows(self, chunk: Chunk) -> bool:
        return len(chunk.units) > 2 * self.w

    # -- Likelihood (Sec. 4.2) ----------------------------------------------------------------------------------------

    def _likelihoods(
        self, chunks: Sequence[Chunk], encodings: Sequence[Encoding], g: Factors, local: Factors
    ) -> list[list[Likelihood]]:
        """The p of every occurrence (Eq. 1), its prompt looking where it should (Eqs. 2-8)."""
        every, unweighted = [range(len(chunk.places)) for chunk in chunks], [None] * len(chunks)
        if not self.weighting:
            return self._prompted(chunks, encodings, every, unweighted)
        focuses = [focus(self, *pair) for pair in zip(chunks, encodings, strict=True)]
        if self.leaders is None:
            return self._prompted(chunks, encodings, every, focuses)
        p = self._prompted(chunks, encodings, every, unweighted)
        leading = [self._leading(*row) for row in zip(chunks, p, g, local, strict=True)]
        weighted = self._prompted(chunks, encodings, leading, focuses)
        for p_chunk, indices, values in zip(p, leading, weighted, strict=True):
            for index, value in zip(indices, values, strict=True):
                p_chunk[index] = value
        return p

    def _prompted(
        self,
        chunks: Sequence[Chunk],
        encodings: Sequence[Encoding],
        chosen: Sequence[Sequence[int]],
        focuses: Sequence[Focus | None],
    ) -> list[list[Likelihood]]:
        """The p of the chosen occurrences of each chunk; without a focus, the prompt sees the text as it is."""
        questions = []
        for chunk, encoding, indices, view in zip(chunks, encodings, chosen, focuses, strict=True):
            phrases = [chunk.places[i].span.of(chunk.document.text) for i in indices]
            questions.append(Question(encoding, phrases, view.only(indices) if view else None))
        answers = zip(self.likelihoods(questions), focuses, strict=True)
        return [[Likelihood(p, view is not None) for p in answer] for answer, view in answers]

    def _leading(self, chunk: Chunk, p: Sequence[Likelihood], g: Sequence[float], local: Sequence[float]) -> list[int]:
        """Occurrences of the phrases that lead a chunk, by the recommended lambda: p depends on no other."""
        shape = Architecture(self.backbone.family, self.backbone.depth)
        lambda_ = self.recommended(lambda: shape).get("lambda_", type(self).lambda_)
        best: dict[int, float] = {}
        for score in self._combine(chunk, lambda_, p, g, local):
            best[score.candidate] = max(score.score, best.get(score.candidate, score.score))
        leaders = set(sorted(best, key=lambda candidate: -best[candidate])[: self.leaders])
        return [index for index, place in enumerate(chunk.places) if place.candidate in leaders]

    def _combine(
        self, chunk: Chunk, lambda_: float, p: Sequence[Likelihood], g: Sequence[float], local: Sequence[float]
    ) -> Iterator[OccurrenceScore]:
        """The likelihood of each occurrence, raised by attention (Eqs. 11-12)."""
        lambda_ = weight_of(len(chunk.document.text.split()), lambda_, self.lambda_words)
        for place, (p_c, weighted), g_c, l_c in zip(chunk.places, p, g, local, strict=True):
            attention = attention_score(g_c, l_c, self.attention, self.as_clip)
            score = final_score(p_c, attention, lambda_, outside=self.lambda_outside)
            parts = {"p": p_c, "G": g_c, "L": l_c, "AS": attention, "lambda": lambda_, "m": 1}
            if self.leaders is not None:  # else every p is made by the same rule
                parts["weighted"] = int(weighted)
            yield OccurrenceScore(place.candidate, place.occurrence, score, parts, chunk.index)


def normalised(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value / mean if mean > 0 else 1.0 for value in values]


# -- The score: a likelihood, raised by attention and by recurrence (Eqs. 11-12) --------------------------------------


def attention_score(g: float, local: float, attention: Attention, clip: float | None) -> float:
    """AS = G L (Eq. 11), or one of its factors, and no more than `clip`."""
    score = {"GxL": g * local, "G": g, "L": local, "none": 0.0}[attention]
    return score if clip is None else min(score, clip)


def weight_of(words: int, lambda_: float, lambda_words: int) -> float:
    """The weight of attention in a text: lambda (words / lambda_words)^2, and no more than lambda. Ours."""
    return lambda_ * min(1.0, words / lambda_words) ** 2 if lambda_words else lambda_


def final_score(p: float, attention: float, lambda_: float, *, outside: bool = False) -> float:
    """FS = p / (1 + log(1 + lambda AS)), Eq. 12; `outside`: 1 + lambda log(1 + AS)."""
    return p / (1 + (lambda_ * log1p(attention) if outside else log1p(lambda_ * attention)))


def recurring(
    candidates: Sequence[Candidate], scores: Sequence[OccurrenceScore], recurrence: float, language: str
) -> Iterator[OccurrenceScore]:
    """Raise phrases that come back: FS / (1 + rho log m), m the chunks with their stems. Ours; of one, it is FS."""
    keys = [stems_of(candidate.phrase, language) for candidate in candidates]
    chunks: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for score in scores:
        chunks[keys[score.candidate]].add(score.section)
    for score in scores:
        m = len(chunks[keys[score.candidate]])
        yield replace(score, score=score.score / (1 + recurrence * log(m)), parts={**score.parts, "m": m})
