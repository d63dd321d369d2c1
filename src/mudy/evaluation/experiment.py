"""One method over data sets with gold keyphrases, document by document, into a run.

>>> run = evaluate(Extractor("yake", protocol="promptrank"), [load("duc2001.jsonl")], "run.json")
>>> print((F1 @ 10).interval(run.outcomes("duc2001")))
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mudy._support.validation import checked, seen
from mudy.candidates.stemming import stems_of
from mudy.errors import InputError, ModelError, SettingError
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.measures import present_and_absent
from mudy.evaluation.promptrank_protocol import PROTOCOL_WORDS
from mudy.evaluation.runs import JudgedDocument, Run, RunFile
from mudy.extraction.extractor import Extractor
from mudy.extraction.results import Keyphrase, Result
from mudy.extraction.run_identity import differences, model_fingerprints, requested_settings
from mudy.methods import settings_of
from mudy.methods.method import GenerativeMethod
from mudy.reading.document import Document, first_words
from mudy.reading.languages import AUTO, detection_of
from mudy.reading.tagging import TextReader

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
    """Extract from every document, and give the run over just these documents.

    With an output, documents that it holds already are not computed again; it is refused if they were computed in
    another way, unless `restart` throws them away. `places` also keeps every occurrence with what its score was made
    of. Under the extractor's protocol "promptrank" texts are read by the published rules of their data set.
    """
    _check(extractor, datasets, output, places=places, restart=restart, progress=progress)
    refuse_equal_names(datasets)
    asked = run_request(extractor, places)
    file = RunFile(output) if output is not None else None
    with file.locked() if file else nullcontext():
        if file and restart:
            file.forget()
        before = file.found(asked) if file else None
        if file and before:
            file.refuse(_other_models(extractor, before), "computed")
        known = {(d.data, d.id): d for d in before.documents} if before else {}
        todo = [(data, record) for data in datasets for record in data.documents if not _done(known, data, record)]
        if todo or before is None:
            fresh = Run(asked, used_by(extractor), (), machine())
            if file:
                file.refuse([] if before is None else _changes(before, fresh), "computed")
                file.begin(before or fresh)
            counted = {data.name: len(data.documents) for data in datasets}
            for data, record in todo:
                if progress:
                    progress(data.name, sum(name == data.name for name, _ in known), counted[data.name])
                judged = judge(extractor, data, record, places=places)
                known[data.name, record.id] = judged
                if file:
                    file.add(judged)
            before = Run(asked, (before or fresh).used, tuple(known.values()), (before or fresh).machine)
            if file:
                file.finish(before)
    wanted = tuple(known[data.name, record.id] for data in datasets for record in data.documents)
    return Run(before.asked, before.used, wanted, before.machine)


def _check(extractor: Any, datasets: Any, output: Any, *, places: Any, restart: Any, progress: Any) -> None:
    """Raise where an argument of `evaluate` is not what it must be."""
    if not isinstance(extractor, Extractor):
        raise SettingError(f"extractor is {seen(extractor)}, but must be an Extractor.")
    if not isinstance(datasets, list | tuple) or not all(isinstance(data, Dataset) for data in datasets):
        raise InputError(f"datasets is {seen(datasets)}, but must be a list of data sets, as `load` gives them.")
    if output is not None and (not isinstance(output, str | Path) or not str(output)):
        raise SettingError(f"output is {seen(output)}, but must be the path of a file, or None.")
    checked("places", places, bool)
    checked("restart", restart, bool)
    checked("progress", progress, Callable | None)


def refuse_equal_names(datasets: Sequence[Dataset]) -> None:
    """InputError where two data sets would be taken for one."""
    names = [dataset.name for dataset in datasets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"Two data sets have the name {twice[0]!r}; rename one of the files.")


def _done(known: Mapping[tuple[str, str], JudgedDocument], data: Dataset, record: Record) -> bool:
    """Whether a document is there already; one that has changed since must not pass for it."""
    found = known.get((data.name, record.id))
    if found is not None and found.hash != hash_of(record):
        raise InputError(
            f"Document {record.id!r} of {data.name} has changed since it was computed; pass --restart to begin anew."
        )
    return found is not None


def _changes(before: Run, now: Run) -> list[str]:
    return differences(before.used, now.used)


def _other_models(extractor: Extractor, before: Run) -> list[str]:
    """Models whose files have changed since a run was computed, in words; those that are not here do not count."""
    return differences(*_common(before.used.get("models", {}), _models_here(extractor)))


def _models_here(extractor: Extractor) -> dict[str, str]:
    try:
        return model_fingerprints(extractor, fetch=False)
    except ModelError:
        return {}


def _common(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    names = [name for name in before if name in now]
    return {"models": {name: before[name] for name in names}}, {"models": {name: now[name] for name in names}}


def judge(extractor: Extractor, data: Dataset, record: Record, *, places: bool = False) -> JudgedDocument:
    """One document: read, extracted from, timed, and put beside its gold."""
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
    standing = present_and_absent(gold, document.text, document.language)[0]
    candidates = {stems_of(keyphrase.text.lower(), document.language) for keyphrase in keyphrases}
    return JudgedDocument(
        data=data.name,
        id=record.id,
        hash=hash_of(record),
        gold=gold,
        present=tuple(phrase in standing for phrase in gold),
        phrases=tuple(keyphrase.text.lower() for keyphrase in keyphrases),
        scores=tuple(keyphrase.score for keyphrase in keyphrases),
        occurrences=prediction_count(extractor, keyphrases),
        reached=sum(stems_of(phrase, document.language) in candidates for phrase in gold),
        words=len(document.text.split()),
        seconds=round(wall, 4),
        cpu_seconds=round(cpu, 4),
        error=error,
        dropped=0 if result is None else len(result.dropped),
        places=tuple(_places(result)) if places and result is not None else (),
        language=document.language,
    )


def prediction_count(extractor: Extractor, keyphrases: Sequence[Keyphrase]) -> int:
    """How many predictions there are to count: candidate occurrences, as PromptRank has it, or phrases written."""
    if isinstance(extractor.scorer, GenerativeMethod):
        return len(keyphrases)
    return sum(len(keyphrase.occurrences) for keyphrase in keyphrases)


def _places(result: Result) -> list[dict[str, float]]:
    return [
        {"phrase": index, **occurrence.to_dict()}
        for index, keyphrase in enumerate(result.keyphrases)
        for occurrence in keyphrase.occurrences
    ]


def read_record(extractor: Extractor, data: Dataset, record: Record) -> Document:
    """A record as the extractor's protocol reads texts of this data set.

    Published protocols are for English. Of texts in other languages as many words are read, in their own case.
    """
    if extractor.protocol is None:
        return extractor.read(record.text)
    reader, words = _reader(extractor, record.text), extractor.max_words or PROTOCOL_WORDS
    if reader.language == "en":
        return reader.document(*data.promptrank_text(record, max_words=words))
    return reader.document(*first_words(record.text, words))


def _reader(extractor: Extractor, text: str) -> TextReader:
    """What reads a text: by the language that was given, or that the whole text is in."""
    return extractor.tagger if extractor.language != AUTO else extractor.loader.reader(detection_of(text).likely)


def hash_of(record: Record) -> str:
    content = json.dumps([record.title, record.text, record.keyphrases])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


# -- What a run depends on --------------------------------------------------------------------------------------------


def run_request(extractor: Extractor, places: bool) -> dict[str, Any]:
    """What was asked for, in JSON's types. Nothing is loaded for it."""
    return {**requested_settings(extractor), "places": places}


def used_by(extractor: Extractor) -> dict[str, Any]:
    """Every setting in force, once the method is made, and the models and versions of all that computes."""
    scorer: Any = extractor.scorer
    return {
        "settings": {name: getattr(scorer, name) for name in settings_of(extractor.method)},
        "tagger": extractor.tagger.name,
        "models": _models_here(extractor),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    """Where it was computed; only the cost depends on it."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
