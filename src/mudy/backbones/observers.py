"""Observers for methods that ask more of attention than the sums over all heads, in blocks of rows.

Each fills `sums`, layer by layer, with what its method adds up; no (heads, tokens, tokens) map is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from mudy.backbones.attention import Call, Observer, probabilities
from mudy.backbones.backbone import Backbone

_BLOCK = 256  # rows


def everyone(tokens: int, backbone: Backbone) -> Tensor:
    """All rows of one text, as an observer wants them; (1, tokens)."""
    return torch.ones(1, tokens, device=backbone.device)


@dataclass(slots=True, kw_only=True)
class HeadObserver(Observer):
    """One head: what each token receives (G), and its share of what others receive (P), as SAMRank has it.

    `sums` holds G, `shares` P.
    """

    head: int
    without: int | None  # a token whose G is set to 0 before it is shared out
    shares: dict[int, Tensor] = field(default_factory=dict)  # layer -> (1, tokens)

    def _received(self, call: Call, block: int = _BLOCK) -> Tensor:
        one = one_head(call, self.head)
        columns = torch.stack([part.sum(2)[:, 0] for _, part in maps(one, block)]).sum(0)
        received = columns.clone()  # (1, tokens)
        if self.without is not None:
            received[:, self.without] = 0
        weights = received / (received * columns + 1e-10)  # B_ij = A_ij G_j over its column's sum, but for A_ij
        self.shares[call.layer] = torch.cat([part[:, 0] @ weights[0] for _, part in maps(one, block)], dim=1)
        return received


@dataclass(slots=True, kw_only=True)
class SeekingObserver(Observer):
    """Sums R (s^T A) over heads, s the relevance of candidate rows and R its mean (Attention-Seeker, short)."""

    chosen: Tensor  # (tokens,): 1 for tokens of candidates; other rows do not count
    relevance: Tensor  # (tokens,): how much it counts to look at each token

    def _received(self, call: Call, block: int = _BLOCK) -> Tensor:
        heads, tokens = call.query.shape[1], len(self.chosen)
        total = torch.zeros(heads, tokens, device=self.chosen.device)
        mean = torch.zeros(heads, device=self.chosen.device)
        for rows, part in maps(call, block):
            s = (part[0] @ self.relevance) * self.chosen[rows]  # (heads, rows)
            mean += s.sum(1) / tokens
            total += (s[:, None] @ part[0])[:, 0]
        return (mean @ total)[None]  # (1, tokens)


@dataclass(slots=True, kw_only=True)
class RelevanceObserver(Observer):
    """Sums R A over heads and rows, R the mean attention to candidates (Attention-Seeker, long).

    `means` holds the mean of R over heads.
    """

    chosen: Tensor  # (tokens,): 1 for tokens of candidates
    means: dict[int, float] = field(default_factory=dict)  # layer -> mean

    def _received(self, call: Call, block: int = _BLOCK) -> Tensor:
        columns = torch.zeros(call.query.shape[1], len(self.chosen), device=self.chosen.device)
        for _, part in maps(call, block):
            columns += part[0].sum(1)
        relevance = columns @ self.chosen / len(self.chosen)  # (heads,)
        self.means[call.layer] = float(relevance.mean())
        return (relevance @ columns)[None]  # (1, tokens)


def maps(call: Call, block: int) -> Iterator[tuple[slice, Tensor]]:
    """The attention map in blocks of rows; (1, heads, rows, tokens)."""
    for start in range(0, call.query.shape[2], block):
        rows = slice(start, start + block)
        yield (
            rows,
            probabilities(
                replace(
                    call,
                    query=call.query[:, :, rows],
                    mask=None if call.mask is None else call.mask[:, :, rows],
                    bias=None if call.bias is None else call.bias[:, :, rows],
                )
            ),
        )


def one_head(call: Call, head: int) -> Call:
    """The same call with one query head and the key head that it shares."""
    key = head // (call.query.shape[1] // call.key.shape[1])
    return replace(
        call,
        query=call.query[:, head : head + 1],
        key=call.key[:, key : key + 1],
        bias=None if call.bias is None else call.bias[:, head : head + 1],
    )
