"""Vocabularies of the caller: concepts with an id, a preferred label and alternative ones, found in texts by stems."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from mudy._support.callbacks import cancellable
from mudy._support.validation import seen, several
from mudy.errors import InputError, VocabularyWarning
from mudy.reading.candidates.stemming import SNOWBALL
from mudy.reading.candidates.vocabularies.label_index import LabelIndex
from mudy.reading.document import squeeze

__all__ = ["Concept", "Vocabulary"]

_SHOWN = 3  # examples in a note
_NO_STEMMER = "xx"  # any language whose words have no stems
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
    _indexes: dict[str, LabelIndex] = field(default_factory=dict, init=False, compare=False)

    @classmethod
    def load(cls, path: str | Path, *, language: str = "en", encoding: str | None = None) -> Vocabulary:
        """Read a file: .csv, .tsv, .json, .jsonl, .txt, or SKOS as .ttl, .nt, .trig, .nq, .rdf or .xml (extra
        `vocabularies`).

        `language` selects among labels in several languages.
        """
        from mudy.reading.candidates.vocabularies.term_files import concepts_in

        vocabulary = cls._checked(concepts_in(Path(path), language, encoding), f"{path}: ")
        for note in vocabulary.notes:
            warnings.warn(f"{path}: {note}", VocabularyWarning, stacklevel=2)
        return vocabulary

    @classmethod
    def of(cls, value: Any) -> Vocabulary:
        """Make a vocabulary of labels, or of mappings with `label` and optionally `id` and `alternatives`."""
        if isinstance(value, Vocabulary):
            return value
        if isinstance(value, str | Path):
            raise InputError(f"vocabulary is {seen(value)}; to read a file, pass Vocabulary.load({str(value)!r}).")
        return cls._checked(map(concept_of, several("vocabulary", value, "labels")), "")

    @classmethod
    def _checked(cls, entries: Iterable[Concept], where: str) -> Vocabulary:
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

    def index_of(self, language: str) -> LabelIndex:
        """The index of all labels for texts in a language; built on first use, once per stemmer."""
        stemmer = language if language == "en" or language in SNOWBALL else _NO_STEMMER
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
