"""What comes out: plain, frozen values that explain themselves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

from mudy._support.storage import dump_json
from mudy.errors import MissingExtra
from mudy.reading.document import Document, Span

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from mudy.methods.method import ScoredCandidates

SHOWN = 3  # phrases that the repr of a result names
_COLUMNS = ("rank", "text", "score", "variants", "start", "end", "occurrences")  # of a table, which may have more
WIDEST = 60  # characters of a phrase in a repr


@dataclass(frozen=True, slots=True)
class ScoredOccurrence:
    """One place where a keyphrase stands, with what its score was made of."""

    start: int  # Unicode code points of the text, end exclusive
    end: int
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)  # for MUDY: p, G, L, AS, lambda, m
    page: int | None = None  # from 1, in a text that has pages

    def __repr__(self) -> str:
        page = "" if self.page is None else f", page={self.page}"
        return f"ScoredOccurrence({self.start}, {self.end}{page}, score={self.score:.4g})"

    def to_dict(self) -> dict[str, Any]:
        page = {} if self.page is None else {"page": self.page}
        return {"start": self.start, "end": self.end, **page, "score": self.score, **self.parts}


@dataclass(frozen=True, slots=True)
class ConceptMatch:
    """The concept of a vocabulary that a keyphrase was given."""

    id: str
    label: str  # the preferred one
    match: Literal["label", "near", "history"]  # one of its labels occurs in the text, is near in meaning, or neither
    similarity: float | None = None  # of a near one: the cosine of phrase and label

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Keyphrase:
    """A phrase as it occurs in the text; or a tag of similar texts, which has no occurrences."""

    rank: int  # from 1
    text: str  # the best occurrence, white space squeezed
    score: float  # higher is better, for every method
    variants: tuple[str, ...]  # other forms merged into it: case, plural, inflection
    occurrences: tuple[ScoredOccurrence, ...]  # best first, those in the form of `text` before others
    concept: ConceptMatch | None = None  # of the vocabulary, where there is one

    @property
    def source(self) -> Literal["text", "history"]:
        """Where it comes from: "history" for a tag of similar texts that does not occur in this one."""
        return "text" if self.occurrences else "history"

    @property
    def best(self) -> ScoredOccurrence | None:
        """Its best occurrence; None for a tag of similar texts."""
        return next(iter(self.occurrences), None)

    @property
    def parts(self) -> Mapping[str, float]:
        """What the score of its best occurrence was made of."""
        return {} if self.best is None else self.best.parts

    def __repr__(self) -> str:
        places = number_of(len(self.occurrences), "occurrence")
        return f"Keyphrase({self.rank}, {shortened(self.text)!r}, score={self.score:.4g}, {places})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "text": self.text,
            "score": self.score,
            "variants": list(self.variants),
            **({} if self.source == "text" else {"source": self.source}),
            **({} if self.concept is None else {"concept": self.concept.to_dict()}),
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
class SectionResult:
    """The keyphrases of one section of a text, best first. Their occurrences are those in the section."""

    heading: str | None  # the title at the beginning of a text; None where there is none
    start: int  # with the heading; sections follow one another without gaps
    end: int
    keyphrases: tuple[Keyphrase, ...]  # a score is lower if a phrase also occurs in other sections

    def __repr__(self) -> str:
        names = ", ".join(repr(shortened(keyphrase.text)) for keyphrase in self.keyphrases[:SHOWN])
        return f"<SectionResult: {self.start} to {self.end}, {shortened(self.heading or 'no heading')!r}: {names}>"

    def to_dict(self) -> dict[str, Any]:
        keyphrases = [keyphrase.to_dict() for keyphrase in self.keyphrases]
        return {"heading": self.heading, "start": self.start, "end": self.end, "keyphrases": keyphrases}


@dataclass(frozen=True, slots=True)
class ModelCoverage:
    """What one model read of a text."""

    model: str  # "encoder" or "language_model"
    share: float  # of the characters of the whole text
    spans: tuple[Span, ...]  # in order, apart from each other

    @classmethod
    def of(cls, model: str, text: str, spans: Iterable[Span], kept: float) -> ModelCoverage:
        """What a model read of a text, of which `kept` is the share that is left."""
        merged = merged_spans(text, spans)
        return cls(model, sum(span.end - span.start for span in merged) / max(1, len(text)) * kept, merged)

    def __str__(self) -> str:
        """For people: "encoder: first 32 %", never rounded up."""
        beginning = "first " if [span.start for span in self.spans] == [0] else ""
        percent = f"{beginning}{int(100 * self.share)} %" if self.share >= 0.01 else "less than 1 %"
        return f"{self.model.replace('_', ' ')}: {percent}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"spans": list(map(asdict, self.spans))}


def merged_spans(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same spans in order, those merged that overlap or have nothing to read between them."""
    merged: list[Span] = []
    for span in sorted(spans):
        before = merged[-1].end if merged else 0
        if any(map(str.isalnum, text[before : span.start])):
            merged.append(span)
        else:
            merged[-1:] = [Span(merged[-1].start if merged else 0, max(before, span.end))]
    if merged and not any(map(str.isalnum, text[merged[-1].end :])):
        merged[-1] = Span(merged[-1].start, len(text))
    return tuple(merged)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a text was read: the words in which candidates were looked for, and what each model read."""

    words_read: int
    words: int
    sections: int
    models: tuple[ModelCoverage, ...] = ()  # those that read the text; none for a method without a model

    @classmethod
    def of(cls, document: Document, scored: ScoredCandidates) -> Coverage:
        """Of a document; one without candidates counts as read in one go, and by no model."""
        text, words = document.text, len(document.text.split())
        read, every = max(0, words - document.skipped_words - scored.unread_words), words + document.omitted_words
        kept = words / max(1, every)
        models = tuple(ModelCoverage.of(model, text, spans, kept) for model, spans in scored.read.items())
        return cls(read, every, max(1, len({score.section for score in scored.scores})), models)

    @property
    def share(self) -> float:
        return self.words_read / self.words if self.words else 1.0

    @property
    def complete(self) -> bool:
        """Whether all of the text was read, by every model too."""
        return all(share == 1 for share in (self.share, *(model.share for model in self.models)))

    def __str__(self) -> str:
        """For people: "619 of 619 words read (encoder: first 32 %)"; models that read all are not named."""
        partly = ", ".join(str(model) for model in self.models if model.share < 1)
        return f"{self.words_read:,} of {self.words:,} words read{f' ({partly})' if partly else ''}"

    def to_dict(self) -> dict[str, Any]:
        words = {"words": self.words, "words_read": self.words_read, "share": self.share}
        return words | {"sections": self.sections, "models": [model.to_dict() for model in self.models]}


@dataclass(frozen=True, slots=True)
class Result:
    """The keyphrases of one text, best first: a sequence of `Keyphrase`, with how they were found."""

    text: str  # what the offsets refer to
    keyphrases: tuple[Keyphrase, ...]
    coverage: Coverage
    method: str
    model: str | None  # None for a method that asks no model
    source: str | None = None
    not_found: tuple[str, ...] = ()  # candidates of the caller that do not occur in the text
    dropped: tuple[str, ...] = ()  # phrases that a model wrote but that do not occur in the text or may not be returned
    language: str | None = None  # by whose rules it was read, as an ISO 639 code; None for a text without words
    read_by: str | None = None  # what found the words: a tagger, a segmenter, or the stop words of the language
    warnings: tuple[str, ...] = ()  # such as: the text is in another language than the rules by which it was read
    sections: tuple[SectionResult, ...] = ()  # if they were asked for

    def __repr__(self) -> str:
        names = ", ".join(repr(shortened(keyphrase.text)) for keyphrase in self.keyphrases[:SHOWN])
        more = ", ..." if len(self) > SHOWN else ""
        model = f" with {self.model}" if self.model else ""
        return (
            f"<Result: {number_of(len(self), 'keyphrase')} by {self.method}{model}, "
            f"{self.coverage}{': ' if names else ''}{names}{more}>"
        )

    def __len__(self) -> int:
        return len(self.keyphrases)

    def __iter__(self) -> Iterator[Keyphrase]:
        return iter(self.keyphrases)

    @overload
    def __getitem__(self, index: int) -> Keyphrase: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Keyphrase, ...]: ...

    def __getitem__(self, index: int | slice) -> Keyphrase | tuple[Keyphrase, ...]:
        return self.keyphrases[index]

    def __contains__(self, phrase: object) -> bool:
        """Whether a phrase is among the keyphrases or their variants, in any casing."""
        if not isinstance(phrase, str):
            return phrase in self.keyphrases
        wanted = phrase.casefold()
        return any(wanted == form.casefold() for k in self.keyphrases for form in (k.text, *k.variants))

    def as_tuples(self) -> list[tuple[str, float]]:
        return [(keyphrase.text, keyphrase.score) for keyphrase in self.keyphrases]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; the text itself is left out."""
        row = {name: getattr(self, name) for name in ("source", "method", "model", "language", "read_by")}
        row |= {"coverage": self.coverage.to_dict(), "keyphrases": [k.to_dict() for k in self.keyphrases]}
        notes = {name: list(getattr(self, name)) for name in ("warnings", "not_found", "dropped")}
        lists = {"sections": [section.to_dict() for section in self.sections], **notes}
        return row | {name: entries for name, entries in lists.items() if entries}

    def to_json(self, indent: int | None = None) -> str:
        """What `to_dict` gives, as JSON."""
        return dump_json(self.to_dict(), indent=indent)

    def to_pandas(self, *, parts: bool = False) -> pandas.DataFrame:
        """One row per keyphrase: rank, text, score, variants, start and end of its best occurrence, and their number.

        Where there are any: its page and its concept. `parts` adds what the score was made of, as many columns as the
        method has.
        """
        frame = _required("to_pandas", "pandas").DataFrame
        rows = [keyphrase_row(keyphrase, parts) for keyphrase in self.keyphrases]
        return frame(rows, columns=None if rows else list(_COLUMNS))

    def to_polars(self, *, parts: bool = False) -> polars.DataFrame:
        """The rows of `to_pandas` as a frame of polars; what a phrase does not have is null."""
        library = _required("to_polars", "polars")
        kinds = {"text": library.String, "score": library.Float64, "variants": library.List(library.String)}
        types = {name: kinds.get(name, library.Int64) for name in _COLUMNS}
        frame: polars.DataFrame = library.DataFrame(self._columns(parts), schema_overrides=types)
        return frame

    def to_arrow(self, *, parts: bool = False) -> pyarrow.Table:
        """The rows of `to_pandas` as a table of Arrow; what a phrase does not have is null."""
        library = _required("to_arrow", "pyarrow")
        kinds = {"text": library.string(), "score": library.float64(), "variants": library.list_(library.string())}
        types = {name: kinds.get(name, library.int64()) for name in _COLUMNS}
        return library.table({name: library.array(v, types.get(name)) for name, v in self._columns(parts).items()})

    def _columns(self, parts: bool) -> dict[str, list[Any]]:
        rows = [keyphrase_row(keyphrase, parts) for keyphrase in self.keyphrases]
        names = dict.fromkeys((*_COLUMNS, *(name for row in rows for name in row)))
        return {name: [row.get(name) for row in rows] for name in names}

    def to_html(self) -> str:
        """A page that needs no network: the keyphrases, and the text in which they are coloured by their scores."""
        from mudy.extraction.explanation import Explanation

        return Explanation.of(self).to_html(top_n=None)

    def _repr_html_(self) -> str:
        from mudy.extraction.explanation import Explanation

        return Explanation.of(self)._repr_html_()


def keyphrase_row(keyphrase: Keyphrase, parts: bool = False) -> dict[str, Any]:
    """One row of a table: a keyphrase at its best occurrence, named as in `mudy extract --format csv`."""
    best = keyphrase.best
    page = {} if best is None or best.page is None else {"page": best.page}
    match = keyphrase.concept
    concept = {} if match is None else {f"concept_{name}": value for name, value in match.to_dict().items()}
    about = {name: getattr(keyphrase, name) for name in ("rank", "text", "score")}
    place = {"start": best and best.start, "end": best and best.end, "occurrences": len(keyphrase.occurrences), **page}
    return {**about, "variants": list(keyphrase.variants), **place, **concept, **(keyphrase.parts if parts else {})}


def _required(method: str, package: str) -> Any:
    """A package that a method of a result needs."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(f"{method} needs {package}, which is not installed: pip install {package}") from error


def number_of(number: int, noun: str) -> str:
    """A number with its noun: "1 keyphrase", "2,000 keyphrases"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shortened(phrase: str) -> str:
    """A phrase short enough for one line."""
    return phrase if len(phrase) <= WIDEST else phrase[: WIDEST - 3] + "..."
