"""A text with gold keyphrases and all evidence of its candidates: what weights are fitted on, and judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mudy.candidates import Candidate
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import read_record
from mudy.evidence.places import Numbers
from mudy.extractor import Extractor
from mudy.methods.mudyplus.cascade import MudyPlus, leading, not_asked, totals
from mudy.methods.mudyplus.evidence_table import CONTEXT, Table, counted
from mudy.methods.mudyplus.fitting import Sample
from mudy.methods.mudyplus.weights import Sum, Weights
from mudy.porter import stems
from mudy.text import Document


@dataclass(frozen=True)
class TextEvidence:
    """One text with its evidence, its gold, and the part of the data that is left out together with it."""

    dataset: str
    document: Document
    candidates: tuple[Candidate, ...]
    gold: tuple[str, ...]
    hits: NDArray[np.bool_]
    table: Table
    part: str = ""
    asked: tuple[int, ...] = ()  # rows that the language model was asked about

    def sample(self, names: Sequence[str], rows: Sequence[int] | None = None) -> Sample:
        """Some evidence of some rows, or of all, to fit on."""
        chosen = slice(None) if rows is None else list(rows)
        context = np.array([self.table.context[name] for name in CONTEXT])
        return Sample(self.dataset, self.table.rows(names)[chosen], self.hits[chosen], context)

    @property
    def tells(self) -> bool:
        """Whether there is a gold phrase among the candidates, beside others."""
        return bool(self.hits.any() and not self.hits.all())


def cheap_evidence(extractor: Extractor, method: MudyPlus, data: Dataset, record: Record) -> TextEvidence:
    """A text as `mudy evaluate` reads it, with the evidence that needs no language model."""
    prepared = extractor.prepare(read_record(extractor, data, record))
    document, candidates = prepared.document, prepared.candidates
    gold = tuple(phrase.lower() for phrase in record.keyphrases)
    right = set(map(stems, gold))
    hits = np.array([stems(candidate.phrase) in right for candidate in candidates], dtype=bool)
    table = Table({}, {})
    if candidates:
        table = method.with_similarity(counted(document, candidates, method.encoder.tokenizer), document, candidates)
    return TextEvidence(data.name, document, candidates, gold, hits, table)


def sums(table: Table, weights: Sum) -> Numbers:
    """The log-odds of every row by one sum."""
    base = weights.intercept + sum(weight * table.context[name] for name, weight in weights.context.items())
    found: Numbers = totals(table, weights) + base
    return found


def log_odds(text: TextEvidence, weights: Weights, leaders: int) -> Numbers:
    """The log-odds that MUDY+ gives every candidate: by `quick`, and those of the leaders by `full` if there is one."""
    if not text.candidates:
        return np.zeros(0)
    values = sums(text.table, weights.quick)
    if weights.full is None:
        return values
    asked = leading(values, leaders)
    values[asked] = sums(text.table, weights.full)[asked]
    rest, lead = not_asked(values, asked)
    values[rest] -= lead
    return values
