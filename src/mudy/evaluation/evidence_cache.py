"""Evidence about the candidates of texts with gold keyphrases, kept in a folder: fitting again takes seconds.

One file per data set, one line per text. Texts that an interrupted run has written are used by the next one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mudy._support.storage import atomic_write, dump_json, open_to_append
from mudy.errors import InputError
from mudy.evaluation.datasets import Dataset
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


def gather(
    extractor: Extractor, datasets: Sequence[Dataset], cache: str | Path | None, show: FitProgress
) -> list[FitText]:
    """Every text with its evidence, from the cache where it holds it; InputError if that holds other evidence."""
    method, texts = extractor.scorer, []
    assert isinstance(method, MudyPlus)
    folder = None if cache is None else _checked_cache(Path(cache), extractor)
    for data in datasets:
        file = folder / f"{data.name}.jsonl" if folder else None
        known = _texts(data.name, file) if file and file.exists() else {}
        for done, record in enumerate(data.documents):
            show(f"Reading {data.name}", done, len(data.documents))
            key = hash_of(record)
            text = known.get(key)
            if text is None:
                prepared = extractor.prepare(read_record(extractor, data, record))
                about = data.name, record.id
                text = FitText.of(method, prepared.document, prepared.candidates, record.keyphrases, *about)
                if file:
                    with open_to_append(file) as stream:
                        stream.write(dump_json({"hash": key, **_line(text)}).encode() + b"\n")
            texts.append(text)
    return texts


def _checked_cache(folder: Path, extractor: Extractor) -> Path:
    """The folder, which is created if missing."""
    head, now = folder / _HEAD, _made_with(extractor)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not head.exists():
            with atomic_write(head) as unfinished:
                unfinished.write_text(dump_json(now, indent=1) + "\n", encoding="utf-8")
        changes = differences(json.loads(head.read_text(encoding="utf-8")), now)
    except OSError as error:
        raise InputError(f"{folder}: cannot be used as a cache ({error.strerror or error}).") from error
    except ValueError as error:
        raise InputError(f"{head}: not written by `mudy fit` ({error}). Name another folder.") from error
    if changes:
        raise InputError(
            f"{folder}: its evidence was computed in another way ({'; '.join(changes)}). Name another folder."
        )
    return folder


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


def _texts(dataset: str, file: Path) -> dict[str, FitText]:
    """The texts of a data set that are in the cache, by the hash of their records; one that was cut off is not."""
    lines = map(parsed_line, file.read_bytes().split(b"\n"))
    return {line["hash"]: _text(dataset, line) for line in lines if line}


def _text(dataset: str, line: Mapping[str, Any]) -> FitText:
    candidates = tuple(
        Candidate(phrase, tuple(Occurrence(Span(start, end), sentence) for start, end, sentence in places))
        for phrase, *places in line["candidates"]
    )
    columns = {name: np.array(column, dtype=np.float64) for name, column in line["columns"].items()}
    return FitText(
        dataset,
        line["id"],
        line["text"],
        candidates,
        tuple(line["gold"]),
        Table(columns, line["context"], line["plainness"]),
        tuple(line["asked"]),
        language=line["language"],
        words=line["words"],
    )
