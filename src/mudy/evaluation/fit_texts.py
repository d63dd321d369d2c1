"""A text with gold keyphrases and all evidence of its candidates: what weights are fitted on, and judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mudy.candidates import Candidate
from mudy.candidates.stemming import stems_of
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import read_record
from mudy.extraction.extractor import Extractor
from mudy.methods.mudyplus.cascade import MudyPlus, TextEvidence, leading, not_asked, totals
from mudy.methods.mudyplus.counted import counted
from mudy.methods.mudyplus.evidence_table import CONTEXT, Numbers, Table
from mudy.methods.mudyplus.fitting import Sample
from mudy.methods.mudyplus.weights import Sum, Weights

ASKED = 45  # phrases that the language model is asked about while fitting: more than will lead
START = Sum(  # chooses the phrases that are encoded and asked about while fitting, whatever weights there are
    {
        "own_frequency": 1.3,
        "nested_frequency": 0.3,
        "noun_phrase": 1.0,
        "one_word": -0.4,
        "one_word_noun_phrase": -0.2,
        "usual_length": 0.25,
        "first_position": -0.3,
        "generic": -1.5,
        "similarity": 0.7,
    },
    {},
    0.0,
)


@dataclass(frozen=True)
class FitText:
    """One text with its evidence, its gold, and the part of the data that is left out together with it."""

    dataset: str
    id: str
    text: str
    candidates: tuple[Candidate, ...]
    gold: tuple[str, ...]
    table: Table
    asked: tuple[int, ...] = ()  # rows that the language model was asked about
    part: str = ""
    language: str = "en"
    weight: float = 1.0  # of its data set in a fit, beside one of as many texts

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Which candidates have the stems of a gold phrase."""
        right = {stems_of(phrase, self.language) for phrase in self.gold}
        phrases = (stems_of(candidate.phrase, self.language) for candidate in self.candidates)
        return np.fromiter((phrase in right for phrase in phrases), dtype=bool, count=len(self.candidates))

    @property
    def reached(self) -> int:
        """How many gold phrases have the stems of a candidate."""
        found = {stems_of(candidate.phrase, self.language) for candidate in self.candidates}
        return sum(stems_of(phrase, self.language) in found for phrase in self.gold)

    def sample(self, names: Sequence[str], rows: Sequence[int] | None = None) -> Sample:
        """Some evidence of some rows, or of all, to fit on."""
        chosen = slice(None) if rows is None else list(rows)
        context = np.array([self.table.context[name] for name in CONTEXT])
        return Sample(self.dataset, self.table.rows(names)[chosen], self.hits[chosen], context, self.weight)

    @property
    def tells(self) -> bool:
        """Whether there is a gold phrase among the candidates, beside others."""
        return bool(self.hits.any() and not self.hits.all())

    def leaders(self, weights: Sum, most: int) -> list[int]:
        """The rows that lead by a sum, of those that the language model was asked about."""
        return sorted(set(leading(sums(self.table, weights), most)).intersection(self.asked))


def fit_text(extractor: Extractor, method: MudyPlus, data: Dataset, record: Record) -> FitText:
    """A text as `mudy evaluate` reads it, with all evidence that the extractor's speed has."""
    prepared = extractor.prepare(read_record(extractor, data, record))
    document, candidates = prepared.document, prepared.candidates
    gold = tuple(phrase.lower() for phrase in record.keyphrases)
    if not candidates:
        return FitText(data.name, record.id, document.text, candidates, gold, Table({}, {}), language=document.language)
    table = counted(document, candidates, method.encoder.tokenizer)
    (table,) = method.with_similarities([TextEvidence(table, document, candidates)], START)
    rows: list[int] = []
    if method.backbone is not None and method.leaders:
        rows = leading(totals(table, START), max(ASKED, method.leaders))
        table = method.with_answers(table, document, candidates, rows)
    asked = tuple(rows)
    return FitText(data.name, record.id, document.text, candidates, gold, table, asked, language=document.language)


def sums(table: Table, weights: Sum) -> Numbers:
    """The log-odds of every row by one sum."""
    base = weights.intercept + sum(weight * table.context[name] for name, weight in weights.context.items())
    found: Numbers = totals(table, weights) + base
    return found


def log_odds(text: FitText, weights: Weights, leaders: int) -> Numbers:
    """The log-odds that MUDY+ gives every candidate: by `quick`, and those of the leaders by `full` if there is one."""
    if not text.candidates:
        return np.zeros(0)
    values = sums(text.table, weights.quick)
    if weights.full is None:
        return values
    asked = text.leaders(weights.quick, leaders)
    if not asked:
        return values
    values[asked] = sums(text.table, weights.full)[asked]
    rest, lead = not_asked(values, asked)
    values[rest] -= lead
    return values
