"""Where a prompt should look: a Gaussian around its occurrence, mixed with the places of related ones (Eqs. 2-4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mudy.engines.interfaces import Encoding, Floats, Weighting, unit_length
from mudy.errors import SettingError
from mudy.methods.chunks import Chunk
from mudy.reading.candidates.stemming import stems_of

if TYPE_CHECKING:
    from mudy.methods.mudy.algorithm import Mudy

Flags = NDArray[np.bool_]


def gaussian(distance: Floats, sigma: float) -> Floats:
    """exp(-d^2 / 2 sigma^2): 1 at the place itself (Eq. 2)."""
    return np.asarray(np.exp(-(distance**2) / (2 * sigma**2)))


@dataclass(frozen=True, kw_only=True)
class Focus(Weighting):
    """How strongly the prompt of each occurrence should look at each token of the document (Eqs. 2-4)."""

    settings: Mudy
    depth: int  # layers of the decoder
    centre: Floats  # (occurrences,): the middle token of each
    inside: Flags  # (occurrences, tokens): which tokens are the occurrence itself
    related: Floats  # (occurrences, k_sem): middle tokens of the most similar occurrences, nan where there are fewer
    sink: Flags  # (tokens,): tokens that always keep full weight

    def only(self, prompts: Sequence[int]) -> Focus:
        """The same for some of the occurrences."""
        chosen = list(prompts)
        return replace(self, centre=self.centre[chosen], inside=self.inside[chosen], related=self.related[chosen])

    def touches(self, layer: int) -> bool:
        low, high = self.settings.weighted_layers
        return low * self.depth <= layer < high * self.depth

    def weights(self, layer: int, prompts: Sequence[int]) -> Floats:
        settings, chosen = self.settings, list(prompts)
        own = self._own(self.spread(layer), chosen)
        weights = own if not settings.mixture else self._mixture(own, chosen)
        weights = settings.least_weight + (1 - settings.least_weight) * weights
        return np.where(self.sink, np.float32(1), weights)

    def spread(self, layer: int) -> float:
        """sigma_l = sigma_0 + kappa l: narrow in the lowest layer, wider in each one above it."""
        spread, cap = self.settings.sigma + self.settings.kappa * layer, self.settings.sigma_cap
        return spread if cap is None else min(spread, cap)

    def _own(self, sigma: float, prompts: list[int]) -> Floats:
        """A Gaussian around the occurrence, 1 on all of its tokens (Eq. 2)."""
        distance = (self._positions - self.centre[prompts, None]) / self.settings.unit
        return np.where(self.inside[prompts], np.float32(1), gaussian(distance, sigma))  # (prompts, tokens)

    def _mixture(self, own: Floats, prompts: list[int]) -> Floats:
        """Add the places of related candidates; divide by the largest weight, and drop what is small (Eqs. 3-4)."""
        settings = self.settings
        total = settings.pi * own
        for rank, sigma in enumerate(settings.sigma_related):
            distance = (self._positions - self.related[prompts, rank, None]) / settings.unit
            total = total + settings.pi_related * np.nan_to_num(gaussian(distance, sigma))
        total = total / total.max(1, keepdims=True)
        total = np.where(total < settings.mixture_floor, np.float32(0), total)
        return np.where(self.eligible, total, own)

    @property
    def _positions(self) -> Floats:
        return np.arange(self.inside.shape[1], dtype=np.float32)


def focus(mudy: Mudy, chunk: Chunk, encoding: Encoding) -> Focus:
    """Where the prompt of each of a chunk's occurrences should look."""
    tokens, backbone = encoding.tokens, mudy.backbone
    spans = [tokens.of(place.span) for place in chunk.places]
    inside = np.zeros((len(spans), len(tokens)), bool)
    for row, span in zip(inside, spans, strict=True):
        row[span.start : span.stop] = True
    related = np.full((len(spans), len(mudy.sigma_related)), np.nan, np.float32)
    if mudy.mixture:
        vectors = span_vectors(mudy, chunk, encoding)
        for row, others in zip(related, most_similar(vectors, chunk, len(mudy.sigma_related)), strict=True):
            row[: len(others)] = [(spans[i][0] + spans[i][-1]) // 2 for i in others]
    eligible, sink = np.ones(len(tokens), bool), np.zeros(len(tokens), bool)
    if mudy.ignore_blank_piece:
        eligible[backbone.blank_pieces(tokens)] = False
    if mudy.keep_sink and backbone.sink_token is not None:
        sink[backbone.sink_token] = True
    return Focus(
        settings=mudy,
        rule=mudy.rule or backbone.default_rule,
        k=mudy.k_attn,
        sliding=mudy.weight_sliding,
        aligned_rows=mudy.aligned_rows,
        depth=backbone.prompt_depth,
        centre=np.array([round((s[0] + s[-1]) / 2) for s in spans], np.float32),
        inside=inside,
        related=related,
        eligible=eligible,
        sink=sink,
    )


# -- Related occurrences ----------------------------------------------------------------------------------------------


def span_vectors(mudy: Mudy, chunk: Chunk, encoding: Encoding) -> Floats:
    """A vector for each occurrence: of the language model's own encoder, or else of the sentence encoder."""
    spans = [place.span for place in chunk.places]
    if (states := mudy.backbone.span_states(encoding, spans)) is not None:
        return states
    if mudy.encoder is None:
        raise SettingError(
            f"The mixture needs embeddings, but {mudy.backbone.name} has no encoder: pass encoder or mixture=False."
        )
    return mudy.encoder.span_states(chunk.document.text, spans, [chunk.sentences_around(s, 0) for s in spans])


def most_similar(vectors: Floats, chunk: Chunk, k_sem: int) -> list[tuple[int, ...]]:
    """The k_sem most similar occurrences to each one, as indices, of candidates that share no stem with it."""
    vectors = unit_length(vectors)
    phrases = [chunk.candidates[place.candidate].phrase for place in chunk.places]
    stems = [set(stems_of(phrase, chunk.document.language)) for phrase in phrases]
    others = np.array([[one.isdisjoint(other) for other in stems] for one in stems])  # (occurrences, occurrences)
    similarity = np.where(others, vectors @ vectors.T, -np.inf)
    best = np.argsort(-similarity, axis=1, kind="stable")[:, :k_sem]  # of equals, the earlier one
    return [tuple(i for i in row if others[own, i]) for own, row in enumerate(best.tolist())]
