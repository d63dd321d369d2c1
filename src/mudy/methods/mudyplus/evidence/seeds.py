"""How near a phrase is to what somebody looks for: seeds, which are phrases, or a question."""

from __future__ import annotations

import numpy as np

from mudy.methods.mudyplus.evidence.places import Numbers


def seed_similarity(phrases: Numbers, seeds: Numbers) -> Numbers:
    """The highest cosine of each phrase to a seed, less the mean over the phrases: sees what is nearer than the rest.

    `phrases` are vectors (phrases, width), `seeds` too (seeds, width). Where nothing is near, all are about 0: a text
    that says nothing of the seeds keeps its ranking.
    """
    cosines = _unit(phrases) @ _unit(seeds).T  # (phrases, seeds)
    best = cosines.max(axis=1)
    found: Numbers = best - best.mean()
    return found


def _unit(vectors: Numbers) -> Numbers:
    found: Numbers = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return found
