"""The workspace of `reproduce`: data sets in a folder, models by name, and all earlier runs."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.reproduce import paper
from experiments.reproduce.markdown import Gap
from mudy._support.storage import refuse_inputs
from mudy.engines import Chat, Speed
from mudy.engines.interfaces import Backbone, SentenceEncoder
from mudy.errors import InputError, MissingExtra, ModelError, SettingError
from mudy.evaluation.datasets import Dataset, load, recognised, set_name
from mudy.evaluation.experiment import evaluate, run_request
from mudy.evaluation.measures import DEPTHS
from mudy.evaluation.runs import JudgedDocument, Run, RunFile
from mudy.extraction.extractor import Extractor
from mudy.extraction.model_loader import ModelLoader
from mudy.extraction.options import DEFAULT_ENCODER
from mudy.methods import model_fields
from mudy.models import Report
from mudy.reading.tagging import Tagger

_RUNS_IN_MEMORY = 8  # one with places takes some 30 MB
RESCORABLE = ("mudy", "promptrank")  # methods whose occurrences are kept
_MAX_DEPTH = max(DEPTHS)
_TRANSLATION = re.compile(r"[_-][a-z]{2}$")
RunOrGap = Run | Gap
Show = Callable[[str, int, int], None]  # what is done, how far it is, of how much


@dataclass(frozen=True)
class ReproduceOptions:
    """What decides the numbers, and where they go."""

    data: Path
    models: tuple[str, ...]
    output: Path
    encoder: str = DEFAULT_ENCODER
    limit: int | None = None  # documents of each set
    limits: Mapping[str, int] = field(default_factory=dict)  # of one set
    dtype: str | None = None
    threads: int | None = None
    speed: Speed | None = None
    endpoint: str | None = None
    endpoint_model: str | None = None
    document: str | None = None  # for the figure of one document
    timed: int = 5  # documents for the figure of processing time
    kept: bool = False  # take runs as they are and compute nothing
    command: str = "python -m experiments.reproduce"


class Workspace:
    """Data sets, models and runs, each loaded once and only when it is needed."""

    def __init__(self, options: ReproduceOptions, show: Show | None = None, report: Report | None = None) -> None:
        self.options = options
        self.paths = find_datasets(options.data)
        self.used: list[Run] = []  # by the item that is being made
        self._show, self._report = show, report
        self._sets: dict[str, Dataset] = {}
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._read: dict[tuple[Any, ...], RunOrGap] = {}
        self.grids: dict[str, Any] = {}  # F1 of many readings of one run
        self._failed: dict[tuple[str, str | None, str], Gap] = {}
        self._backbones: dict[str, Backbone] = {}
        self._chats: dict[str, Chat] = {}
        self._encoder: SentenceEncoder | None = None
        self._shapes: dict[str, tuple[str, int]] = {}
        self.folder = options.output / "runs"
        self.check_output(options.output)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be made ({error.strerror or error}).") from error

    def check_output(self, path: Path) -> None:
        """InputError if what would be written is one of the data sets, or part of one."""
        refuse_inputs(path, self.paths.values())

    # -- Data sets ----------------------------------------------------------------------------------------------------

    def dataset(self, name: str) -> Dataset | Gap:
        """The first documents of a data set, by its published name."""
        if name not in self.paths:
            return Gap(f"there is no data set {name} in {self.options.data}.")
        if name not in self._sets:
            limit = self.options.limits.get(name, self.options.limit)
            self._sets[name] = load(self.paths[name], limit=limit)
        return self._sets[name]

    def ordered(self) -> dict[str, Path]:
        """Where the data sets are, in the paper's order."""
        return {name: self.paths[name] for name in paper.DATASET_TITLES if name in self.paths}

    def at_hand(self, names: Iterable[str]) -> dict[str, Dataset]:
        """Those of some data sets that are in the folder."""
        sets = {name: self.dataset(name) for name in names}
        return {name: data for name, data in sets.items() if not isinstance(data, Gap)}

    # -- Runs ---------------------------------------------------------------------------------------------------------

    def run(self, data: str, method: str, model: str | None = None, **settings: Any) -> RunOrGap:
        """A method on a data set: what was computed before, and the rest computed now.

        The setting `endpoint` is no part of a run's name: it says where the model is.
        """
        dataset = self.dataset(data)
        return dataset if isinstance(dataset, Gap) else self.run_on(dataset, method, model, **settings)

    def run_on(self, dataset: Dataset, method: str, model: str | None = None, **settings: Any) -> RunOrGap:
        """A method on some documents. What is wrong with a model or a setting becomes the reason of a gap."""
        file = self.file(dataset.name, method, model, settings)
        self.check_output(file)
        key = f"{file} {len(dataset.documents)} {dataset.documents[0].id}"
        tried = (method, model, str(sorted(settings.items())))
        if tried in self._failed:
            return self._failed[tried]
        if key not in self._runs:
            try:
                run = self._evaluated(dataset, file, method, model, settings)
                if isinstance(run, Gap):
                    return run
                self._runs[key] = run
            except (ModelError, SettingError, MissingExtra) as error:
                self._failed[tried] = Gap(str(error))
                return self._failed[tried]
            while len(self._runs) > _RUNS_IN_MEMORY:
                self._runs.popitem(last=False)
        self._runs.move_to_end(key)
        run = self._runs[key]
        self.used.append(replace(run, documents=()))
        return run

    def _evaluated(
        self, dataset: Dataset, file: Path, method: str, model: str | None, settings: Mapping[str, Any]
    ) -> RunOrGap:
        extractor = self.extractor(method, model, **settings)
        if self.options.kept:
            return _kept(RunFile(file).found(run_request(extractor, method in RESCORABLE)), dataset)

        def progress(name: str, done: int, total: int) -> None:
            self.show(f"{method} {model or ''} on {name}", done, total)

        return evaluate(extractor, [dataset], file, places=method in RESCORABLE, progress=progress)

    def finished(self, data: str, method: str, model: str | None = None, **settings: Any) -> bool:
        """Whether such a run is there, over all documents."""
        dataset = self.dataset(data)
        if isinstance(dataset, Gap) or not (file := self.file(dataset.name, method, model, settings)).exists():
            return False
        known = {document.id for document in Run.load(file).documents}  # a journal does not count
        return all(record.id in known for record in dataset.documents)

    def file(self, data: str, method: str, model: str | None, settings: Mapping[str, Any]) -> Path:
        """Where a run is kept."""
        used = self.extractor(method, model, **settings).model_used
        own = {k: v for k, v in sorted(settings.items()) if k != "endpoint"}
        values = {k: "+".join(map(str, v)) if isinstance(v, tuple) else v for k, v in own.items()}
        words = [data, method, *([_plain(used)] if used else []), *(f"{k}={v}" for k, v in values.items())]
        return self.folder / f"{'-'.join(words)}.json"

    def extractor(self, method: str, model: str | None = None, **settings: Any) -> Extractor:
        """An extractor that reads as published experiments do, and shares models with the others."""
        arguments: dict[str, Any] = {"model": model} if model else {}
        if model_fields(method):
            arguments |= {"dtype": self.options.dtype, "speed": self.options.speed}
        arguments |= {"threads": self.options.threads, "encoder": self.options.encoder}
        made = Extractor(method, protocol="promptrank", report=self._report, **arguments, **settings)
        made.loader = WorkspaceLoader(made.loader.setup, made.compute, self._report, workspace=self)
        return made

    def show(self, step: str, done: int, total: int) -> None:
        if self._show is not None:
            self._show(step, done, total)

    def once(self, key: tuple[Any, ...], make: Callable[[], RunOrGap]) -> RunOrGap:
        """What was read from a run before, or is now, without what no table asks for."""
        if key not in self._read:
            run = make()
            self._read[key] = replace(run, documents=tuple(map(_slim, run.documents))) if isinstance(run, Run) else run
        run = self._read[key]
        if isinstance(run, Run):
            self.used.append(replace(run, documents=()))
        return run

    # -- Models -------------------------------------------------------------------------------------------------------

    @cached_property
    def tagger(self) -> Tagger:
        return Tagger("en")

    @cached_property
    def sentence_encoder(self) -> SentenceEncoder:
        return self.extractor("embedrank").loader.encoder()

    def backbone(self, name: str, load_it: Callable[[], Backbone]) -> Backbone:
        """A language model; the one before it is let go."""
        if name not in self._backbones:
            self._backbones.clear()
            self._backbones[name] = load_it()
        return self._backbones[name]

    def chat(self, name: str, load_it: Callable[[], Chat]) -> Chat:
        """A chat model; the one before it is let go."""
        if name not in self._chats:
            self._chats.clear()
            self._chats[name] = load_it()
        return self._chats[name]

    def encoder(self, load_it: Callable[[], SentenceEncoder]) -> SentenceEncoder:
        if self._encoder is None:
            self._encoder = load_it()
        return self._encoder

    def label(self, model: str) -> str:
        """What a model is called on a page: for a folder its last name, where that is enough."""
        last = Path(model).name
        alone = sum(Path(other).name == last for other in self.options.models) < 2
        return last if alone and Path(model).is_dir() else model

    def shape(self, model: str) -> tuple[str, int]:
        """Family and depth of a model, from its configuration alone; nothing if it is unavailable."""
        if model not in self._shapes:
            self._shapes[model] = _shape(model, self._report)
        return self._shapes[model]


