"""The rows of an output, read back: what was written, as far as its form holds it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mudy.corpus.table_rows import BATCH_ROWS, LONGEST_CELL, arrow_parquet

WrittenRow = dict[str, Any]
_PARTIAL = frozenset({".csv", ".tsv"})  # forms that do not hold all of a row


def written_rows(files: Iterable[Path], ending: str) -> Iterator[WrittenRow]:
    """The rows of files of one form, in their order."""
    readers = {".jsonl": _json_rows, ".parquet": _parquet_rows, ".csv": _csv_rows, ".tsv": _csv_rows}
    for file in files:
        yield from readers[ending](file)


def is_whole(ending: str) -> bool:
    """Whether a form holds all of a row, so that it can be written again."""
    return ending not in _PARTIAL


def _json_rows(path: Path) -> Iterator[WrittenRow]:
    with path.open("rb") as stream:
        for line in stream:
            yield json.loads(line)


def _parquet_rows(path: Path) -> Iterator[WrittenRow]:
    with arrow_parquet().ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            for row in batch.to_pylist():
                yield {**row, "keyphrases": [_keyphrase(phrase) for phrase in row["keyphrases"]]}


def _keyphrase(phrase: Mapping[str, Any]) -> dict[str, Any]:
    """A keyphrase as writers take it: the parts of a score beside it."""
    occurrences = [
        {name: value for name, value in entry.items() if name != "parts"} | dict(entry["parts"])
        for entry in phrase["occurrences"]
    ]
    return {**phrase, "occurrences": occurrences}


def _csv_rows(path: Path) -> Iterator[WrittenRow]:
    """Lines of one text together: its best keyphrase, or a line without any, begins it."""
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        row: WrittenRow | None = None
        for line in csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ","):
            if line["rank"] in ("", "1"):
                if row is not None:
                    yield row
                row = {"id": line["id"], "keyphrases": [], "error": line["error"] or None}
            if row is not None and line["rank"]:
                row["keyphrases"].append(_from_line(line))
        if row is not None:
            yield row


def _from_line(line: Mapping[str, str]) -> dict[str, Any]:
    name = line["concept_id"]
    concept = {"id": name, "label": line["concept_label"]} if name else None
    return {"text": line["keyphrase"], "score": float(line["score"]), "concept": concept}
