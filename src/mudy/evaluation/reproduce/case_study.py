"""One document: where two methods find what it is about. The page quotes the text, which may be under copyright."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mudy.errors import InputError
from mudy.evaluation import paper
from mudy.evaluation.datasets import Dataset, Record, load
from mudy.evaluation.measures import F1
from mudy.evaluation.reproduce import variants
from mudy.evaluation.reproduce.markdown import Gap, Page, literal, table
from mudy.evaluation.reproduce.method_table import finish, start
from mudy.evaluation.reproduce.workspace import Bench, Found
from mudy.evaluation.rescore import likelihood, reread
from mudy.evaluation.runs import Judged
from mudy.explanation import heat
from mudy.porter import stems
from mudy.render.text_layout import Passage, draw_passages

SHOWN = 15


def case(bench: Bench) -> Page:
    """Every occurrence of every candidate, coloured by its score, under PromptRank and under MUDY."""
    name, data, record = chosen(bench)
    page = start(bench, "fig-case", f"One document: {literal(record.id)} of {paper.TITLES[name]}", [name])
    text = data.promptrank_text(record)[0]
    found: dict[str, Judged] = {}
    for label, run in _runs(bench, data, bench.asked.models[0]).items():
        if isinstance(run, Gap):
            page.gap(label, run)
        else:
            found[label] = run.documents[0]
    if found:
        passages = {label: passage(text, judged) for label, judged in found.items()}
        page.figure("fig-case.png", draw_passages(passages), "Occurrences of candidates by score")
        page.add(table(["rank", *found], _ranked(list(found.values()))))
        page.add(*(_judged(label, judged) for label, judged in found.items()))
    page.add(
        f"Model: {bench.label(bench.asked.models[0])}. Colour: the rank of an occurrence's score among all "
        "occurrences, from the lowest to the highest, on one scale for both panels; scores of the two methods are not "
        "comparable themselves. Gold keyphrases are in bold italics, in the text and in the table, where their stems "
        "are those of a candidate. The paper's figure is of another model and has no numbers, so there are none in "
        "brackets."
    )
    page.remarks.append("The text belongs to its authors: this page and its picture are not for publication.")
    return finish(bench, page, [name], 1)


def chosen(bench: Bench) -> tuple[str, Dataset, Record]:
    """The document asked for by its id, in any of the data sets; else the first of the first."""
    wanted = bench.asked.document
    for name, path in bench.ordered().items():
        data = load(path, limit=1 if wanted is None else None)
        for record in data.documents:
            if wanted in (None, record.id):
                return name, replace(data, documents=(record,)), record
    raise InputError(f"There is no document {wanted!r} in the data sets of {bench.asked.data}.")


def _runs(bench: Bench, data: Dataset, model: str) -> dict[str, Found]:
    prompt = bench.run_on(data, "promptrank", model)
    own = bench.run_on(data, "mudy", model, **variants.asked(bench, model))
    ours = variants.scoring(variants.default_reading(bench, model))
    return {
        "PromptRank, no penalty": prompt if isinstance(prompt, Gap) else reread(prompt, likelihood),
        "MUDY, one setting": own if isinstance(own, Gap) else reread(own, ours),
    }


def passage(text: str, judged: Judged) -> Passage:
    """The text with a heat, from 0 to 1, for each occurrence: the share of occurrences with a lower score."""
    gold = {stems(phrase) for phrase in judged.gold}
    shares = heat([place["score"] for place in judged.places])
    spans = [
        (int(p["start"]), int(p["end"]), share, stems(judged.phrases[int(p["phrase"])]) in gold)
        for p, share in zip(judged.places, shares, strict=True)
    ]
    return Passage(text, tuple(sorted(spans)))


def _ranked(found: Sequence[Judged]) -> list[list[str]]:
    return [
        [str(rank + 1), *(_cell(judged, rank) for judged in found)]
        for rank in range(min(SHOWN, max(len(judged.phrases) for judged in found)))
    ]


def _cell(judged: Judged, rank: int) -> str:
    if rank >= len(judged.phrases):
        return ""
    phrase = judged.phrases[rank]
    is_gold = stems(phrase) in {stems(gold) for gold in judged.gold}
    return f"***{literal(phrase)}***" if is_gold else literal(phrase)


def _judged(label: str, judged: Judged) -> str:
    outcome = judged.outcome()
    assert outcome is not None, "a record has gold"
    return f"{label}: F1@15 of this document {(F1 @ 15)([outcome]):.1f}."
