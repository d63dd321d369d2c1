"""Texts with gold keyphrases and all evidence of their candidates: what weights are fitted on, and judged by.

A folder may keep the evidence, so that fitting again takes seconds: one file per data set, one line per text. Texts
that an interrupted run has written are used by the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.storage import atomic_write, dump_json, open_to_append
from mudy.candidates import Candidate, Occurrence
from mudy.candidates.stemming import stems_of
from mudy.errors import InputError
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import hash_of, read_record
from mudy.evaluation.runs import parsed_line
from mudy.extraction.extractor import Extractor
from mudy.extraction.run_identity import differences, json_values, model_fingerprints, requested_settings
from mudy.methods.mudyplus.cascade import MudyPlus, TextEvidence, leading, not_asked, totals
from mudy.methods.mudyplus.counted import counted
from mudy.methods.mudyplus.evidence_table import CONTEXT, EVIDENCE, Numbers, Table
from mudy.methods.mudyplus.fitting import Sample
from mudy.methods.mudyplus.weights import VERSION, Sum, Weights
from mudy.reading.document import Span

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
_HEAD = "made-with.json"
Rows = dict[str, dict[str, Any]]  # hash of a record -> its line
FitProgress = Callable[[str, int, int], None]  # what is being done, texts done, of how many


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
        phrases = {stems_of(candidate.phrase, self.language) for candidate in self.candidates}
        return sum(stems_of(phrase, self.language) in phrases for phrase in self.gold)

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
    log_odds: Numbers = totals(table, weights) + base
    return log_odds


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


# -- Evidence on disk -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvidenceCache:
    """A folder of evidence, all computed in one way."""

    folder: Path
    lines: dict[str, Rows] = field(default_factory=dict)  # by data set, read when first asked for

    @classmethod
    def at(cls, folder: str | Path, extractor: Extractor) -> EvidenceCache:
        """The cache in a folder, which is created if missing; InputError where it holds other evidence."""
        cache, now = cls(Path(folder)), _made_with(extractor)
        head = cache.folder / _HEAD
        try:
            cache.folder.mkdir(parents=True, exist_ok=True)
            if head.exists():
                changes = differences(json.loads(head.read_text(encoding="utf-8")), now)
            else:
                changes = []
                with atomic_write(head) as unfinished:
                    unfinished.write_text(dump_json(now, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{folder}: cannot be used as a cache ({error.strerror or error}).") from error
        except ValueError as error:
            raise InputError(f"{head}: not written by `mudy fit` ({error}). Name another folder.") from error
        if changes:
            raise InputError(
                f"{folder}: its evidence was computed in another way ({'; '.join(changes)}). Name another folder."
            )
        return cache

    def get(self, data: Dataset, record: Record) -> FitText | None:
        """A text with its evidence; None where it is not in the cache."""
        line = self._of(data.name).get(hash_of(record))
        return None if line is None else _text(data.name, line)

    def add(self, data: Dataset, record: Record, text: FitText) -> None:
        line = {"hash": hash_of(record), **_line(text)}
        self._of(data.name)[line["hash"]] = line
        with open_to_append(self._file(data.name)) as file:
            file.write(dump_json(line).encode() + b"\n")

    def _of(self, dataset: str) -> Rows:
        if dataset not in self.lines:
            file = self._file(dataset)
            lines = map(parsed_line, file.read_bytes().split(b"\n")) if file.exists() else ()
            self.lines[dataset] = {line["hash"]: line for line in lines if line}  # without one that was cut off
        return self.lines[dataset]

    def _file(self, dataset: str) -> Path:
        return self.folder / f"{dataset}.jsonl"


def _made_with(extractor: Extractor) -> dict[str, Any]:
    """Everything that the evidence depends on."""
    return json_values(
        {
            "evidence": VERSION,
            "columns": EVIDENCE,
            "asked": ASKED,
            **requested_settings(extractor),
            "models": model_fingerprints(extractor),
        }
    )


def _line(text: FitText) -> dict[str, Any]:
    return {
        "id": text.id,
        "text": text.text,
        "language": text.language,
        "gold": text.gold,
        "candidates": [
            [candidate.phrase, *([o.span.start, o.span.end, o.sentence] for o in candidate.occurrences)]
            for candidate in text.candidates
        ],
        "columns": {name: column.tolist() for name, column in text.table.columns.items()},
        "context": dict(text.table.context),
        "plainness": text.table.plainness,
        "asked": text.asked,
    }


def _text(dataset: str, line: Mapping[str, Any]) -> FitText:
    candidates = tuple(
        Candidate(phrase, tuple(Occurrence(Span(start, end), sentence) for start, end, sentence in places))
        for phrase, *places in line["candidates"]
    )
    columns = {name: np.array(column, dtype=np.float64) for name, column in line["columns"].items()}
    table = Table(columns, line["context"], line["plainness"])
    return FitText(
        dataset,
        line["id"],
        line["text"],
        candidates,
        tuple(line["gold"]),
        table,
        tuple(line["asked"]),
        language=line.get("language", "en"),
    )


def gather(
    extractor: Extractor, datasets: Sequence[Dataset], cache: EvidenceCache | None, show: FitProgress
) -> list[FitText]:
    """Every text with its evidence, from the cache where it holds it."""
    method, texts = extractor.scorer, []
    assert isinstance(method, MudyPlus)
    for data in datasets:
        for done, record in enumerate(data.documents):
            show(f"Reading {data.name}", done, len(data.documents))
            known = cache.get(data, record) if cache else None
            text = known or fit_text(extractor, method, data, record)
            if cache and known is None:
                cache.add(data, record, text)
            texts.append(text)
    return texts
