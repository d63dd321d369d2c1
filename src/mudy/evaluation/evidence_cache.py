"""Evidence kept on disk, so that fitting again takes seconds: a file for each data set, a line for each text.

Resumable: what an interrupted run has written is used by the next one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mudy._support.storage import atomic_write, dump_json, open_to_append
from mudy.candidates import Candidate, Occurrence
from mudy.errors import InputError
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import hash_of
from mudy.evaluation.fit_texts import ASKED, FitText
from mudy.extraction.extractor import Extractor
from mudy.extraction.run_identity import differences, json_values, model_fingerprints, requested_settings
from mudy.methods.mudyplus.evidence_table import EVIDENCE, Table
from mudy.methods.mudyplus.weights import VERSION
from mudy.reading.document import Span

_HEAD = "made-with.json"
Rows = dict[str, dict[str, Any]]  # hash of a record -> its line


@dataclass(frozen=True)
class EvidenceCache:
    """A folder of evidence, all computed in one way."""

    folder: Path
    lines: dict[str, Rows] = field(default_factory=dict)  # by data set, read when first asked for

    @classmethod
    def at(cls, folder: str | Path, extractor: Extractor) -> EvidenceCache:
        """The cache in a folder, which is made if need be; InputError where it holds evidence of another kind."""
        found, now = cls(Path(folder)), _made_with(extractor)
        head = found.folder / _HEAD
        try:
            found.folder.mkdir(parents=True, exist_ok=True)
            if head.exists():
                _refuse_others(found.folder, json.loads(head.read_text(encoding="utf-8")), now)
            else:
                with atomic_write(head) as unfinished:
                    unfinished.write_text(dump_json(now, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{folder}: cannot be used as a cache ({error.strerror or error}).") from error
        except ValueError as error:
            raise InputError(f"{head}: not written by `mudy fit` ({error}). Name another folder.") from error
        return found

    def get(self, data: Dataset, record: Record) -> FitText | None:
        """What is known about a text; None if nothing is."""
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
            self.lines[dataset] = _read(file.read_text(encoding="utf-8")) if file.exists() else {}
        return self.lines[dataset]

    def _file(self, dataset: str) -> Path:
        return self.folder / f"{dataset}.jsonl"


def _made_with(extractor: Extractor) -> dict[str, Any]:
    """All that the evidence depends on."""
    return json_values(
        {
            "evidence": VERSION,
            "columns": EVIDENCE,
            "asked": ASKED,
            **requested_settings(extractor),
            "models": model_fingerprints(extractor),
        }
    )


def _refuse_others(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    if changes := differences(before, now):
        raise InputError(
            f"{folder}: the evidence in it was computed in another way ({'; '.join(changes)}). Name another folder."
        )


def _read(content: str) -> Rows:
    """The lines of a file by their hashes, without one that was cut off."""
    found = {}
    for line in content.split("\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue  # an interrupted run
        found[row["hash"]] = row
    return found


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
