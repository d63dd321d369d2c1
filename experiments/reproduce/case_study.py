"""One document: where two methods find what it is about. The page quotes the text, which may be under copyright."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.reproduce import paper, variants
from experiments.reproduce.markdown import Gap, Page, literal, markdown_table
from experiments.reproduce.method_table import finish, start
from experiments.reproduce.rescore import likelihood_alone, rescore_run
from experiments.reproduce.text_layout import Passage, draw_passages
from experiments.reproduce.workspace import RunOrGap, Workspace
from mudy.errors import InputError
from mudy.evaluation.datasets import Dataset, Record, load
from mudy.evaluation.measures import F1
from mudy.evaluation.runs import JudgedDocument
from mudy.extraction.explanation import heat
from mudy.reading.candidates.stemming import stems_of as stems

_SHOWN = 15


def case_study(workspace: Workspace) -> Page:
    """Every occurrence of every candidate, coloured by its score, under PromptRank and under MUDY."""
    name, data, record = chosen_document(workspace)
    page = start(workspace, "fig-case", f"One document: {literal(record.id)} of {paper.DATASET_TITLES[name]}", [name])
    text = data.promptrank_text(record)[0]
    found: dict[str, JudgedDocument] = {}
    for label, run in _runs(workspace, data, workspace.options.models[0]).items():
        if isinstance(run, Gap):
            page.gap(label, run)
        else:
            found[label] = run.documents[0]
    if found:
        passages = {label: passage(text, judged) for label, judged in found.items()}
        page.figure("fig-case.png", draw_passages(passages), "Occurrences of candidates by score")
        page.add(markdown_table(["rank", *found], _ranked(list(found.values()))))
        page.add(*(_judged(label, judged) for label, judged in found.items()))
    page.add(
        f"Model: {workspace.label(workspace.options.models[0])}. Colour: the rank of an occurrence's score among all "
        "occurrences, from the lowest to the highest, on one scale for both panels; scores of the two methods are not "
        "comparable themselves. Gold keyphrases are in bold italics, in the text and in the table, where their stems "
        "are those of a candidate. The paper's figure is of another model and has no numbers, so there are none in "
        "brackets."
    )
    page.remarks.append("The text belongs to its authors: this page and its picture are not for publication.")
    return finish(workspace, page, [name], 1)


def chosen_document(workspace: Workspace) -> tuple[str, Dataset, Record]:
    """The document asked for by its id, in any of the data sets; else the first of the first."""
    wanted = workspace.options.document
    for name, path in workspace.ordered().items():
        data = load(path, limit=1 if wanted is None else None)
        for record in data.documents:
            if wanted in (None, record.id):
                return name, replace(data, documents=(record,)), record
    raise InputError(f"There is no document {wanted!r} in the data sets of {workspace.options.data}.")


def _runs(workspace: Workspace, data: Dataset, model: str) -> dict[str, RunOrGap]:
    prompt = workspace.run_on(data, "promptrank", model)
    own = workspace.run_on(data, "mudy", model, **variants.run_settings(workspace, model))
    ours = variants.scoring(variants.default_score_settings(workspace, model))
    return {
        "PromptRank, no penalty": prompt if isinstance(prompt, Gap) else rescore_run(prompt, likelihood_alone),
        "MUDY, one setting": own if isinstance(own, Gap) else rescore_run(own, ours),
    }


def passage(text: str, judged: JudgedDocument) -> Passage:
    """The text with a heat, from 0 to 1, for each occurrence: the share of occurrences with a lower score."""
    gold = {stems(phrase) for phrase in judged.gold}
    shares = heat([place["score"] for place in judged.places])
    spans = [
        (int(p["start"]), int(p["end"]), share, stems(judged.phrases[int(p["phrase"])]) in gold)
        for p, share in zip(judged.places, shares, strict=True)
    ]
    return Passage(text, tuple(sorted(spans)))


def _ranked(found: Sequence[JudgedDocument]) -> list[list[str]]:
    return [
        [str(rank + 1), *(_cell(judged, rank) for judged in found)]
        for rank in range(min(_SHOWN, max(len(judged.phrases) for judged in found)))
    ]


def _cell(judged: JudgedDocument, rank: int) -> str:
    if rank >= len(judged.phrases):
        return ""
    phrase = judged.phrases[rank]
    is_gold = stems(phrase) in {stems(gold) for gold in judged.gold}
    return f"***{literal(phrase)}***" if is_gold else literal(phrase)


def _judged(label: str, judged: JudgedDocument) -> str:
    predictions = judged.predictions()
    assert predictions is not None, "a record has gold"
    return f"{label}: F1@15 of this document {(F1 @ 15)([predictions]):.1f}."
