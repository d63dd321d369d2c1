"""Recall by how close a gold keyphrase is to its document: do the methods find only what the document is all about?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mudy.evaluation import paper, plots
from mudy.evaluation.datasets import Dataset
from mudy.evaluation.reproduce import variants
from mudy.evaluation.reproduce.markdown import Gap, Page, number, table
from mudy.evaluation.reproduce.method_table import finish, start
from mudy.evaluation.reproduce.workspace import Bench
from mudy.evaluation.runs import Run
from mudy.porter import stems

BINS = 5
DEPTH = 15
METHODS = {"PromptRank, no penalty": variants.promptrank, "MUDY, one setting": variants.fixed}
Values = NDArray[np.float64]


def recall(bench: Bench) -> Page:
    """Recall@15 in fifths of the gold keyphrases, from those least like their document to those most like it."""
    page = start(bench, "fig-recall", "Recall by similarity to the document", paper.SETS)
    panels: dict[tuple[int, str], dict[str, list[float]]] = {}  # by number of the model, and data set
    rows = []
    for name, data in bench.at_hand(paper.SETS).items():
        near = similarities(bench, data)
        edges = np.quantile(near, np.linspace(0, 1, BINS + 1))
        bins = np.clip(np.searchsorted(edges, near, side="right") - 1, 0, BINS - 1)
        for index, model in enumerate(bench.asked.models):
            called = bench.label(model)
            for label, made in METHODS.items():
                run = made(bench, name, model)
                if isinstance(run, Run) and len(run.documents) < len(data.documents):
                    run = Gap("it was not run on all of the documents.")
                if isinstance(run, Gap):
                    page.gap(f"{label}, {called}", run)
                    continue
                found = by_bin(run, bins)
                title = paper.TITLES[name] if len(bench.asked.models) == 1 else f"{paper.TITLES[name]}, {called}"
                panels.setdefault((index, title), {})[label] = found
                rows.append([f"{label}, {called}", paper.TITLES[name], *(number(value) for value in found)])
        rows.append(["*cosine up to*", paper.TITLES[name], *(f"*{edge:.2f}*" for edge in edges[1:])])
    if panels:
        ticks = ["lowest\nfifth", *(f"{i}." for i in range(2, BINS)), "highest\nfifth"]
        ordered = {title: panels[index, title] for index, title in sorted(panels, key=lambda key: key[0])}
        png = plots.bars(ordered, ticks, xlabel="similarity of keyphrase and document", ylabel=f"recall@{DEPTH}, %")
        page.figure("fig-recall.png", png, "Recall@15 by similarity of keyphrase and document")
    head = [f"recall@{DEPTH}, %", "data set", *(f"fifth {i}" for i in range(1, BINS + 1))]
    page.add(table(head, rows, left=2))
    page.add(
        f"Similarity: the cosine of {bench.label(bench.asked.encoder)}'s embeddings of the text that was read and of "
        "the gold phrase; what does not fit into the encoder's window is not embedded. Bins: fifths of all gold "
        "keyphrases of a data set, those that do not stand in the text too. A gold phrase is found if its stems are "
        "among those of the first 15. The paper names neither its encoder nor its bins and prints no numbers, so "
        "there are none in brackets."
    )
    return finish(bench, page, paper.SETS)


def similarities(bench: Bench, data: Dataset) -> Values:
    """The cosine of each gold phrase and its document, in order."""
    found: list[float] = []
    for done, record in enumerate(data.documents):
        bench.show(f"Embedding {data.name}", done, len(data.documents))
        gold = [phrase.lower() for phrase in record.keyphrases]
        vectors = bench.sentence_encoder.embed([data.promptrank_text(record)[0], *gold]).double()
        found += (vectors[1:] @ vectors[0]).tolist()
    return np.array(found)


def by_bin(run: Run, bins: Sequence[int] | NDArray[np.int64]) -> list[float]:
    """Recall in per cent of the gold phrases of each bin; of none, 0."""
    hits: list[bool] = []
    for document in run.documents:
        predicted = {stems(phrase) for phrase in document.phrases[:DEPTH]}
        hits += [stems(phrase) in predicted for phrase in document.gold]
    counted = np.array(hits, dtype=np.float64)
    held = [counted[np.asarray(bins) == index] for index in range(BINS)]
    return [100 * float(values.mean()) if len(values) else 0.0 for values in held]
