"""Where a prompt should look: a Gaussian around its occurrence, mixed with the places of related ones (Eqs. 2-4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from mudy.backbones.backbone import AlignedRows, Rule

if TYPE_CHECKING:
    from mudy.methods.mudy import Mudy


def gaussian(distance: Tensor, sigma: float | Tensor) -> Tensor:
    """exp(-d^2 / 2 sigma^2): 1 at the place itself (Eq. 2)."""
    return torch.exp(-(distance**2) / (2 * sigma**2))


@dataclass(frozen=True)
class Focus:
    """How strongly the prompt of each occurrence should look at each token of the document (Eqs. 2-4)."""

    method: Mudy
    rule: Rule
    depth: int  # layers of the decoder
    centre: Tensor  # (occurrences,): the middle token of each
    inside: Tensor  # (occurrences, tokens): which tokens are the occurrence itself
    related: Tensor  # (occurrences, k_sem): middle tokens of the most similar occurrences, nan where there are fewer
    blank: Tensor  # (tokens,): lone word-boundary marks
    sink: Tensor  # (tokens,): tokens that always keep full weight

    @property
    def k(self) -> int:
        return self.method.k_attn

    @property
    def sliding(self) -> bool:
        return self.method.weight_sliding

    @property
    def aligned_rows(self) -> AlignedRows:
        return self.method.aligned_rows

    @property
    def eligible(self) -> Tensor:
        return ~self.blank

    def only(self, prompts: Sequence[int]) -> Focus:
        """The same for some of the occurrences."""
        some = list(prompts)
        return replace(self, centre=self.centre[some], inside=self.inside[some], related=self.related[some])

    def touches(self, layer: int) -> bool:
        low, high = self.method.weighted_layers
        return low * self.depth <= layer < high * self.depth

    def weights(self, layer: int, prompts: Tensor) -> Tensor:
        method = self.method
        own = self._own(self.spread(layer), prompts)
        weights = own if not method.mixture else self._mixture(own, prompts)
        weights = method.least_weight + (1 - method.least_weight) * weights
        return weights.masked_fill(self.sink, 1.0)

    def spread(self, layer: int) -> float:
        """sigma_l = sigma_0 + kappa l: narrow in the lowest layer, wider in each one above it."""
        cap = self.method.sigma_cap
        spread = self.method.sigma + self.method.kappa * layer
        return spread if cap is None else min(spread, cap)

    def _own(self, sigma: float, prompts: Tensor) -> Tensor:
        """A Gaussian around the occurrence, 1 on all of its tokens (Eq. 2)."""
        distance = (self._positions - self.centre[prompts, None]) / self.method.unit
        return gaussian(distance, sigma).masked_fill(self.inside[prompts], 1.0)  # (prompts, tokens)

    def _mixture(self, own: Tensor, prompts: Tensor) -> Tensor:
        """Add the places of related candidates; divide by the largest weight, and drop what is small (Eqs. 3-4)."""
        method = self.method
        total = method.pi * own
        for rank, sigma in enumerate(method.sigma_related):
            distance = (self._positions - self.related[prompts, rank, None]) / method.unit
            total = total + method.pi_related * gaussian(distance, sigma).nan_to_num(0.0)
        total = total / total.amax(dim=1, keepdim=True)
        total = total.masked_fill(total < method.mixture_floor, 0.0)
        return torch.where(self.blank, own, total)

    @property
    def _positions(self) -> Tensor:
        return torch.arange(self.inside.shape[1], device=self.centre.device)
