"""A text that was read -> its candidates: ready to be scored, alone or together with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from typing import Any, get_args

from mudy._support.validation import several
from mudy.candidates import MAX_CHARACTERS, Candidate, CandidateKind, Occurrence, given, grouped, nested_candidates
from mudy.candidates import candidates as noun_phrases
from mudy.extraction.options import DEFAULT_OPTIONS, Options
from mudy.extraction.protocols import ReadingProtocol
from mudy.reading.document import Document, squeeze
from mudy.vocabularies import Concept, Vocabulary


@dataclass(frozen=True, slots=True)
class PhraseFilter:
    """Which phrases a method may return beside the candidates."""

    excluded: frozenset[str]
    max_words: int | None

    def __call__(self, candidate: Candidate) -> bool:
        words, characters = len(candidate.phrase.split()), len(candidate.phrase)
        short = self.max_words is None or (words <= self.max_words and characters <= MAX_CHARACTERS)
        return short and candidate.phrase not in self.excluded


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text that was read, with its candidates and what is asked for."""

    document: Document
    candidates: tuple[Candidate, ...] = ()
    missing: tuple[str, ...] = ()  # given, but not in the text
    others: PhraseFilter | None = None  # which phrases beside the candidates may be returned
    options: Options = DEFAULT_OPTIONS
    known: Mapping[str, Concept] = field(default_factory=dict)  # candidate's phrase -> the concept whose label it is

    @property
    def words(self) -> int:
        return self.document.word_count


def with_candidates(
    document: Document, options: Options, kind: CandidateKind = "nouns", protocol: ReadingProtocol | None = None
) -> PreparedText:
    """A document with its candidates: those given, those of the protocol, or those of a kind."""
    vocabulary = options.concepts
    known, labelled = ({}, []) if vocabulary is None else _labelled(document, vocabulary, _excluded(options))
    if options.only_concepts:
        return PreparedText(document, tuple(labelled), (), None, options, known)
    found, missing = _candidates(document, options, kind, protocol)
    joined = _joined(found, labelled) if labelled else found
    return PreparedText(document, tuple(joined), missing, _other_phrases(options, protocol), options, known)


def _labelled(
    document: Document, vocabulary: Vocabulary, excluded: frozenset[str]
) -> tuple[dict[str, Concept], list[Candidate]]:
    """The phrases that are labels of concepts, each with its concept, and as candidates."""
    known: dict[str, Concept] = {}
    places: list[tuple[str, Occurrence]] = []
    for span, number in vocabulary.index_of(document.language).places(document.text):
        phrase = squeeze(span.of(document.text)).lower()
        if phrase not in excluded:
            known.setdefault(phrase, vocabulary.concepts[number])
            places.append((phrase, Occurrence(span, document.sentence_at(span.start))))
    return known, grouped(places)


def _joined(found: Sequence[Candidate], labelled: Sequence[Candidate]) -> list[Candidate]:
    """Candidates of two kinds as one list, in text order: a phrase of both kinds has the places of both."""
    places: dict[str, set[Occurrence]] = {}
    for candidate in (*found, *labelled):
        places.setdefault(candidate.phrase, set()).update(candidate.occurrences)
    ordered = [
        Candidate(phrase, tuple(sorted(own, key=lambda occurrence: occurrence.span))) for phrase, own in places.items()
    ]
    return sorted(ordered, key=lambda candidate: candidate.occurrences[0].span)


def _candidates(
    document: Document, options: Options, kind: CandidateKind, protocol: ReadingProtocol | None
) -> tuple[list[Candidate], tuple[str, ...]]:
    missing: tuple[str, ...] = ()
    limit, stops = options.max_candidate_words, options.stop_phrases
    if options.phrases is not None:
        found, missing = given(document, options.phrases)
    elif kind == "nested":  # under a protocol too: it says how a text is read
        return nested_candidates(document, max_words=limit, stop_phrases=stops), missing
    elif protocol is not None:
        found = protocol.candidates(document)
    else:
        return noun_phrases(document, max_words=limit, stop_phrases=stops), missing
    excluded = _excluded(options)
    return [candidate for candidate in found if candidate.phrase not in excluded], missing


def _other_phrases(options: Options, protocol: ReadingProtocol | None) -> PhraseFilter | None:
    """What a method may return beside the candidates: nothing if they were given; any length under a protocol."""
    if options.phrases is not None:
        return None
    return PhraseFilter(_excluded(options), None if protocol else options.max_candidate_words)


def _excluded(options: Options) -> frozenset[str]:
    return frozenset(squeeze(phrase).lower() for phrase in options.stop_phrases)


def candidates_of_each(candidates: Any) -> Iterator[Any]:
    """The candidates of each text: always the same kind or list, or the next of many lists; [] is one list."""
    if candidates is None or (isinstance(candidates, str) and candidates in get_args(CandidateKind)):
        return repeat(candidates)
    given = iter(several("candidates", candidates, "phrases"))
    first = list(islice(given, 1))
    if not first or isinstance(first[0], str):
        return repeat([*first, *given])
    return chain(first, given)
