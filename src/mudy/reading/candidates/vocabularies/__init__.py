"""Vocabularies of the caller: concepts with an id, a preferred label and alternative ones, found in texts by stems."""

import re
import warnings
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from mudy._support.callbacks import cancellable
from mudy._support.validation import seen, several
from mudy.errors import InputError, VocabularyWarning
from mudy.reading.candidates import stands_alone
from mudy.reading.candidates.phrase_index import PhraseIndex
from mudy.reading.candidates.stemming import SNOWBALL, UNSPACED, stem_of
from mudy.reading.document import Span, squeeze
from mudy.reading.languages import ANY_LANGUAGE

__all__ = ["Concept", "Vocabulary"]

_SHOWN = 3  # examples in a note
_FIELDS = ("id", "label", "alternatives")


@dataclass(frozen=True, slots=True)
class Concept:
    """One entry of a vocabulary."""

    id: str
    label: str  # the preferred one
    alternatives: tuple[str, ...] = ()  # other labels that stand for it

    @property
    def labels(self) -> tuple[str, ...]:
        """The preferred label, then the others."""
        return (self.label, *self.alternatives)


@dataclass(frozen=True)
class Vocabulary:
    """Concepts to find in texts. The index of all labels is built once, on first use.

    >>> Vocabulary.load("terms.csv")
    >>> Vocabulary.of(["flood insurance", {"id": "Q8068", "label": "flood", "alternatives": ["inundation"]}])
    """

    concepts: tuple[Concept, ...]
    unlabelled: tuple[str, ...] = field(default=(), compare=False)  # ids of entries that were left out
    _indexes: "dict[str, LabelIndex]" = field(default_factory=dict, init=False, compare=False)

    @classmethod
    def load(cls, path: str | Path, *, language: str = "en", encoding: str | None = None) -> "Vocabulary":
        """Read .csv, .tsv, .json, .jsonl, .txt, or SKOS as .ttl, .nt, .trig, .nq, .rdf or .xml (extra `vocabularies`).

        `language` selects among labels in several languages.
        """
        from mudy.reading.candidates.vocabularies.term_files import concepts_in

        vocabulary = cls._checked(concepts_in(Path(path), language, encoding), f"{path}: ")
        for note in vocabulary.notes:
            warnings.warn(f"{path}: {note}", VocabularyWarning, stacklevel=2)
        return vocabulary

    @classmethod
    def of(cls, value: Any) -> "Vocabulary":
        """Make a vocabulary of labels, or of mappings with `label` and optionally `id` and `alternatives`."""
        if isinstance(value, Vocabulary):
            return value
        if isinstance(value, str | Path):
            raise InputError(f"vocabulary is {seen(value)}; to read a file, pass Vocabulary.load({str(value)!r}).")
        return cls._checked(map(concept_of, several("vocabulary", value, "labels")), "")

    @classmethod
    def _checked(cls, entries: Iterable[Concept], where: str) -> "Vocabulary":
        """Merge concepts that share an id, and leave out those without a label."""
        unlabelled: list[str] = []
        joined: dict[str, list[str]] = {}
        for concept in cancellable(entries, every=1024):
            labels = [label for label in map(squeeze, concept.labels) if label]
            if labels:
                joined.setdefault(concept.id or labels[0], []).extend(labels)
            else:
                unlabelled.append(concept.id)
        if not joined:
            raise InputError(f"{where}the vocabulary has no labels.")
        concepts = (
            Concept(name, first, tuple(dict.fromkeys(label for label in others if label != first)))
            for name, (first, *others) in joined.items()
        )
        return cls(tuple(concepts), tuple(name for name in unlabelled if name not in joined))

    def __len__(self) -> int:
        return len(self.concepts)

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self):,} concepts, sha256 {self.fingerprint}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the index, which each process builds once, however often it receives the same vocabulary."""
        return _received, (self.concepts, self.unlabelled)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences about entries that were left out and ambiguous labels; `load` issues them as warnings."""
        notes = []
        if self.unlabelled:
            first = ", ".join(repr(name) for name in self.unlabelled[:_SHOWN] if name)
            left_out = f"{len(self.unlabelled):,} of the entries have no label and are left out"
            notes.append(f"{left_out}: {first}." if first else f"{left_out}.")
        if shared := self.index_of("en").shared_labels():
            examples = "; ".join(
                f"{label!r} of {', '.join(self.concepts[number].id for number in numbers[:_SHOWN])}"
                for label, numbers in shared[:_SHOWN]
            )
            notes.append(
                f"{len(shared):,} labels belong to more than one concept ({examples}). The concept that prefers the "
                "label is chosen, else the first."
            )
        return tuple(notes)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all ids and labels, by which a resumed run recognizes its vocabulary."""
        digest = sha256()
        for concept in self.concepts:
            digest.update("\0".join((concept.id, *concept.labels)).encode(errors="surrogatepass") + b"\n")
        return digest.hexdigest()[:16]

    def index_of(self, language: str) -> "LabelIndex":
        """The index of all labels for texts in a language; built on first use, once per stemmer."""
        stemmer = language if language == "en" or language in SNOWBALL else ANY_LANGUAGE  # without stems
        if stemmer not in self._indexes:
            self._indexes[stemmer] = LabelIndex([concept.labels for concept in self.concepts], stemmer)
        return self._indexes[stemmer]


@lru_cache(maxsize=2)
def _received(concepts: tuple[Concept, ...], unlabelled: tuple[str, ...]) -> Vocabulary:
    """An unpickled vocabulary: the same object, with its index, for equal concepts."""
    return Vocabulary(concepts, unlabelled)


def concept_of(entry: Any) -> Concept:
    if isinstance(entry, Concept):
        return entry
    if isinstance(entry, str):
        return Concept(entry.strip(), entry)
    if not isinstance(entry, Mapping):
        raise InputError(f"A vocabulary holds {seen(entry)}, but labels or objects with `label` are needed.")
    if unknown := [name for name in entry if name not in _FIELDS]:
        raise InputError(f"A concept has the field {unknown[0]!r}; the known fields are {', '.join(_FIELDS)}.")
    label, alternatives = entry.get("label") or "", entry.get("alternatives") or ()
    listed = isinstance(alternatives, Iterable) and not isinstance(alternatives, str)
    if not isinstance(label, str) or not listed or not all(isinstance(item, str) for item in alternatives):
        raise InputError(f"A concept is {seen(dict(entry))}; `label` must be a text, `alternatives` a list of texts.")
    name = entry.get("id")
    return Concept("" if name is None else str(name), label, tuple(alternatives))


_MARKS = (  # accents and vowel signs, which belong to the letters before them
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u0963"
    "\u0981-\u0983\u09bc-\u09cd"
)
_LETTER = rf"(?:(?!{UNSPACED})[^\W_])"
_UNIT = re.compile(rf"\s+|[-‐‑_]+|{UNSPACED}|{_LETTER}(?:{_LETTER}|[{_MARKS}])*|.", re.DOTALL)
_BREAK = "\n"  # the unit of a blank line: no label has it
_JOINS = "-‐‑_"
_LONGEST_ACRONYM = 5  # characters
_MOSTLY = 0.5  # share of longer labels in capitals above which capitals mean nothing


class LabelPlace(NamedTuple):
    span: Span
    concept: int  # index into the concepts


class LabelIndex:
    """The labels of all concepts, found in any number of texts by their stems, in one walk.

    "flood insurances" is found for the label "Flood insurance". White space, hyphens and underscores between words do
    not matter; other marks do ("C++", "AT&T"), and a blank line ends a phrase. A label in capitals such as IT or WHO
    matches capitals only. Of nested occurrences the longest counts.
    """

    def __init__(self, labels: Sequence[Sequence[str]], language: str = "en") -> None:
        """`labels` are those of each concept, the preferred one first; `language` is that of the texts."""
        self._language = language
        self._labels: list[str] = []
        self._concepts = array("i")  # label -> its concept
        self._first = array("i")  # phrase of the index -> its first label
        self._others: dict[int, list[int]] = {}  # phrase -> further labels with the same stems
        self._preferred = bytearray()  # label -> whether it is the preferred one
        phrases: dict[tuple[str, ...], int] = {}  # stems -> number in the index
        for concept, forms in enumerate(cancellable(labels, every=1024)):
            for position, label in enumerate(forms):
                stems = tuple(unit for unit, _ in stem_units(label, language) if unit != _BREAK)
                if not stems:
                    continue
                phrase = phrases.setdefault(stems, len(phrases))
                if phrase == len(self._first):
                    self._first.append(len(self._labels))
                else:
                    self._others.setdefault(phrase, []).append(len(self._labels))
                self._labels.append(label)
                self._concepts.append(concept)
                self._preferred.append(position == 0)
        longer = [label.isupper() for label in self._labels if len(label) > _LONGEST_ACRONYM]
        self._capitals_matter = sum(longer) <= _MOSTLY * len(longer)
        self._index = PhraseIndex(list(phrases))

    def places(self, text: str) -> list[LabelPlace]:
        """Every occurrence of every concept, in text order, none of them inside another."""
        units = list(cancellable(stem_units(text, self._language), every=4096))
        found: list[LabelPlace] = []
        for start, end, phrase in self._index.places(unit for unit, _ in units):
            span = Span(units[start][1].start, units[end - 1][1].end)
            if stands_alone(text, span) and (label := self._meant(phrase, squeeze(span.of(text)))) is not None:
                found.append(LabelPlace(span, self._concepts[label]))
        places: list[LabelPlace] = []
        for place in sorted(found, key=lambda place: (place.span.start, -place.span.end)):
            if not places or place.span.end > places[-1].span.end:
                places.append(place)
        return places

    def _meant(self, phrase: int, form: str) -> int | None:
        """The label that a form stands for: the one spelt the same, else a preferred label, else the first."""
        numbers = (self._first[phrase], *self._others.get(phrase, ()))
        capitals = not self._capitals_matter or form.removesuffix("s").isupper()
        spelling, fitting = form.casefold(), [n for n in numbers if capitals or not _is_acronym(self._labels[n])]
        otherwise = {n: (self._labels[n].casefold() != spelling, not self._preferred[n]) for n in fitting}
        return min(fitting, key=otherwise.__getitem__, default=None)

    def shared_labels(self) -> list[tuple[str, list[int]]]:
        """Labels that several concepts have in the same spelling, with these concepts."""
        shared = []
        for phrase, others in self._others.items():
            spellings: dict[str, list[int]] = {}
            for number in (self._first[phrase], *others):
                spellings.setdefault(self._labels[number].casefold(), []).append(number)
            for numbers in spellings.values():
                concepts = list(dict.fromkeys(self._concepts[number] for number in numbers))
                if len(concepts) > 1:
                    shared.append((self._labels[numbers[0]], concepts))
        return shared


def _is_acronym(label: str) -> bool:
    return 2 <= len(label) <= _LONGEST_ACRONYM and label.isupper()


def stem_units(text: str, language: str) -> Iterator[tuple[str, Span]]:
    """The stem of each word, punctuation marks and blank lines, each with its span."""
    for match in _UNIT.finditer(text):
        unit = match[0]
        if unit.isspace():
            if unit.count("\n") > 1:
                yield _BREAK, Span(match.start(), match.end())
            continue
        beside = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        if unit[0] not in _JOINS or not all(map(str.isalnum, beside)):  # else it joins two words
            yield stem_of(unit, language), Span(match.start(), match.end())
