"""Observers for methods that ask more of attention than the sums over all heads, in blocks of rows.

Each fills `sums`, layer by layer, with what its method adds up; no (heads, tokens, tokens) map is ever held.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mudy.engines.backbone import Floats, Maps


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadObserver:
    """One head: what each token receives (G), and its share of what others receive (P), as SAMRank has it.

    `sums` holds G, `shares` P.
    """

    layers: frozenset[int]
    head: int
    without: int | None  # a token whose G is set to 0 before it is shared out
    sums: dict[int, Floats] = field(default_factory=dict)  # layer -> (tokens,)
    shares: dict[int, Floats] = field(default_factory=dict)

    def see(self, layer: int, maps: Maps) -> None:
        columns = np.sum([part[0].sum(0) for _, part in maps(self.head)], axis=0)
        received = columns.copy()  # (tokens,)
        if self.without is not None:
            received[self.without] = 0
        weights = received / (received * columns + 1e-10)  # B_ij = A_ij G_j over its column's sum, but for A_ij
        self.shares[layer] = np.concatenate([part[0] @ weights for _, part in maps(self.head)])
        self.sums[layer] = received


@dataclass(frozen=True, slots=True, kw_only=True)
class SeekingObserver:
    """Sums R (s^T A) over heads, s the relevance of candidate rows and R its mean (Attention-Seeker, short)."""

    layers: frozenset[int]
    chosen: Floats  # (tokens,): 1 for tokens of candidates; other rows do not count
    relevance: Floats  # (tokens,): how much it counts to look at each token
    sums: dict[int, Floats] = field(default_factory=dict)

    def see(self, layer: int, maps: Maps) -> None:
        total: Floats = np.zeros((1, len(self.chosen)), np.float32)
        mean: Floats = np.zeros(1, np.float32)
        for rows, part in maps():
            s: Floats = (part @ self.relevance) * self.chosen[rows]  # (heads, rows)
            mean = mean + s.sum(1)  # (heads,)
            total = total + (s[:, None] @ part)[:, 0]  # (heads, tokens)
        self.sums[layer] = mean @ total / np.float32(len(self.chosen))


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceObserver:
    """Sums R A over heads and rows, R the mean attention to candidates (Attention-Seeker, long).

    `means` holds the mean of R over heads.
    """

    layers: frozenset[int]
    chosen: Floats  # (tokens,): 1 for tokens of candidates
    sums: dict[int, Floats] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)  # layer -> mean

    def see(self, layer: int, maps: Maps) -> None:
        columns = np.sum([part.sum(1) for _, part in maps()], axis=0)  # (heads, tokens)
        relevance = columns @ self.chosen / np.float32(len(self.chosen))  # (heads,)
        self.means[layer] = float(relevance.mean())
        self.sums[layer] = relevance @ columns
