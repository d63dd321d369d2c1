"""Labels found in a text by their stems, in one walk: "flood insurances" for the label "Flood insurance".

Stems are those of the text's language. White space, hyphens and underscores between words do not matter; other marks do
("C++", "AT&T"), and a blank line ends a phrase. A label in capitals such as IT or WHO matches capitals only. Of nested
occurrences the longest counts: "flood" is not found in "flood insurance" where both are labels.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mudy._support.callbacks import cancellable
from mudy.reading.candidates import stands_alone
from mudy.reading.candidates.phrase_index import PhraseIndex
from mudy.reading.candidates.stemming import UNSPACED, stem_of
from mudy.reading.document import Span, squeeze

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
    """The labels of all concepts, to be found in any number of texts."""

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
        fitting = [number for number in numbers if capitals or not _is_acronym(self._labels[number])]
        spelling = form.casefold()
        return min(
            fitting, key=lambda n: (self._labels[n].casefold() != spelling, not self._preferred[n]), default=None
        )

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
