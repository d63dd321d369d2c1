"""Prepared texts -> their candidates with scores: several texts together where the method can."""

from __future__ import annotations

from collections.abc import Sequence

from mudy.extraction.preparation import PreparedText
from mudy.extraction.results import Coverage, ModelCoverage
from mudy.methods.method import BatchMethod, GenerativeMethod, Method, ScoredCandidates
from mudy.reading.document import Document, Span


def score_texts(method: Method, prepared: Sequence[PreparedText]) -> list[ScoredCandidates]:
    """The scored candidates of each text; none depends on the other texts."""
    full = [text for text in prepared if text.candidates]
    if len(full) > 1 and isinstance(method, BatchMethod):
        scores = iter(method.score_many([(text.document, text.candidates) for text in full]))
        return [ScoredCandidates.of(text.candidates, next(scores) if text.candidates else ()) for text in prepared]
    return [_scored_alone(method, text) if text.candidates else ScoredCandidates((), ()) for text in prepared]


def _scored_alone(method: Method, text: PreparedText) -> ScoredCandidates:
    """One text's candidates; from a method that writes, those chosen, and such others as are allowed."""
    if isinstance(method, GenerativeMethod):
        given, others = set(text.candidates), text.others
        chosen = method.choose(text.document, text.candidates)
        return chosen.only(lambda c: c in given or (others is not None and others(c)))
    return ScoredCandidates.of(text.candidates, method.score(text.document, text.candidates))


def coverage(document: Document, scored: ScoredCandidates) -> Coverage:
    """How much of a text was read; a text without candidates counts as read in one go, and by no model."""
    words = len(document.text.split())
    read, every = max(0, words - document.skipped_words - scored.unread_words), words + document.omitted_words
    models = tuple(_model_coverage(document.text, *pair, words / max(1, every)) for pair in scored.read.items())
    return Coverage(read, every, max(1, len({score.section for score in scored.scores})), models)


def _model_coverage(text: str, model: str, spans: Sequence[Span], kept: float) -> ModelCoverage:
    """What a model read of a text, of which `kept` is the share that is left."""
    found = joined(text, spans)
    characters = sum(span.end - span.start for span in found)
    return ModelCoverage(model, characters / max(1, len(text)) * kept, found)


def joined(text: str, spans: Sequence[Span]) -> tuple[Span, ...]:
    """The same spans in order, those joined that overlap or have nothing to read between them."""
    found: list[Span] = []
    for span in sorted(spans):
        before = found[-1].end if found else 0
        if any(map(str.isalnum, text[before : span.start])):
            found.append(span)
        else:
            found[-1:] = [Span(found[-1].start if found else 0, max(before, span.end))]
    if found and not any(map(str.isalnum, text[found[-1].end :])):
        found[-1] = Span(found[-1].start, len(text))
    return tuple(found)
