"""G and L: the attention that an occurrence receives in the text and in a window around it (Sec. 4.3). The score."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, log1p

from mudy.candidates import Candidate
from mudy.candidates.stemming import stems_of
from mudy.engines.backbone import Backbone, Encoding, TextRange
from mudy.errors import SettingError
from mudy.methods.chunks import DocumentChunk
from mudy.methods.method import OccurrenceScore
from mudy.methods.mudy.settings import SAM_LAYERS, Attention, AttentionSettings
from mudy.reading.document import Span

Factors = list[list[float]]  # for each chunk, for each of its occurrences


@dataclass(frozen=True)
class MultiGranularAttention:
    """The attention received by occurrences, as the settings ask for it."""

    settings: AttentionSettings
    backbone: Backbone

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers whose attention is observed."""
        depth = self.backbone.depth
        default = SAM_LAYERS.get((self.backbone.family, depth), (round(0.55 * depth),))
        layers = self.settings.sam_layers or default
        if not all(0 <= layer < depth for layer in layers):
            raise SettingError(f"sam_layers is {layers}, but {self.backbone.name} has the layers 0 to {depth - 1}.")
        return layers

    def factors(self, batch: Sequence[DocumentChunk], encodings: Sequence[Encoding]) -> tuple[Factors, Factors]:
        """G and L of every occurrence (Eqs. 9-10).

        A factor that is not asked for is 1. A text of fewer sentences than a window is its own window.
        """
        attention = self.settings.attention
        ones = [[1.0] * len(chunk.places) for chunk in batch]
        g = ones if attention in ("none", "L") else self.globally(batch, encodings)
        local = ones if attention in ("none", "G") else self.locally(batch)
        for index, chunk in enumerate(batch):
            if attention in ("GxL", "L") and not self._has_windows(chunk):
                whole = g[index] if attention == "GxL" else self.globally([chunk], [encodings[index]])[0]
                g[index] = local[index] = normalised(whole)
        return g, local

    def globally(self, batch: Sequence[DocumentChunk], encodings: Sequence[Encoding]) -> Factors:
        """Attention within the whole chunk (Eq. 9)."""
        received = [encoding.received for encoding in encodings if encoding.received]
        if not received:
            received = self.backbone.received_attention([chunk.text_range for chunk in batch], self.layers)
        g = [[at.at(place.span) for place in chunk.places] for chunk, at in zip(batch, received, strict=True)]
        divided = self.settings.normalise_global
        divided = self.backbone.small_sums if divided is None else divided
        return [normalised(values) if divided else values for values in g]

    def locally(self, batch: Sequence[DocumentChunk]) -> Factors:
        """Attention within the window around each occurrence's sentence, divided by the window's mean (Eq. 10)."""
        windows: dict[tuple[int, Span], list[int]] = defaultdict(list)
        for row, chunk in enumerate(batch):
            for index, place in enumerate(chunk.places if self._has_windows(chunk) else ()):
                windows[row, sentences_around(chunk.chunk.units, place.span, self.settings.w)].append(index)
        ranges = [TextRange(batch[row].text, window) for row, window in windows]
        every = self.backbone.received_attention(ranges, self.layers)
        scores = [[0.0] * len(chunk.places) for chunk in batch]
        for ((row, _), inside), received in zip(windows.items(), every, strict=True):
            values = [received.at(batch[row].places[index].span) for index in inside]
            values = normalised(values) if self.settings.normalise_local else values
            for index, value in zip(inside, values, strict=True):
                scores[row][index] = value
        return scores

    def _has_windows(self, chunk: DocumentChunk) -> bool:
        return len(chunk.chunk.units) > 2 * self.settings.w


def normalised(values: Sequence[float]) -> list[float]:
    """Divided by their mean."""
    mean = sum(values) / len(values)
    return [value / mean if mean > 0 else 1.0 for value in values]


def sentences_around(units: Sequence[Span], span: Span, w: int) -> Span:
    """The window of 2w+1 sentences around the one that holds a span; at the edges, the first or last such window."""
    last = len(units) - 1
    centre = max(0, bisect_right(units, span.start, key=lambda unit: unit.start) - 1)
    centre = min(max(centre, w), max(last - w, w))
    return Span(units[centre - w].start, units[min(centre + w, last)].end)


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
    candidates: Sequence[Candidate], scores: Sequence[OccurrenceScore], recurrence: float, language: str = "en"
) -> list[OccurrenceScore]:
    """Raise phrases that come back: FS / (1 + rho log m), m the number of chunks that hold the phrase's stems.

    Ours. In a text of one chunk m is 1 and nothing changes, so the paper's equations stand.
    """
    keys = [stems_of(candidate.phrase, language) for candidate in candidates]
    chunks: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for score in scores:
        chunks[keys[score.candidate]].add(score.section)
    counts = [len(chunks[keys[score.candidate]]) for score in scores]
    return [
        replace(score, score=score.score / (1 + recurrence * log(m)), parts={**score.parts, "m": m})
        for score, m in zip(scores, counts, strict=True)
    ]
