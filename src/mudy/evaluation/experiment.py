"""Evaluate one method on data sets with gold keyphrases, document by document.

>>> run = evaluate(Extractor("yake", protocol="promptrank"), [load("duc2001.jsonl")], "run.json")
>>> print((F1 @ 10).interval(run.predictions("duc2001")))
"""

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mudy._support.storage import output_lock
from mudy.errors import InputError, ModelError
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.measures import are_present, have_stems_of
from mudy.evaluation.runs import JudgedDocument, Run, RunFile
from mudy.extraction.extractor import Extractor
from mudy.extraction.promptrank_protocol import PROTOCOL_WORDS
from mudy.extraction.results import Result
from mudy.extraction.run_identity import differences, model_fingerprints, requested_settings
from mudy.methods import settings_in_use
from mudy.methods.method import GenerativeMethod
from mudy.reading.document import Document, first_words
from mudy.reading.languages import AUTO, detection_of, installed_version

PACKAGES = ("mudy", "onnxruntime", "torch", "transformers", "spacy", "numpy")
ProgressCallback = Callable[[str, int, int], None]  # name of the data set, documents done, of how many


def evaluate(
    extractor: Extractor,
    datasets: Sequence[Dataset],
    output: str | Path | None = None,
    *,
    places: bool = False,
    restart: bool = False,
    progress: ProgressCallback | None = None,
) -> Run:
    """Extract from every document, and return the run over just these documents.

    Documents that the output already holds are not computed again; an output that was computed in another way is
    refused, unless `restart` discards it. `places` also keeps every occurrence with the parts of its score. Under the
    extractor's protocol "promptrank" texts are read by the published rules of their data set.
    """
    refuse_equal_names(datasets)
    file = None if output is None else RunFile(output)
    with output_lock(file.name) if file else nullcontext():
        if file and restart:
            file.forget()
        run = _completed(extractor, datasets, file, places, progress or (lambda *_: None))
    known = run.by_key()
    return replace(run, documents=tuple(known[data.name, record.id] for data in datasets for record in data.documents))


def _completed(
    extractor: Extractor, datasets: Sequence[Dataset], file: RunFile | None, places: bool, progress: ProgressCallback
) -> Run:
    """What was computed before, with the documents that it lacks."""
    asked = run_request(extractor, places)
    run = file.found(asked) if file else None
    if file and run:
        file.refuse(_other_models(extractor, run), "computed")
    known = {} if run is None else run.by_key()
    todo = [(data, record) for data in datasets for record in data.documents if not _done(known, data, record)]
    if run and not todo:
        return run
    used = used_by(extractor)
    if file and run:
        file.refuse(differences(run.used, used), "computed")
    run = run or Run(asked, used, (), machine())
    if file:
        file.begin(run)
    for data, record in todo:
        progress(data.name, sum(name == data.name for name, _ in known), len(data.documents))
        judged = judge(extractor, data, record, places=places)
        known[data.name, record.id] = judged
        if file:
            file.add(judged)
    run = replace(run, documents=tuple(known.values()))
    if file:
        file.finish(run)
    return run


def refuse_equal_names(datasets: Sequence[Dataset]) -> None:
    names = [dataset.name for dataset in datasets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"Two data sets have the name {twice[0]!r}; rename one of the files.")


def _done(known: Mapping[tuple[str, str], JudgedDocument], data: Dataset, record: Record) -> bool:
    """Whether a document was computed before; InputError if it has changed since."""
    document = known.get((data.name, record.id))
    if document is not None and document.hash != hash_of(record):
        raise InputError(
            f"Document {record.id!r} of {data.name} has changed since it was computed; pass --restart to start over."
        )
    return document is not None


def _other_models(extractor: Extractor, before: Run) -> list[str]:
    """Models whose files have changed since a run was computed, in words; missing models do not count."""
    then: Mapping[str, str] = before.used.get("models", {})
    now = {name: signature for name, signature in _models_here(extractor).items() if name in then}
    return differences({"models": then}, {"models": {**then, **now}})


def _models_here(extractor: Extractor) -> dict[str, str]:
    try:
        return model_fingerprints(extractor, fetch=False)
    except ModelError:
        return {}


def judge(extractor: Extractor, data: Dataset, record: Record, *, places: bool = False) -> JudgedDocument:
    extractor.load()  # before the clock starts
    wall, cpu = time.perf_counter(), time.process_time()
    error = None
    document = read_record(extractor, data, record)
    try:
        result: Result | None = extractor.extract(document, None, merge=False, distinct=False)  # as published
    except InputError as failure:  # of this document; what is wrong with a setting or a model is raised
        result, error = None, str(failure)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    keyphrases = () if result is None else result.keyphrases
    gold = tuple(phrase.lower() for phrase in record.keyphrases)
    phrases = tuple(keyphrase.text.lower() for keyphrase in keyphrases)
    generative = isinstance(extractor.scorer, GenerativeMethod)  # else candidates are counted, as PromptRank does
    kept = enumerate(keyphrases) if places else ()
    return JudgedDocument(
        data=data.name,
        id=record.id,
        hash=hash_of(record),
        gold=gold,
        present=tuple(are_present(gold, document.text, document.language)),
        phrases=phrases,
        scores=tuple(keyphrase.score for keyphrase in keyphrases),
        occurrences=len(keyphrases) if generative else sum(len(keyphrase.occurrences) for keyphrase in keyphrases),
        reached=sum(have_stems_of(gold, phrases, document.language)),
        words=len(document.text.split()),
        seconds=round(wall, 4),
        cpu_seconds=round(cpu, 4),
        error=error,
        dropped=0 if result is None else len(result.dropped),
        places=tuple({"phrase": number, **o.to_dict()} for number, keyphrase in kept for o in keyphrase.occurrences),
        language=document.language,
    )


def read_record(extractor: Extractor, data: Dataset, record: Record) -> Document:
    """A record as the extractor's protocol reads it; if it is not in English, only its first words."""
    if extractor.protocol is None:
        return extractor.read(record.text, blocks=record.blocks)
    detected = extractor.language == AUTO
    reader = extractor.loader.reader(detection_of(record.text).likely) if detected else extractor.tagger
    if reader.language == "en":
        return reader.document(*data.promptrank_text(record, max_words=extractor.max_words))
    return reader.document(*first_words(record.text, extractor.max_words or PROTOCOL_WORDS))


def hash_of(record: Record) -> str:
    blocks = [] if record.blocks is None else [[*map(asdict, record.blocks)]]
    content = json.dumps([record.title, record.text, record.keyphrases, *blocks])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def run_request(extractor: Extractor, places: bool) -> dict[str, Any]:
    """What was requested, in JSON types. Nothing is loaded for it."""
    return {**requested_settings(extractor), "places": places}


def used_by(extractor: Extractor) -> dict[str, Any]:
    """Every setting in force, and the models and package versions."""
    return {
        "settings": settings_in_use(extractor.scorer),
        "tagger": extractor.tagger.name,
        "models": _models_here(extractor),
        "versions": {name: number for name in PACKAGES if (number := installed_version(name))},
    }


def machine() -> dict[str, Any]:
    """The machine; only the cost depends on it."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
