"""How likely a language model is to write a phrase after the text, when it is asked for keywords."""

from __future__ import annotations

from collections.abc import Sequence

TEMPLATE = " Keywords: {},"  # follows the text
ALPHA = 0.6  # exponent of the length that a log-likelihood is divided by, as in PromptRank
LEAST = -30.0  # log-probabilities below say no more


def likelihood(log_probabilities: Sequence[float]) -> float:
    """The length-normalised log-likelihood of the phrase's own tokens: sees what the model would call the text.

    What is given begins with the template's last token and ends with the one after the phrase, as backbones give it.
    """
    own = [bounded(value) for value in log_probabilities[1:-1]] or [LEAST]
    return float(sum(own) / len(own) ** ALPHA)


def bounded(log_probability: float) -> float:
    """Between LEAST and 0, whatever rounding did."""
    return min(0.0, max(LEAST, log_probability))
