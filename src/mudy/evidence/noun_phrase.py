"""Whether a phrase is somewhere the whole of a noun phrase: parts of phrases are seldom keyphrases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mudy.candidates import Candidate, candidates
from mudy.evidence.places import Numbers
from mudy.text import Document


def noun_phrase(document: Document, phrases: Sequence[Candidate]) -> Numbers:
    """1 where the phrase is one of the text's noun phrases of maximal length: sees a boundary on both sides."""
    maximal = {candidate.phrase for candidate in candidates(document, max_words=None)}
    return np.array([float(candidate.phrase in maximal) for candidate in phrases])
