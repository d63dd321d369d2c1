"""What comes out: plain, frozen values that explain themselves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class ScoredOccurrence:
    """One place where a keyphrase stands, with what its score was made of."""

    start: int  # Unicode code points of the text, end exclusive
    end: int
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)  # for MUDY: p, G, L, AS, lambda, m
    page: int | None = None  # from 1, in a text that has pages

    def to_dict(self) -> dict[str, Any]:
        page = {} if self.page is None else {"page": self.page}
        return {"start": self.start, "end": self.end, **page, "score": self.score, **self.parts}


@dataclass(frozen=True, slots=True)
class Keyphrase:
    """A phrase as it stands in the text."""

    rank: int  # from 1
    text: str  # the best occurrence, white space squeezed
    score: float  # higher is better, for every method
    variants: tuple[str, ...]  # other forms merged into it: case, plural, inflection
    occurrences: tuple[ScoredOccurrence, ...]  # best first

    def to_dict(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "text": self.text,
            "score": self.score,
            "variants": list(self.variants),
            "occurrences": [occurrence.to_dict() for occurrence in self.occurrences],
        }


def on_pages(keyphrases: tuple[Keyphrase, ...], starts: Sequence[int]) -> tuple[Keyphrase, ...]:
    """The same keyphrases, every occurrence with the page that it begins on, where pages are known."""
    if not starts:
        return keyphrases
    return tuple(
        replace(k, occurrences=tuple(replace(o, page=bisect_right(starts, o.start)) for o in k.occurrences))
        for k in keyphrases
    )


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a text was read, and in how many sections."""

    words_read: int
    words: int
    sections: int

    @property
    def share(self) -> float:
        return self.words_read / self.words if self.words else 1.0

    def to_dict(self) -> dict[str, Any]:
        return {"words": self.words, "words_read": self.words_read, "share": self.share, "sections": self.sections}


@dataclass(frozen=True, slots=True)
class Result:
    """The keyphrases of one text, best first."""

    text: str  # what the offsets refer to
    keyphrases: tuple[Keyphrase, ...]
    coverage: Coverage
    method: str
    model: str | None  # None for a method that asks no model
    source: str | None = None
    not_found: tuple[str, ...] = ()  # candidates of the caller that do not stand in the text
    dropped: tuple[str, ...] = ()  # phrases that a model wrote but that do not stand in the text or may not be returned

    def as_tuples(self) -> list[tuple[str, float]]:
        return [(keyphrase.text, keyphrase.score) for keyphrase in self.keyphrases]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; the text itself is left out."""
        found = {
            "source": self.source,
            "method": self.method,
            "model": self.model,
            "coverage": self.coverage.to_dict(),
            "keyphrases": [keyphrase.to_dict() for keyphrase in self.keyphrases],
        }
        left_out = {"not_found": list(self.not_found), "dropped": list(self.dropped)}
        return found | {name: phrases for name, phrases in left_out.items() if phrases}

    def to_html(self) -> str:
        """A page that needs no network: the keyphrases, and the text in which they are coloured by their scores."""
        from mudy.explanation import Explanation

        return Explanation.of(self).to_html(top_n=None)

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        from mudy.explanation import Explanation

        return Explanation.of(self)._repr_html_()
