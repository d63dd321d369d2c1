"""How plain the language of a text is: manuals and questions have few nouns, news and papers have many.

In plain language everyday words are subjects, and what is repeated counts for more than what is near in meaning.
"""

from __future__ import annotations

from mudy.candidates.grammar import GRAMMARS, UNIVERSAL
from mudy.reading.document import Document

FEW_NOUNS, MANY_NOUNS = 0.2, 0.3  # of all words and marks: with the first a text is plain, with the second it is not


def plainness(document: Document) -> float:
    """Between 0 (as many nouns as news and papers have) and 1 (as few as instructions have)."""
    if not document.words:
        return 0.0
    nouns = GRAMMARS.get(document.language, UNIVERSAL).nouns
    share = sum(word.tag in nouns for word in document.words) / len(document.words)
    return min(1.0, max(0.0, (MANY_NOUNS - share) / (MANY_NOUNS - FEW_NOUNS)))
