"""Words and phrases reduced to their stems, as the published evaluations do (Porter, by NLTK)."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def stem(word: str) -> str:
    return str(_porter().stem(word))


def stems(phrase: str) -> tuple[str, ...]:
    """The stem of each word, lower-cased."""
    return tuple(stem(word) for word in phrase.split())


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # slow to import

    return PorterStemmer()
