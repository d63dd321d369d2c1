"""How much a text looks back at a phrase while a language model reads it: MUDY's G."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p


def attention(received: Sequence[float], mean: float) -> float:
    """log(1 + log(1 + G)), G the most attention that one of its places receives, over the mean of all tokens."""
    if not received or mean <= 0:
        return log1p(log1p(1.0))  # as much as any other token
    return log1p(log1p(max(0.0, max(received)) / mean))
