"""Prepared texts -> their candidates with scores: several texts together where the method can."""

from __future__ import annotations

from collections.abc import Sequence

from mudy.methods.method import BatchMethod, GenerativeMethod, Method, ScoredCandidates
from mudy.preparation import PreparedText
from mudy.results import Coverage
from mudy.text import Document


def score_texts(method: Method, prepared: Sequence[PreparedText]) -> list[ScoredCandidates]:
    """The scored candidates of each text; none depends on the other texts."""
    full = [text for text in prepared if text.candidates]
    if len(full) > 1 and isinstance(method, BatchMethod):
        scores = iter(method.score_many([(text.document, text.candidates) for text in full]))
        return [ScoredCandidates(text.candidates, tuple(next(scores)) if text.candidates else ()) for text in prepared]
    return [_scored_alone(method, text) if text.candidates else ScoredCandidates((), ()) for text in prepared]


def _scored_alone(method: Method, text: PreparedText) -> ScoredCandidates:
    """One text's candidates; from a method that writes, those chosen, and such others as are allowed."""
    if isinstance(method, GenerativeMethod):
        given, others = set(text.candidates), text.others
        chosen = method.choose(text.document, text.candidates)
        return chosen.only(lambda c: c in given or (others is not None and others(c)))
    return ScoredCandidates(text.candidates, tuple(method.score(text.document, text.candidates)))


def coverage(document: Document, scored: ScoredCandidates) -> Coverage:
    """How much of a text was read; a text without candidates counts as read in one go."""
    words = len(document.text.split())
    read = max(0, words - document.skipped_words - scored.unread_words)
    return Coverage(read, words + document.omitted_words, max(1, len({score.section for score in scored.scores})))
