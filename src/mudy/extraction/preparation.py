"""A text that was read -> its candidates -> their scores, alone or together with those of other texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mudy.extraction.options import DEFAULT_OPTIONS, Options, ProtocolName
from mudy.methods.method import BatchMethod, GenerativeMethod, Method, ScoredCandidates
from mudy.reading.candidates import (
    MAX_CHARACTERS,
    Candidate,
    CandidateKind,
    Occurrence,
    given,
    grouped,
    nested_candidates,
)
from mudy.reading.candidates import candidates as noun_phrases
from mudy.reading.candidates.acronyms import defined_acronyms
from mudy.reading.candidates.vocabularies import Concept
from mudy.reading.document import Document, squeeze


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text that was read, with its candidates and what is asked for."""

    document: Document
    candidates: tuple[Candidate, ...] = ()
    missing: tuple[str, ...] = ()  # given, but not in the text
    options: Options = DEFAULT_OPTIONS
    protocol: ProtocolName | None = None  # by which it was read
    known: Mapping[str, Concept] = field(default_factory=dict)  # candidate's phrase -> the concept whose label it is
    acronyms: Mapping[str, str] = field(default_factory=dict)  # that are merged with what they stand for

    def allows(self, candidate: Candidate) -> bool:
        """Whether a phrase may be returned beside the candidates: no other if they were given, under a protocol any."""
        if self.options.phrases is not None or self.options.only_concepts:
            return False
        longest = None if self.protocol else self.options.max_candidate_words
        words, characters = len(candidate.phrase.split()), len(candidate.phrase)
        short = longest is None or (words <= longest and characters <= MAX_CHARACTERS)
        return short and candidate.phrase not in excluded_phrases(self.options)


def with_candidates(
    document: Document, options: Options, kind: CandidateKind = "nouns", protocol: ProtocolName | None = None
) -> PreparedText:
    """A document with its candidates: those given, those of the protocol, or those of a kind."""
    known, labelled = _labelled(document, options)
    if options.only_concepts:
        return PreparedText(document, tuple(labelled), (), options, protocol, known)
    candidates, missing = _candidates(document, options, kind, protocol)
    candidates = _merged(candidates, labelled) if labelled else candidates
    merged = options.merge and protocol is None
    acronyms = defined_acronyms(document.text, candidates, document.language) if merged else {}
    return PreparedText(document, tuple(candidates), missing, options, protocol, known, acronyms)


def _labelled(document: Document, options: Options) -> tuple[dict[str, Concept], list[Candidate]]:
    """The phrases that are labels of concepts, each with its concept, and as candidates."""
    known: dict[str, Concept] = {}
    places: list[tuple[str, Occurrence]] = []
    if (vocabulary := options.concepts) is None:
        return known, []
    excluded = excluded_phrases(options)
    for span, number in vocabulary.index_of(document.language).places(document.text):
        phrase = squeeze(span.of(document.text)).lower()
        if phrase not in excluded:
            known.setdefault(phrase, vocabulary.concepts[number])
            places.append((phrase, Occurrence(span, document.sentence_at(span.start))))
    return known, grouped(places)


def _merged(candidates: Sequence[Candidate], labelled: Sequence[Candidate]) -> list[Candidate]:
    """Candidates of two kinds as one list, in text order: a phrase of both kinds has the occurrences of both."""
    occurrences: dict[str, set[Occurrence]] = {}
    for candidate in (*candidates, *labelled):
        occurrences.setdefault(candidate.phrase, set()).update(candidate.occurrences)
    merged = [
        Candidate(phrase, tuple(sorted(places, key=lambda occurrence: occurrence.span)))
        for phrase, places in occurrences.items()
    ]
    return sorted(merged, key=lambda candidate: candidate.occurrences[0].span)


def _candidates(
    document: Document, options: Options, kind: CandidateKind, protocol: ProtocolName | None
) -> tuple[list[Candidate], tuple[str, ...]]:
    """The candidates, and the phrases that were given but do not occur."""
    missing: tuple[str, ...] = ()
    if options.phrases is not None:
        candidates, missing = given(document, options.phrases)
    elif protocol is not None and kind == "nouns":  # it says how a text is read, not that nested ones are left out
        from mudy.extraction.promptrank_protocol import promptrank_candidates

        candidates = promptrank_candidates(document)
    else:
        find = nested_candidates if kind == "nested" else noun_phrases
        return find(document, max_words=options.max_candidate_words, stop_phrases=options.stop_phrases), missing
    excluded = excluded_phrases(options)
    return [candidate for candidate in candidates if candidate.phrase not in excluded], missing


def excluded_phrases(options: Options) -> frozenset[str]:
    return frozenset(squeeze(phrase).lower() for phrase in options.stop_phrases)


def score_texts(method: Method, prepared: Sequence[PreparedText]) -> list[ScoredCandidates]:
    """The scored candidates of each text, computed together where the method can; none depends on the other texts."""
    full = [text for text in prepared if text.candidates]
    if len(full) > 1 and isinstance(method, BatchMethod):
        scores = iter(method.score_many([(text.document, text.candidates) for text in full]))
        return [ScoredCandidates.of(text.candidates, next(scores) if text.candidates else ()) for text in prepared]
    return [_scored_alone(method, text) if text.candidates else ScoredCandidates((), ()) for text in prepared]


def _scored_alone(method: Method, text: PreparedText) -> ScoredCandidates:
    if isinstance(method, GenerativeMethod):  # those chosen, and such others as are allowed
        candidates = set(text.candidates)
        return method.choose(text.document, text.candidates).only(lambda c: c in candidates or text.allows(c))
    return ScoredCandidates.of(text.candidates, method.score(text.document, text.candidates))
