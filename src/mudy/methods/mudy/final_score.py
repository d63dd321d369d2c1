"""A likelihood, raised by attention and by coming back (Eqs. 11-12)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import log, log1p

from mudy.candidates import Candidate
from mudy.candidates.stemming import stems_of
from mudy.methods.method import OccurrenceScore
from mudy.methods.mudy.settings import Attention


def attention_score(g: float, local: float, attention: Attention, clip: float | None) -> float:
    """AS = G L (Eq. 11), or one of its factors, and no more than `clip`."""
    score = {"GxL": g * local, "G": g, "L": local, "none": 0.0}[attention]
    return score if clip is None else min(score, clip)


def weight_of(words: int, lambda_: float, lambda_words: int) -> float:
    """The weight of attention in a text: lambda (words / lambda_words)^2, and no more than lambda. Ours."""
    return lambda_ * min(1.0, words / lambda_words) ** 2 if lambda_words else lambda_


def final_score(p: float, attention: float, lambda_: float, *, outside: bool = False) -> float:
    """FS = p / (1 + log(1 + lambda AS)), Eq. 12; `outside`: 1 + lambda log(1 + AS)."""
    return p / (1 + (lambda_ * log1p(attention) if outside else log1p(lambda_ * attention)))


def recurring(
    candidates: Sequence[Candidate], scores: Sequence[OccurrenceScore], recurrence: float, language: str = "en"
) -> list[OccurrenceScore]:
    """Raise phrases that come back: FS / (1 + rho log m), m the number of chunks that hold the phrase's stems.

    Ours. In a text of one chunk m is 1 and nothing changes, so the paper's equations stand.
    """
    keys = [stems_of(candidate.phrase, language) for candidate in candidates]
    chunks: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for score in scores:
        chunks[keys[score.candidate]].add(score.section)
    counts = [len(chunks[keys[score.candidate]]) for score in scores]
    return [
        replace(score, score=score.score / (1 + recurrence * log(m)), parts={**score.parts, "m": m})
        for score, m in zip(scores, counts, strict=True)
    ]
