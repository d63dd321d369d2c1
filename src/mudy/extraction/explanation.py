"""Why: one text as one or several methods see it, every phrase at every place with what its score was made of."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from mudy._support.callbacks import cancellable
from mudy.errors import InputError
from mudy.extraction.options import Options
from mudy.extraction.ranking import stem_key
from mudy.extraction.results import Result, number_of
from mudy.methods import settings_in_use
from mudy.methods.method import Method
from mudy.reading.candidates.phrase_index import PhraseIndex
from mudy.reading.candidates.stemming import stems_of
from mudy.reading.document import Document, Span, squeeze

_PIECE = re.compile(r"[^\s-]+")  # what stands between hyphens and white space


@dataclass(frozen=True, slots=True)
class Explained:
    """What one method found, and how it was set."""

    result: Result  # with all phrases, unless fewer were asked for
    settings: Mapping[str, Any]  # those in use, also where the caller gave none
    free: tuple[str, ...]  # settings under which scores follow from their parts, without asking the model again
    seconds: float | None = None  # None where nobody looked at the clock

    @classmethod
    def of(cls, result: Result, method: Method | None, options: Options, seconds: float) -> Self:
        """A result with how its method was set; where a vocabulary raised scores, none follows from other settings."""
        free = method.rescorable if method is not None and options.boost is None else ()
        return cls(result, settings_in_use(method), free, seconds)

    def __repr__(self) -> str:
        return f"Explained({self.result!r})"

    def to_dict(self) -> dict[str, Any]:
        result = {name: value for name, value in self.result.to_dict().items() if name != "source"}
        return result | {"settings": dict(self.settings), "free": list(self.free), "seconds": self.seconds}


@dataclass(frozen=True, slots=True)
class Gold:
    """A phrase known to be right, and where its stems occur in the text: nowhere, if it is absent."""

    text: str
    spans: tuple[Span, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.text, "places": list(map(asdict, self.spans))}


@dataclass(frozen=True, slots=True)
class Explanation:
    """One text, and what each method found in it."""

    text: str  # what the offsets refer to
    methods: tuple[Explained, ...]
    gold: tuple[Gold, ...] = ()
    source: str | None = None

    def __repr__(self) -> str:
        counts = ", ".join(f"{number_of(len(m.result), 'keyphrase')} by {m.result.method}" for m in self.methods)
        gold = f", {number_of(len(self.gold), 'gold phrase')}" if self.gold else ""
        return f"<Explanation: {number_of(len(self.text.split()), 'word')}, {counts}{gold}>"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; the text itself is left out."""
        return {
            "source": self.source,
            "gold": [phrase.to_dict() for phrase in self.gold],
            "methods": [method.to_dict() for method in self.methods],
        }

    @classmethod
    def of(cls, result: Result) -> Self:
        """A result by itself, which knows neither its method's settings nor how long it took."""
        return cls(result.text, (Explained(result, {}, ()),), source=result.source)

    def to_html(self, top_n: int | None = 15) -> str:
        """A page that needs no network: the coloured text and the best phrases of each method."""
        from mudy.extraction.render import html

        return html.report(self, top_n)

    def _repr_html_(self) -> str:
        from mudy.extraction.render import html

        return html.fragment(self)


def heat(scores: Sequence[float]) -> list[float]:
    """For each score the share of the others that are lower, from 0 to 1: methods can be compared, their scores not."""
    ordered = sorted(scores)
    last = max(1, len(ordered) - 1)
    return [bisect_left(ordered, score) / last for score in scores]


def gold_places(document: Document, gold: Iterable[str]) -> tuple[Gold, ...]:
    """Where phrases stand in a text, compared by stems, so that "dams" is found for "dam"."""
    if isinstance(gold, str):
        raise InputError(f"A list of gold phrases was expected, not the single text {gold!r}. Put it in a list.")
    phrases = {phrase: stem_key(phrase, document.language) for phrase in map(squeeze, gold)}
    wanted = list(dict.fromkeys(phrases.values()))
    pieces = list(cancellable(_pieces(document), every=1024)) if wanted else []
    spans: dict[tuple[str, ...], list[Span]] = {key: [] for key in wanted}
    for start, end, number in PhraseIndex(wanted).places(name for name, _ in pieces):
        spans[wanted[number]].append(Span(pieces[start][1].start, pieces[end - 1][1].end))
    return tuple(Gold(phrase, tuple(spans[key])) for phrase, key in phrases.items())


def _pieces(document: Document) -> Iterator[tuple[str, Span]]:
    """The stem of each word, or of each part of a word with hyphens, and where it stands."""
    for word in document.words:
        for match in _PIECE.finditer(word.span.of(document.text)):
            start = word.span.start + match.start()
            yield " ".join(stems_of(match[0], document.language)), Span(start, start + len(match[0]))
