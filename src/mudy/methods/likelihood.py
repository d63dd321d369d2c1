"""How likely a model finds a phrase after a text: what PromptRank and MUDY share (Eq. 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

ScoredTokens = Literal["promptrank", "candidate"]


def prompt_likelihood(log_probabilities: Sequence[float], alpha: float, tokens: ScoredTokens = "promptrank") -> float:
    """The length-normalised log-likelihood of a candidate in its prompt (Eq. 1)."""
    scored = log_probabilities if tokens == "promptrank" else log_probabilities[1:-1]
    return float(sum(scored) / len(scored) ** alpha)
