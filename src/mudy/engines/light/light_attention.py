"""Who sees whom: masks of texts and of prompts in blocks of rows, and edits of their scores (Eqs. 5-8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mudy._support.onnx import Array
from mudy.engines.backbone import Rule, Weighting

BLOCK = 64  # rows that are multiplied together
_HIDDEN = np.float32(-np.inf)


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a text or of prompts, and the stretch of tokens that they see."""

    rows: slice
    first: int  # the first token that any of them sees
    stop: int
    mask: Array  # 0 or -inf; (rows, stop - first)


def causal_blocks(length: int, window: int | None) -> Iterator[Block]:
    """The rows of one text: each sees itself and what stands before it, in a sliding layer no more than a window."""
    for start in range(0, length, BLOCK):
        stop, first = min(start + BLOCK, length), 0 if window is None else max(0, start - window + 1)
        row, token = np.arange(start, stop)[:, None], np.arange(first, stop)
        seen = token <= row
        if window is not None:
            seen &= row - token < window
        yield Block(slice(start, stop), first, stop, np.where(seen, np.float32(0), _HIDDEN))


@dataclass(frozen=True, slots=True)
class Branches:
    """Prompts after one text as a forest: prompts that begin alike share their first rows.

    A row sees the remembered tokens of the text, and of the prompts only those from which it branched off.
    """

    ids: list[int]
    parents: list[int]  # the row before each, -1 for the first of a prompt
    depths: list[int]  # rows before each

    def __len__(self) -> int:
        return len(self.ids)

    def ancestors(self) -> NDArray[np.bool_]:
        """Which rows each row sees, itself included; (rows, rows)."""
        seen = np.eye(len(self.ids), dtype=bool)
        for row, parent in enumerate(self.parents):
            if parent >= 0:
                seen[row] |= seen[parent]
        return seen


def branch_blocks(branches: Branches, before: int, window: int | None, whole: bool = False) -> Iterator[Block]:
    """The rows of prompts that follow `before` tokens, which stand ahead of their own among the tokens seen.

    `whole` gives one block of all rows, for an edit that compares the rows of a prompt.
    """
    depths, seen = np.array(branches.depths), branches.ancestors()
    total = before + len(branches)
    position = np.concatenate([np.arange(before), before + depths])
    first = 0 if window is None else max(0, before - window + 1)  # what no row sees is not computed
    step = len(branches) if whole else BLOCK
    for start in range(0, len(branches), step):
        rows = slice(start, min(start + step, len(branches)))
        near = np.concatenate([np.ones((rows.stop - start, before - first), bool), seen[rows]], axis=1)
        if window is not None:
            near &= before + depths[rows, None] - position[first:] < window
        yield Block(rows, first, total, np.where(near, np.float32(0), _HIDDEN))


def grow(paths: Sequence[Sequence[int]], shared: bool = True) -> tuple[Branches, list[list[int]]]:
    """Token sequences as a forest, and in which of its rows each sequence stands.

    With `shared`, equal beginnings are one branch; else each sequence has rows of its own.
    """
    ids: list[int] = []
    parents: list[int] = []
    depths: list[int] = []
    known: dict[tuple[int, int], int] = {}
    places = []
    for path in paths:
        row, place = -1, []
        for depth, token in enumerate(path):
            found = known.get((row, token)) if shared else None
            if found is None:
                found = len(ids)
                ids.append(token)
                parents.append(row)
                depths.append(depth)
                if shared:
                    known[row, token] = found
            place.append(row := found)
        places.append(place)
    return Branches(ids, parents, depths), places


# --- Editing: Eqs. 5-8 -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LightEdit:
    """A weighting, applied to the rows of several prompts."""

    weighting: Weighting
    prompts: Sequence[int]  # which prompts of the weighting these are
    owners: NDArray[np.intp]  # (rows,): whose row each is, as an index of `prompts`
    counted: NDArray[np.bool_]  # (rows,): whether its agreement with a token counts

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
