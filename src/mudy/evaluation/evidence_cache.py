"""Evidence about the candidates of texts with gold keyphrases, kept in a folder: fitting again takes seconds.

One file per data set, one line per text. Texts that an interrupted run has written are used by the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mudy._support.storage import atomic_write, dump_json, open_to_append
from mudy.errors import InputError
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import hash_of, read_record
from mudy.evaluation.runs import parsed_line
from mudy.extraction.extractor import Extractor
from mudy.extraction.run_identity import differences, json_values, model_fingerprints, requested_settings
from mudy.methods.mudyplus.cascade import MudyPlus
from mudy.methods.mudyplus.evidence_table import EVIDENCE, Table
from mudy.methods.mudyplus.fit_texts import ASKED, START, FitText
from mudy.methods.mudyplus.weights import VERSION
from mudy.reading.candidates import Candidate, Occurrence
from mudy.reading.document import Span

_HEAD = "made-with.json"
FitProgress = Callable[[str, int, int], None]  # what is being done, texts done, of how many


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
                prepared = extractor.prepare(read_record(extractor, data, record))
                about = data.name, record.id
                text = FitText.of(method, prepared.document, prepared.candidates, record.keyphrases, *about)
                if cache:
                    cache.add(record, text)
            texts.append(text)
    return texts