@dataclass(frozen=True, eq=False, kw_only=True)
class WorkspaceLoader(ModelLoader):
    """Gives an extractor the tagger and the models of the workspace."""

    workspace: Workspace

    @property
    def tagger(self) -> Tagger:
        return self.workspace.tagger

    def backbone(self) -> Backbone:
        return self.workspace.backbone(self.setup.model, super().backbone)

    def encoder(self) -> SentenceEncoder:
        return self.workspace.encoder(super().encoder)

    def chat(self) -> Chat:
        return self.workspace.chat(f"{self.setup.model} {self.setup.endpoint}", super().chat)


def find_datasets(folder: Path) -> dict[str, Path]:
    """The paper's data sets in a folder, and Inspec, by their published names.

    A file of the very name goes before one with more to its name, such as kptimes_sample; a translation (_es) counts
    for none.
    """
    try:
        paths = sorted(folder.iterdir(), key=lambda path: (len(_stem(path)), path.name))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror or error}).") from error
    sets: dict[str, Path] = {}
    for path in paths:
        name = set_name(_stem(path))
        if (
            name in paper.DATASET_TITLES
            and name not in sets
            and not _TRANSLATION.search(_stem(path))
            and recognised(path)
        ):
            sets[name] = path
    if not sets:
        known = ", ".join(f"{name}.jsonl" for name in paper.DATASET_TITLES)
        raise InputError(f"{folder}: none of the paper's data sets is in it. Looked for: {known}, or folders so named.")
    return sets


def _kept(run: Run | None, dataset: Dataset) -> RunOrGap:
    """Those of some documents that a run holds."""
    known = {document.id: document for document in run.documents} if run else {}
    documents = tuple(known[record.id] for record in dataset.documents if record.id in known)
    return replace(run, documents=documents) if run and documents else Gap("it was not run, and --kept runs nothing.")


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _slim(document: JudgedDocument) -> JudgedDocument:
    """A document with no more phrases than are counted, and without occurrences, which take most of the memory."""
    return replace(document, phrases=document.phrases[:_MAX_DEPTH], scores=document.scores[:_MAX_DEPTH], places=())


def _plain(model: str) -> str:
    """A model's name, or its folder's, as part of a file's name."""
    return re.sub(r"[^\w.+-]+", "_", model).strip("_")


def _shape(model: str, report: Report | None) -> tuple[str, int]:
    from mudy import models

    try:
        models.locate(model, report=report, check="all but weights")
        return models.architecture(model)
    except (ModelError, OSError, ValueError):
        return "", 0
