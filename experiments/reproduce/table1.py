"""Table 1: what the data sets are like."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.reproduce import paper
from experiments.reproduce.markdown import LEGEND, Gap, Page, cell, markdown_table
from experiments.reproduce.method_table import finish, start
from experiments.reproduce.workspace import Workspace
from mudy.errors import MudyError
from mudy.evaluation.datasets import Dataset, Description, describe

_HEAD = ("", "documents", "words", "sentences", "keyphrases", "absent %", "noun phrases %", "topic drift")


def table1(workspace: Workspace) -> Page:
    """Each data set that is at hand, on whole texts as they stand."""
    sets = [
        *paper.SETS,
        *(name for name in paper.DATASET_TITLES if name not in paper.SETS and name in workspace.paths),
    ]
    page = start(workspace, "table1", "Table 1: the data sets", sets)
    encoder = None
    try:
        encoder = workspace.sentence_encoder
    except MudyError as error:
        page.gap("topic drift", Gap(str(error)))
    rows = []
    for name in sets:
        data = workspace.dataset(name)
        found = None
        if isinstance(data, Dataset):
            found = describe(
                data, workspace.tagger, encoder, lambda data, *counts: workspace.show(f"Reading {data}", *counts)
            )
        rows.append(_row(name, found))
    page.add(LEGEND, markdown_table(_HEAD, rows))
    page.add(
        "Words, sentences and keyphrases are means per document; absent and noun phrases are shares of the gold. "
        "Printed in the paper: topic drift (its encoder is not named) and DUC2001's 308 documents; the other numbers "
        "in brackets are those of the public copies as published code loads them, so keyphrases are counted with "
        f"doubles. The encoder here is {workspace.label(workspace.options.encoder)}; units of three sentences do "
        "not overlap."
    )
    return finish(workspace, page, sets, reading="Whole texts, as they stand.")


def _row(name: str, found: Description | None) -> list[str]:
    printed: tuple[Mapping[str, float], ...] = (
        paper.DOCUMENT_COUNTS,
        paper.WORD_COUNTS,
        {},
        paper.KEYPHRASE_COUNTS,
        {},
        {},
        paper.DRIFT,
    )
    ours = (
        (found.documents, found.words, found.sentences, found.keyphrases, found.absent, found.noun_phrases, found.drift)
        if found
        else (None,) * len(printed)
    )
    digits = (0, 0, 0, 1, 1, 1, 2)
    cells = [cell(o, p.get(name), d) for o, p, d in zip(ours, printed, digits, strict=True)]
    return [paper.DATASET_TITLES[name], *cells]
