"""Whether a phrase is somewhere the whole of a noun phrase: parts of phrases are seldom keyphrases.

Without a tagger two phrases may stand side by side with nothing between them, as in Hindi. What several such rows have
in common, in other company on both sides, is then taken for a phrase of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from mudy.candidates import Candidate, candidates
from mudy.candidates.stemming import stems_of
from mudy.methods.mudyplus.evidence.places import Key, Numbers
from mudy.reading.document import Document

FEWEST_WORDS, MOST_WORDS = 2, 6  # of a part that rows have in common


def noun_phrase(document: Document, phrases: Sequence[Candidate]) -> Numbers:
    """1 where the phrase is one of the text's noun phrases of maximal length: sees a boundary on both sides."""
    maximal = {candidate.phrase for candidate in candidates(document, max_words=None)}
    if document.tagged:
        return np.array([float(candidate.phrase in maximal) for candidate in phrases])
    language = document.language
    common = common_parts({stems_of(phrase, language) for phrase in maximal})
    return np.array([float(c.phrase in maximal or stems_of(c.phrase, language) in common) for c in phrases])


def common_parts(rows: Iterable[Key]) -> frozenset[Key]:
    """Parts that stand in two or more rows: always at the edge of a row, or beside other words each time."""
    before: dict[Key, set[str]] = defaultdict(set)
    after: dict[Key, set[str]] = defaultdict(set)
    rows_of: dict[Key, int] = defaultdict(int)
    for row in rows:
        for start in range(len(row)):
            for end in range(start + FEWEST_WORDS, min(len(row), start + MOST_WORDS) + 1):
                part = row[start:end]
                rows_of[part] += 1
                before[part].add(row[start - 1] if start else "")
                after[part].add(row[end] if end < len(row) else "")
    return frozenset(
        part for part, count in rows_of.items() if count >= 2 and _alone(before[part]) and _alone(after[part])
    )


def _alone(neighbours: set[str]) -> bool:
    return len(neighbours) > 1 or neighbours == {""}
