"""How long a document takes, by method and, for the methods that prompt, by step; measured now, in one process."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from experiments.reproduce import paper, plots, variants
from experiments.reproduce.comparison import compared, title_of
from experiments.reproduce.markdown import Gap, Page, cell, markdown_table
from experiments.reproduce.method_table import finish, start
from experiments.reproduce.workspace import Workspace
from mudy.errors import MudyError
from mudy.evaluation.datasets import Dataset
from mudy.evaluation.experiment import machine, read_record
from mudy.extraction.extractor import Extractor
from mudy.extraction.promptrank_protocol import promptrank_candidates
from mudy.methods import model_fields
from mudy.methods.method import GenerativeMethod, Method

TIMED_STEPS = {
    "tagging": "tagging and candidates",
    "encode": "reading the document",
    "log_likelihood": "scoring the candidates",
    "received_attention": "attention, document and windows",
    "rest": "the rest",
}
_WARM_UP_TEXT = "A short text about river ice and a radar map. The map is old."


class Clock:
    """CPU-seconds of this process, by step."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)

    def __call__(self, step: str, call: Callable[..., Any], *arguments: Any) -> Any:
        before = time.process_time()
        try:
            return call(*arguments)
        finally:
            self.spent[step] += time.process_time() - before


class Timed:
    """A backbone whose answers are timed; all else is the backbone's own."""

    def __init__(self, backbone: Any, clock: Clock) -> None:
        self._backbone, self._clock = backbone, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backbone, name)

    def encode(self, *arguments: Any) -> Any:
        return self._clock("encode", self._backbone.encode, *arguments)

    def log_likelihood(self, *arguments: Any) -> Any:
        return self._clock("log_likelihood", self._backbone.log_likelihood, *arguments)

    def received_attention(self, *arguments: Any) -> Any:
        return self._clock("received_attention", self._backbone.received_attention, *arguments)


def timing(workspace: Workspace) -> Page:
    """Seconds a document over the first few documents of the first data set."""
    name = next(iter(workspace.ordered()))
    data = workspace.dataset(name)
    assert isinstance(data, Dataset), "it is in the folder"
    data = replace(data, documents=data.documents[: workspace.options.timed])
    page = start(workspace, "fig-time", "Processing time", [name])
    spent: dict[str, dict[str, float]] = {}
    for label, method, model, settings in _measured(workspace):
        workspace.show("Timing", len(spent), len(spent) + 1)
        try:
            spent[label] = seconds(workspace.extractor(method, model, **settings), data)
        except MudyError as error:
            page.gap(label, Gap(str(error)))
    totals = {label: sum(steps.values()) for label, steps in spent.items()}
    split = {label: steps for label, steps in spent.items() if steps.get("log_likelihood")}
    stacked = {
        label: {words: steps.get(step, 0.0) for step, words in TIMED_STEPS.items()} for label, steps in split.items()
    }
    page.figure("fig-time.png", plots.times(totals, stacked), "CPU-seconds a document, by method and by step")
    page.add(
        markdown_table(
            ["CPU-seconds a document", "total", *TIMED_STEPS.values()],
            [[label, cell(totals[label], digits=2), *_steps(spent[label], label in split)] for label in spent],
        )
    )
    page.add(
        f"The first {len(data.documents)} documents of {paper.DATASET_TITLES[name]}, one after the other in one "
        f"process, after one short text to warm up; CPU-seconds of all threads, on {machine()['cores']} cores "
        f"({machine()['processor']}). Other work on the machine makes them longer. The paper prints no numbers with "
        "this figure that we know of, so there are none in brackets."
    )
    page.remarks.append(
        f"Threads: {workspace.options.threads or 'all CPUs'}. Measured afresh each time; nothing of it is kept."
    )
    return finish(workspace, page, [name], len(data.documents), "Texts are read as published experiments read them.")


def _measured(workspace: Workspace) -> list[tuple[str, str, str | None, dict[str, Any]]]:
    """Label, method, model and settings of all that is timed."""
    known: list[tuple[str, str, str | None, dict[str, Any]]] = [
        (title_of(name), name, None, {}) for name in compared(by_language_model=False)
    ]
    for model in workspace.options.models:
        called = workspace.label(model)
        known += [(f"{title_of(name)}, {called}", name, model, {}) for name in compared(by_language_model=True)]
        known.append((f"PromptRank, {called}", "promptrank", model, {}))
        known.append((f"MUDY, {called}, one setting", "mudy", model, {}))
        known.append((f"MUDY, {called}, as published", "mudy", model, variants.published_settings(workspace, model)))
    return known


def seconds(extractor: Extractor, data: Dataset) -> dict[str, float]:
    """CPU-seconds a document by step; a method without such steps has "tagging" and "rest"."""
    clock, scorer = Clock(), extractor.scorer
    score_all(scorer, [extractor.tagger.document(_WARM_UP_TEXT)], Clock())
    if "backbone" in model_fields(extractor.method) and extractor.method in ("mudy", "promptrank"):
        scorer = replace(scorer, backbone=Timed(scorer.backbone, clock))  # type: ignore[type-var, attr-defined]
    began = time.process_time()
    documents = [clock("tagging", read_record, extractor, data, record) for record in data.documents]
    score_all(scorer, documents, clock)
    clock.spent["rest"] = time.process_time() - began - sum(clock.spent.values())
    return {step: max(0.0, clock.spent[step]) / len(documents) for step in TIMED_STEPS}


def score_all(scorer: Method, documents: Sequence[Any], clock: Clock) -> None:
    for document in documents:
        candidates = clock("tagging", promptrank_candidates, document)
        if isinstance(scorer, GenerativeMethod):
            scorer.choose(document, candidates)
        elif candidates:
            scorer.score(document, candidates)


def _steps(steps: dict[str, float], known: bool) -> list[str]:
    """The steps of a method; where the model is not asked step by step, tagging and the rest."""
    shown = TIMED_STEPS if known else ("tagging", "rest")
    return [cell(steps.get(step, 0.0), digits=2) if step in shown else "" for step in TIMED_STEPS]
