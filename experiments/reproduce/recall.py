"""Recall by how close a gold keyphrase is to its document: do the methods find only what the document is all about?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.reproduce import paper, plots, variants
from experiments.reproduce.markdown import Gap, Page, cell, markdown_table
from experiments.reproduce.method_table import finish, start
from experiments.reproduce.workspace import Workspace
from mudy.evaluation.datasets import Dataset
from mudy.evaluation.measures import FloatArray
from mudy.evaluation.runs import Run
from mudy.reading.candidates.stemming import stems_of as stems

_BINS = 5
_DEPTH = 15
_METHODS = {"PromptRank, no penalty": variants.promptrank, "MUDY, one setting": variants.fixed}


def recall(workspace: Workspace) -> Page:
    """Recall@15 in fifths of the gold keyphrases, from those least like their document to those most like it."""
    page = start(workspace, "fig-recall", "Recall by similarity to the document", paper.SETS)
    panels: dict[tuple[int, str], dict[str, list[float]]] = {}  # by index of the model, and data set
    rows = []
    for name, data in workspace.at_hand(paper.SETS).items():
        near = _similarities(workspace, data)
        edges = np.quantile(near, np.linspace(0, 1, _BINS + 1))
        bins = np.clip(np.searchsorted(edges, near, side="right") - 1, 0, _BINS - 1)
        for index, model in enumerate(workspace.options.models):
            called = workspace.label(model)
            for label, variant in _METHODS.items():
                run = variant(workspace, name, model)
                if isinstance(run, Run) and len(run.documents) < len(data.documents):
                    run = Gap("it was not run on all of the documents.")
                if isinstance(run, Gap):
                    page.gap(f"{label}, {called}", run)
                    continue
                recalls = by_bin(run, bins)
                title = (
                    paper.DATASET_TITLES[name]
                    if len(workspace.options.models) == 1
                    else f"{paper.DATASET_TITLES[name]}, {called}"
                )
                panels.setdefault((index, title), {})[label] = recalls
                rows.append([f"{label}, {called}", paper.DATASET_TITLES[name], *(cell(value) for value in recalls)])
        rows.append(["*cosine up to*", paper.DATASET_TITLES[name], *(f"*{edge:.2f}*" for edge in edges[1:])])
    if panels:
        ticks = ["lowest\nfifth", *(f"{i}." for i in range(2, _BINS)), "highest\nfifth"]
        ordered = {title: panels[index, title] for index, title in sorted(panels, key=lambda key: key[0])}
        png = plots.bars(ordered, ticks, xlabel="similarity of keyphrase and document", ylabel=f"recall@{_DEPTH}, %")
        page.figure("fig-recall.png", png, "Recall@15 by similarity of keyphrase and document")
    head = [f"recall@{_DEPTH}, %", "data set", *(f"fifth {i}" for i in range(1, _BINS + 1))]
    page.add(markdown_table(head, rows, left=2))
    page.add(
        f"Similarity: the cosine of {workspace.label(workspace.options.encoder)}'s embeddings of the text that was "
        "read and of the gold phrase; what does not fit into the encoder's window is not embedded. Bins: fifths of all "
        "gold keyphrases of a data set, those that do not stand in the text too. A gold phrase is found if its stems "
        "are among those of the first 15. The paper names neither its encoder nor its bins and prints no numbers, so "
        "there are none in brackets."
    )
    return finish(workspace, page, paper.SETS)


def _similarities(workspace: Workspace, data: Dataset) -> FloatArray:
    """The cosine of each gold phrase and its document, in order."""
    found: list[float] = []
    for done, record in enumerate(data.documents):
        workspace.show(f"Embedding {data.name}", done, len(data.documents))
        gold = [phrase.lower() for phrase in record.keyphrases]
        vectors = workspace.sentence_encoder.embed([data.promptrank_text(record)[0], *gold]).astype(np.float64)
        found += (vectors[1:] @ vectors[0]).tolist()
    return np.array(found)


def by_bin(run: Run, bins: Sequence[int] | NDArray[np.int64]) -> list[float]:
    """Recall in per cent of the gold phrases of each bin; of none, 0."""
    hits: list[bool] = []
    for document in run.documents:
        predicted = {stems(phrase) for phrase in document.phrases[:_DEPTH]}
        hits += [stems(phrase) in predicted for phrase in document.gold]
    found = np.array(hits, dtype=np.float64)
    held = [found[np.asarray(bins) == index] for index in range(_BINS)]
    return [100 * float(values.mean()) if len(values) else 0.0 for values in held]
