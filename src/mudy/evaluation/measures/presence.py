"""Gold keyphrases that occur in their text, and those that do not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from mudy.candidates.stemming import UNSPACED, stems_of


def present_and_absent(gold: Iterable[str], text: str, language: str = "en") -> tuple[list[str], list[str]]:
    """The gold phrases whose stemmed words are adjacent in the stemmed text, and the others.

    Words are runs of letters and digits, so a hyphen counts as a space. Where words are written together, each
    character is one.
    """
    stemmed_text = _stemmed(text, language)
    present: list[str] = []
    absent: list[str] = []
    for phrase in gold:
        stemmed = _stemmed(phrase, language)
        occurs = stemmed in stemmed_text if stemmed.strip() else phrase.strip() in text
        (present if occurs else absent).append(phrase)
    return present, absent


def _stemmed(text: str, language: str) -> str:
    """The stems of a text's words, with a space on either side of each."""
    words = re.sub(r"[\W_]+", " ", text) if language == "en" else _spaced(text)
    return f" {' '.join(stems_of(words, language))} "


def _spaced(text: str) -> str:
    """A text with spaces for marks; accents and vowel signs stay with their letters."""
    letters = "".join(c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in text)
    return re.sub(f"({UNSPACED})", r" \1 ", letters)
