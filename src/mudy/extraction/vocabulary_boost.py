"""Known phrases first: what a vocabulary's phrases gain over others when all may be returned.

A probability p becomes that of log-odds log(p / (1 - p)) + boost. Scores of other kinds have no common scale, so boost
counts in standard deviations of the scores of the text's phrases. The gain is a part of each score, `vocabulary`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import exp, log
from statistics import pstdev

from mudy.candidates import Candidate
from mudy.methods.method import OccurrenceScore

PART = "vocabulary"
_EDGE = 1e-6  # a probability is never quite 0 or 1


def boosted(
    candidates: Sequence[Candidate],
    scores: Sequence[OccurrenceScore],
    known: Collection[str],
    boost: float,
    calibrated: bool,
) -> tuple[OccurrenceScore, ...]:
    """The scores, those of known phrases raised; `calibrated` where they are probabilities."""
    gain = boost if calibrated else boost * _deviation(scores)

    def raised(score: OccurrenceScore) -> OccurrenceScore:
        if candidates[score.candidate].phrase not in known:
            return score
        value = _with_log_odds(score.score, gain) if calibrated else score.score + gain
        return replace(score, score=value, parts={**score.parts, PART: gain})

    return tuple(map(raised, scores))


def _deviation(scores: Sequence[OccurrenceScore]) -> float:
    """Of the best scores of all phrases; 1 where all are alike."""
    best: dict[int, float] = {}
    for score in scores:
        best[score.candidate] = max(score.score, best.get(score.candidate, score.score))
    return (pstdev(best.values()) if best else 0.0) or 1.0


def _with_log_odds(probability: float, gain: float) -> float:
    bounded = min(1 - _EDGE, max(_EDGE, probability))
    log_odds = min(500.0, max(-500.0, log(bounded / (1 - bounded)) + gain))
    return min(1 - _EDGE, max(_EDGE, 1 / (1 + exp(-log_odds))))
