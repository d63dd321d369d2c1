"""A text that was read -> its candidates: ready to be scored, alone or together with others."""

from __future__ import annotations

from dataclasses import dataclass

from mudy import candidates as noun_phrases
from mudy.candidates import MAX_CHARACTERS, Candidate
from mudy.nested_candidates import nested_candidates
from mudy.options import DEFAULT_OPTIONS, CandidateKind, Options
from mudy.protocols import ReadingProtocol
from mudy.text import Document, squeeze


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

    @property
    def words(self) -> int:
        return self.document.word_count


def with_candidates(
    document: Document, options: Options, kind: CandidateKind = "nouns", protocol: ReadingProtocol | None = None
) -> PreparedText:
    """A document with its candidates: those given, those of the protocol, or those of a kind."""
    found, missing = _candidates(document, options, kind, protocol)
    return PreparedText(document, tuple(found), missing, _other_phrases(options, protocol), options)


def _candidates(
    document: Document, options: Options, kind: CandidateKind, protocol: ReadingProtocol | None
) -> tuple[list[Candidate], tuple[str, ...]]:
    missing: tuple[str, ...] = ()
    limit, stops = options.max_candidate_words, options.stop_phrases
    if options.phrases is not None:
        found, missing = noun_phrases.given(document, options.phrases)
    elif kind == "nested":  # under a protocol too: it says how a text is read
        return nested_candidates(document, max_words=limit, stop_phrases=stops), missing
    elif protocol is not None:
        found = protocol.candidates(document)
    else:
        return noun_phrases.candidates(document, max_words=limit, stop_phrases=stops), missing
    excluded = _excluded(options)
    return [candidate for candidate in found if candidate.phrase not in excluded], missing


def _other_phrases(options: Options, protocol: ReadingProtocol | None) -> PhraseFilter | None:
    """What a method may return beside the candidates: nothing if they were given; any length under a protocol."""
    if options.phrases is not None:
        return None
    return PhraseFilter(_excluded(options), None if protocol else options.max_candidate_words)


def _excluded(options: Options) -> frozenset[str]:
    return frozenset(squeeze(phrase).lower() for phrase in options.stop_phrases)
