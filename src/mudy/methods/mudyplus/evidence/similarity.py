"""How much a phrase means what the text means: the cosine of their vectors, as EmbedRank has it."""

from __future__ import annotations

import numpy as np

from mudy.methods.mudyplus.evidence.places import Numbers

FLAT = 1e-6  # a deviation below is float noise


def similarity(phrases: Numbers, document: Numbers) -> Numbers:
    """Cosines of phrases to the document, brought to mean 0 and deviation 1: sees which are near, in this text.

    `phrases` are vectors (phrases, width), `document` is one (width,). Equal cosines become 0.
    """
    norms = np.linalg.norm(phrases, axis=1) * np.linalg.norm(document)
    return standardised(phrases @ document / np.maximum(norms, 1e-12))


def standardised(values: Numbers) -> Numbers:
    deviation = values.std()
    found: Numbers = (values - values.mean()) / deviation if deviation > FLAT else np.zeros_like(values)
    return found
