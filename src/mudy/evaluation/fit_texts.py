"""Texts with gold keyphrases and all evidence of their candidates: what weights are fitted on, and judged by.

A folder may keep the evidence, so that fitting again takes seconds: one file per data set, one line per text. Texts
that an interrupted run has written are used by the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy._support.storage import atomic_write, dump_json, open_to_append
from mudy.candidates import Candidate, Occurrence
from mudy.errors import InputError
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import hash_of, read_record
from mudy.evaluation.measures import have_stems_of
from mudy.evaluation.runs import parsed_line
from mudy.extraction.extractor import Extractor
from mudy.extraction.run_identity import differences, json_values, model_fingerprints, requested_settings
from mudy.methods.mudyplus.cascade import MudyPlus, in_long_text, leading, not_asked, ordered, totals
from mudy.methods.mudyplus.evidence_table import CONTEXT, EVIDENCE, Numbers, Table
from mudy.methods.mudyplus.fitting import Sample
from mudy.methods.mudyplus.weights import VERSION, Sum, Weights
from mudy.reading.document import Span

ASKED = 1.5  # times as many phrases are scored by the language model while fitting as will lead
START = Sum(  # chooses the phrases that are encoded and asked about while fitting, whatever weights there are
    {
        "own_frequency": 2.3,
        "nested_frequency": 1.4,
        "cohesion": -0.2,
        "first_mention": -0.55,
        "in_heading": 0.2,
        "is_heading": 1.8,
        "noun_phrase": 1.2,
        "one_word": -1.0,
        "one_word_noun_phrase": -0.3,
        "digit": -1.25,
        "symbol": -1.3,
        "generic": -1.9,
        "rare_words": 0.5,
        "similarity": 0.66,
    },
    {},
    0.0,
)
_HEAD = "made-with.json"
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
    words: int = 0
    weight: float = 1.0  # of its data set in a fit, beside one of as many texts

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """Which candidates have the stems of a gold phrase."""
        phrases = [candidate.phrase for candidate in self.candidates]
        return np.array(have_stems_of(phrases, self.gold, self.language), dtype=bool)

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
        rows = leading(sums(self.table, weights), in_long_text(most, self.words))
        return sorted(set(rows).intersection(self.asked))


def fit_text(extractor: Extractor, method: MudyPlus, data: Dataset, record: Record) -> FitText:
    """A text as `mudy evaluate` reads it, with all evidence that the extractor's speed has."""
    prepared = extractor.prepare(read_record(extractor, data, record))
    document, candidates = prepared.document, prepared.candidates
    gold = tuple(phrase.lower() for phrase in record.keyphrases)
    about = data.name, record.id, document.text
    if not candidates:
        return FitText(*about, candidates, gold, Table({}, {}), language=document.language)
    asking = replace(method, leaders=round(ASKED * method.leaders))
    (text,) = asking.with_similarities([method.counted(document, candidates)], [START])
    if method.backbone is not None and method.leaders:
        (text,) = asking.with_answers([text], [ordered(totals(text.table, START))])
    asked = tuple(text.answers)
    return FitText(*about, candidates, gold, text.table, asked, language=document.language, words=document.word_count)


def sums(table: Table, weights: Sum) -> Numbers:
    """The log-odds of every row by one sum."""
    base = weights.intercept + sum(weight * table.context[name] for name, weight in weights.context.items())
    return np.asarray(totals(table, weights) + base)


def log_odds(text: FitText, weights: Weights, leaders: int) -> Numbers:
    """The log-odds that MUDY+ gives every candidate: by `quick`, and those of the leaders by `full` if there is one."""
    if not text.candidates:
        return np.zeros(0)
    values = sums(text.table, weights.quick)
    if weights.full is None or not (asked := text.leaders(weights.quick, leaders)):
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

    def texts(self, dataset: str) -> dict[str, FitText]:
        """The texts of a data set that are in the cache, by the hash of their records."""
        file = self._file(dataset)
        lines = map(parsed_line, file.read_bytes().split(b"\n")) if file.exists() else ()
        return {line["hash"]: _text(dataset, line) for line in lines if line}  # without one that was cut off

    def add(self, record: Record, text: FitText) -> None:
        with open_to_append(self._file(text.dataset)) as file:
            file.write(dump_json({"hash": hash_of(record), **_line(text)}).encode() + b"\n")

    def _file(self, dataset: str) -> Path:
        return self.folder / f"{dataset}.jsonl"


def _made_with(extractor: Extractor) -> dict[str, Any]:
    """Everything that the evidence depends on."""
    return json_values(
        {
            "evidence": VERSION,
            "columns": EVIDENCE,
            "asked": ASKED,
            "start": START.to_dict(),
            **fit_settings(extractor),
            "models": model_fingerprints(extractor),
        }
    )


def fit_settings(extractor: Extractor) -> dict[str, Any]:
    """What a fit was asked to do. Its weights belong to no style."""
    return {name: value for name, value in requested_settings(extractor).items() if name != "style"}


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
        "words": text.words,
    }


def _text(dataset: str, line: Mapping[str, Any]) -> FitText:
    candidates = tuple(
        Candidate(phrase, tuple(Occurrence(Span(start, end), sentence) for start, end, sentence in places))
        for phrase, *places in line["candidates"]
    )
    columns = {name: np.array(column, dtype=np.float64) for name, column in line["columns"].items()}
    table = Table(columns, line["context"], line["plainness"])
    about = {"language": line["language"], "words": line["words"]}
    return FitText(
        dataset, line["id"], line["text"], candidates, tuple(line["gold"]), table, tuple(line["asked"]), **about
    )


def gather(
    extractor: Extractor, datasets: Sequence[Dataset], cache: EvidenceCache | None, show: FitProgress
) -> list[FitText]:
    """Every text with its evidence, from the cache where it holds it."""
    method, texts = extractor.scorer, []
    assert isinstance(method, MudyPlus)
    for data in datasets:
        known = cache.texts(data.name) if cache else {}
        for done, record in enumerate(data.documents):
            show(f"Reading {data.name}", done, len(data.documents))
            text = known.get(hash_of(record))
            if text is None:
                text = fit_text(extractor, method, data, record)
                if cache:
                    cache.add(record, text)
            texts.append(text)
    return texts
