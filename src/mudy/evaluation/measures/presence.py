"""Gold keyphrases that occur in their text, and those that do not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mudy.porter import stems


def present_and_absent(gold: Iterable[str], text: str) -> tuple[list[str], list[str]]:
    """The gold phrases whose stemmed words are adjacent in the stemmed text, and the others.

    Words are runs of letters and digits, so a hyphen counts as a space.
    """
    stemmed_text = _stemmed(text)
    present: list[str] = []
    absent: list[str] = []
    for phrase in gold:
        stemmed = _stemmed(phrase)
        occurs = stemmed in stemmed_text if stemmed.strip() else phrase.strip() in text
        (present if occurs else absent).append(phrase)
    return present, absent


def _stemmed(text: str) -> str:
    """The stems of a text's words, with a space on either side of each."""
    words = re.sub(r"[\W_]+", " ", text)
    return f" {' '.join(stems(words))} "
