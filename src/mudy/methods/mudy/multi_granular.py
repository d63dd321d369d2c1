"""G and L: how much attention an occurrence receives in the whole text and in the window around it (Sec. 4.3)."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mudy.engines.backbone import Backbone, Encoding, TextRange
from mudy.errors import SettingError
from mudy.methods.chunks import DocumentChunk
from mudy.methods.mudy.presets import SAM_LAYERS
from mudy.methods.mudy.settings import AttentionSettings
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
