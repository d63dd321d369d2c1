"""Two ways to count the predictions of a document and to average over documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mudy.evaluation.measures.outcome import Depth, Outcome, predictions_counted


@dataclass(frozen=True, slots=True)
class Counts:
    """Hits, predictions and gold phrases of one document."""

    hits: int
    predicted: int
    gold: int


@dataclass(frozen=True, slots=True)
class Averaging:
    """How documents are counted, and how they become one number."""

    name: str
    count: Callable[[Outcome, int | Depth], Counts]
    pooled: bool  # counts are summed before the division; otherwise the mean of the documents' values is taken


def promptrank_counts(outcome: Outcome, k: int | Depth) -> Counts:
    """One document at k, to the letter of the published code.

    A prediction hits if its stems are those of a gold phrase. (Published: or if it equals one as written; equal forms
    have equal stems, so that adds nothing.) Two predictions with the stems of one gold phrase are two hits. Predictions
    are counted by candidate occurrences, not by phrases; gold phrases with duplicates and those not in the text.
    """
    gold = outcome.gold_stems
    k = predictions_counted(k, len(outcome.predictions), len(outcome.gold))
    hits = sum(phrase in gold for phrase in outcome.predicted_stems[:k])
    occurrences = len(outcome.predictions) if outcome.occurrences is None else outcome.occurrences
    return Counts(hits, min(k, occurrences), len(outcome.gold))


def stem_counts(outcome: Outcome, k: int | Depth) -> Counts:
    """One document at k where phrases with equal stems are one, among the gold and among the predictions."""
    gold = outcome.gold_stems
    predicted = list(dict.fromkeys(outcome.predicted_stems))
    predicted = predicted[: predictions_counted(k, len(predicted), len(gold))]
    return Counts(sum(phrase in gold for phrase in predicted), len(predicted), len(gold))


MICRO = Averaging("micro", promptrank_counts, pooled=True)
MACRO = Averaging("macro", stem_counts, pooled=False)
AVERAGINGS: Mapping[str, Averaging] = {averaging.name: averaging for averaging in (MICRO, MACRO)}
