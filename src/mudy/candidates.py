"""Tags -> candidates: the phrases that may be keyphrases, each with every occurrence."""

from dataclasses import dataclass

from mudy.text import Span


@dataclass(frozen=True, slots=True)
class Occurrence:
    span: Span  # characters in document.text
    sentence: int  # which sentence holds it: local attention asks (Sec. 4.3.3)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One phrase, in lower case, and every place where it stands, in text order."""

    phrase: str
    occurrences: tuple[Occurrence, ...]
