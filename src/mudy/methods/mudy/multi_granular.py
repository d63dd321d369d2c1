"""G and L: the attention that an occurrence receives in the text and in a window around it (Sec. 4.3). The score."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import log, log1p
from typing import TYPE_CHECKING

from mudy.engines.backbone import Encoding, TextRange
from mudy.methods.chunks import Chunk
from mudy.methods.method import OccurrenceScore
from mudy.methods.mudy.settings import Attention
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.stemming import stems_of
from mudy.reading.document import Span

if TYPE_CHECKING:
    from mudy.methods.mudy.algorithm import Mudy

Factors = list[list[float]]  # for each chunk, for each of its occurrences


def attention_factors(mudy: Mudy, chunks: Sequence[Chunk], encodings: Sequence[Encoding]) -> tuple[Factors, Factors]:
    """G and L of every occurrence (Eqs. 9-10).

    A factor that is not asked for is 1. A text of fewer sentences than a window is its own window.
    """
    ones = [[1.0] * len(chunk.places) for chunk in chunks]
    g = ones if mudy.attention in ("none", "L") else globally(mudy, chunks, encodings)
    local = ones if mudy.attention in ("none", "G") else locally(mudy, chunks)
    for index, chunk in enumerate(chunks):
        if mudy.attention in ("GxL", "L") and not has_windows(chunk, mudy.w):
            whole = g[index] if mudy.attention == "GxL" else globally(mudy, [chunk], [encodings[index]])[0]
            g[index] = local[index] = normalised(whole)
    return g, local


def globally(mudy: Mudy, chunks: Sequence[Chunk], encodings: Sequence[Encoding]) -> Factors:
    """Attention within the whole chunk (Eq. 9)."""
    received = [encoding.received for encoding in encodings if encoding.received]
    if not received:
        received = mudy.backbone.received_attention([chunk.text_range for chunk in chunks], mudy.layers)
    g = [[at.at(place.span) for place in chunk.places] for chunk, at in zip(chunks, received, strict=True)]
    divided = mudy.backbone.small_sums if mudy.normalise_global is None else mudy.normalise_global
    return [normalised(values) for values in g] if divided else g


def locally(mudy: Mudy, chunks: Sequence[Chunk]) -> Factors:
    """Attention within the window around each occurrence's sentence, divided by the window's mean (Eq. 10)."""
    windows: dict[tuple[int, Span], list[int]] = defaultdict(list)
    for row, chunk in enumerate(chunks):
        for index, place in enumerate(chunk.places if has_windows(chunk, mudy.w) else ()):
            windows[row, sentences_around(chunk.units, place.span, mudy.w)].append(index)
    ranges = [TextRange(chunks[row].document.text, window) for row, window in windows]
    every = mudy.backbone.received_attention(ranges, mudy.layers)
    scores = [[0.0] * len(chunk.places) for chunk in chunks]
    for ((row, _), inside), received in zip(windows.items(), every, strict=True):
        values = [received.at(chunks[row].places[index].span) for index in inside]
        values = normalised(values) if mudy.normalise_local else values
        for index, value in zip(inside, values, strict=True):
            scores[row][index] = value
    return scores


def has_windows(chunk: Chunk, w: int) -> bool:
    """Whether a chunk has as many sentences as a window."""
    return len(chunk.units) > 2 * w


def normalised(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value / mean if mean > 0 else 1.0 for value in values]


def sentences_around(units: Sequence[Span], span: Span, w: int) -> Span:
    """The window of 2w+1 sentences around the one that holds a span; at the edges, the first or last such window."""
    last = len(units) - 1
    centre = max(0, bisect_right(units, span.start, key=lambda unit: unit.start) - 1)
    centre = min(max(centre, w), max(last - w, w))
    return Span(units[centre - w].start, units[min(centre + w, last)].end)


# -- The score: a likelihood, raised by attention and by recurrence (Eqs. 11-12) --------------------------------------


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
