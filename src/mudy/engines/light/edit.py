"""Attention pulled towards a place (Eqs. 5-8), on scores of prompts that follow one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mudy._support.onnx.sessions import Array
from mudy.engines.backbone import Rule, Weighting


@dataclass(frozen=True, slots=True)
class LightEdit:
    """A weighting, applied to the rows of several prompts."""

    weighting: Weighting
    prompts: Sequence[int]  # which prompts of the weighting these are
    owners: NDArray[np.intp]  # (rows,): whose row each is, as an index of `prompts`
    counted: NDArray[np.bool_]  # (rows,): whether its agreement with a token counts

    def touches(self, layer: int, window: int | None) -> bool:
        return self.weighting.touches(layer) and (window is None or self.weighting.sliding)

    def __call__(self, layer: int, scores: Array, first: int, tokens: int) -> None:
        """Edit in place the scores over a text's tokens from `first` on; (kv_heads, groups, rows, first ... tokens)."""
        weights = self.weighting.weights(layer, self.prompts)[:, first:tokens]  # (prompts, tokens)
        text = scores[..., : tokens - first]
        if self.weighting.k:
            eligible = self.weighting.eligible[first:tokens]
            weights = _keep_aligned(weights, self.alignment(text), eligible, self.weighting.k)
        text[...] = reweighted(text, weights[..., self.owners, :], self.weighting.rule)

    def alignment(self, scores: Array) -> Array:
        """How well each token agrees with a prompt's counted rows, per head (Eqs. 5-6); (kv_heads, groups, prompts,
        tokens).
        """
        found = np.zeros((*scores.shape[:2], len(self.prompts), scores.shape[-1]), np.float32)
        for row in np.flatnonzero(self.counted):
            found[:, :, self.owners[row]] += scores[:, :, row]
        return found


def _keep_aligned(weights: Array, aligned: Array, eligible: NDArray[np.bool_], k: int) -> Array:
    """Full weight for the k best-aligned tokens of each head, whatever their distance (Eq. 7)."""
    k = min(k, int(eligible.sum()))
    kept = np.broadcast_to(weights, aligned.shape).copy()
    if k:
        aligned = np.where(eligible, aligned, -np.inf)
        best = np.argpartition(-aligned, k - 1, axis=-1)[..., :k]
        np.put_along_axis(kept, best, np.float32(1), axis=-1)
    return kept


def reweighted(scores: Array, weights: Array, rule: Rule) -> Array:
    """Eq. 8; or, for "post_softmax", attention times the weights, renormalised: log W added before the softmax."""
    if rule == "logit":
        return np.where(scores >= 0, scores * weights, scores * (1 - weights))
    with np.errstate(divide="ignore"):
        return scores + np.log(weights)
