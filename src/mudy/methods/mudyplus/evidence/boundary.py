"""Whether a phrase ends where it ends: after "fuzzy" a model expects more words, after "fuzzy modeling" a comma."""

from __future__ import annotations

from collections.abc import Sequence

from mudy.methods.mudyplus.evidence.keyword_likelihood import bounded


def ending(log_probabilities: Sequence[float]) -> float:
    """The log-probability of the comma after the phrase: sees a phrase that was cut off too early."""
    return bounded(log_probabilities[-1])
