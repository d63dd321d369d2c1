"""Tables 2 and 6: all methods on all data sets, and whether one setting fits them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from experiments.reproduce import paper, variants
from experiments.reproduce.leave_one_out import left_out_table
from experiments.reproduce.markdown import LEGEND, Page
from experiments.reproduce.method_table import (
    GAINS_NOTE,
    INTERVALS_NOTE,
    TableRow,
    f1_table,
    finish,
    gains,
    gains_table,
    interval_table,
    start,
    unfilled,
)
from experiments.reproduce.workspace import RESCORABLE, RunOrGap, Workspace
from mudy.methods import METHODS, method_class, model_fields

Variant = Callable[[Workspace, str, str], RunOrGap]  # data set, model -> run
PAPER_MODELS = {"t5": "t5-base", "gemma2": "Gemma 2 9B", "llama3": "Llama 3 8B"}
_TUNED = "tuned per data set on the same documents, which flatters it"
_PAPER_ROWS_NOTE = (
    "Behind our rows stand the paper's for another model: Gemma 2 9B for PromptRank and MUDY with decoder-only models "
    "(t5-base with T5), Llama 3 8B for SAMRank, Attention-Seeker and Empirical, BERT for the encoder methods. The "
    "paper's PromptRank has no position penalty; behind ours with it stands PromptRank's README (t5-base) where the "
    "model is a T5. The paper's rows are not all of one evaluation: SAMRank and Attention-Seeker on SemEval2017 are "
    "macro F1 over whole texts, and the very low graph rows on NUS look like whole texts too."
)


def table2(workspace: Workspace) -> Page:
    """Every method that the paper compares, with each model."""
    sets = [*paper.SETS, *(["inspec"] if "inspec" in workspace.paths else [])]
    page = start(workspace, "table2", "Table 2: F1 of all methods", sets)
    ours = [
        *simple_rows(workspace),
        *(row for model in workspace.options.models for row in model_rows(workspace, model)),
    ]
    readme = unfilled("PromptRank with penalty, t5-base, its README", paper.PROMPTRANK_README)
    others = [*paper_rows(ours), *([] if any(row.paper is readme.paper for row in ours) else [readme])]
    page.add(LEGEND, f1_table(workspace, page, [*ours, *others], sets), _PAPER_ROWS_NOTE)
    page.add("## Intervals, ceilings and cost", interval_table(ours, sets), INTERVALS_NOTE)
    page.add("## One setting for all, chosen without the set it is judged on")
    page.add(*(left_out_table(workspace, model, sets) for model in workspace.options.models), _LEFT_OUT_NOTE)
    page.add("## MUDY beside PromptRank", gain_table(workspace, sets), GAINS_NOTE)
    return finish(workspace, page, sets)


_LEFT_OUT_NOTE = (
    "Candidates: the default weighting, none and the published one (those that have been run on every set), each with "
    "no attention, G, L or both, lambda 0.1 to 1, 1.5 and 2, and that in texts of any length or smaller below 400 "
    "words. For each set the candidate with the best F1 (mean over 5, 10, 15 and over the other sets) is taken."
)


def compared(*, by_language_model: bool) -> list[str]:
    """The methods that have one row each, in the paper's order, and then those that the paper does not have."""
    printed = list(dict.fromkeys(key.partition(" ")[0] for key in paper.TABLE2))
    names = [name for name in METHODS if name not in RESCORABLE and _prompts(name) == by_language_model]
    return sorted(names, key=lambda name: printed.index(name) if name in printed else len(printed))


def _prompts(method: str) -> bool:
    """Whether a method asks a language model."""
    return bool(model_fields(method) & {"backbone", "chat"})


def simple_rows(workspace: Workspace) -> list[TableRow]:
    """Methods that ask no language model."""
    names = compared(by_language_model=False)
    return [_row(workspace, name, title_of(name), None, paper.TABLE2.get(name, {})) for name in names]


def model_rows(workspace: Workspace, model: str) -> list[TableRow]:
    """Methods that ask one, and MUDY in its settings."""
    size = "t5" if workspace.shape(model)[0] in ("t5", "mt5") else "gemma2"
    prompt, own = paper.TABLE2[f"promptrank {size}"], paper.TABLE2[f"mudy {size}"]
    readme = paper.PROMPTRANK_README if size == "t5" else {}
    called = workspace.label(model)
    return [
        *(
            _row(workspace, name, f"{title_of(name)}, {called}", model, paper.TABLE2.get(f"{name} llama3", {}))
            for name in compared(by_language_model=True)
        ),
        TableRow(f"PromptRank, {called}, no penalty", lambda data: variants.promptrank(workspace, data, model), prompt),
        TableRow(f"PromptRank, {called}, with penalty", lambda data: workspace.run(data, "promptrank", model), readme),
        TableRow(
            f"MUDY, {called}, {_fixed(workspace, model)}", lambda data: variants.fixed(workspace, data, model), own
        ),
        TableRow(f"MUDY, {called}, as published", lambda data: variants.as_published(workspace, data, model), own),
        TableRow(f"MUDY, {called}, {_TUNED}", lambda data: variants.tuned(workspace, data, model), own),
    ]


def _fixed(workspace: Workspace, model: str) -> str:
    return f"one setting ({variants.default_score_settings(workspace, model)})"


def title_of(method: str) -> str:
    return method_class(method).title


def _row(workspace: Workspace, method: str, label: str, model: str | None, printed: paper.PaperRow) -> TableRow:
    return TableRow(label, lambda data: workspace.run(data, method, model), printed)


def paper_rows(ours: Sequence[TableRow], printed: Mapping[str, paper.PaperRow] = paper.TABLE2) -> list[TableRow]:
    """The paper's rows that stand behind none of ours."""
    left = {key: row for key, row in printed.items() if all(row is not own.paper for own in ours)}
    named = {key: key.partition(" ")[::2] for key in left}
    return [unfilled(f"{title_of(method)}, {PAPER_MODELS[model]}", left[key]) for key, (method, model) in named.items()]


def gain_table(workspace: Workspace, sets: Sequence[str], *, published: bool = True) -> str:
    """MUDY minus PromptRank without penalty, as in the paper, and with it."""

    def with_penalty(workspace: Workspace, data: str, model: str) -> RunOrGap:
        return workspace.run(data, "promptrank", model)

    kinds: dict[str, tuple[Variant, Variant]] = {
        "one setting less PromptRank without penalty": (variants.promptrank, variants.fixed),
        "one setting less PromptRank with penalty": (with_penalty, variants.fixed),
    }
    if published:
        kinds["as published less PromptRank without penalty"] = (variants.promptrank, variants.as_published)
    return gains_table(
        [
            [
                f"{workspace.label(model)}, {name}",
                paper.DATASET_TITLES[data],
                *gains(first(workspace, data, model), second(workspace, data, model)),
            ]
            for model in workspace.options.models
            for data in sets
            for name, (first, second) in kinds.items()
        ]
    )


# -- Table 6 ----------------------------------------------------------------------------------------------------------


def table6(workspace: Workspace) -> Page:
    """The large data sets, which only three methods were run on."""
    page = start(workspace, "table6", "Table 6: large data sets", paper.LARGE)
    ours = [row for model in workspace.options.models for row in large_rows(workspace, model)]
    page.add(LEGEND, f1_table(workspace, page, [*ours, *paper_rows(ours, paper.TABLE6)], paper.LARGE))
    page.add("Behind all our rows stand the paper's with t5-base and, for Attention-Seeker, Llama 3 8B.")
    page.add("## Intervals, ceilings and cost", interval_table(ours, paper.LARGE), INTERVALS_NOTE)
    table = gain_table(workspace, paper.LARGE, published=False)
    page.add("## MUDY beside PromptRank", table, GAINS_NOTE)
    page.remarks.append("How the paper reads these sets and with which kappa and lambda is not printed.")
    return finish(workspace, page, paper.LARGE)


def large_rows(workspace: Workspace, model: str) -> list[TableRow]:
    seeker, prompt, own = (paper.TABLE6[name] for name in ("attentionseeker llama3", "promptrank t5", "mudy t5"))
    called = workspace.label(model)
    return [
        _row(workspace, "attentionseeker", f"{title_of('attentionseeker')}, {called}", model, seeker),
        TableRow(f"PromptRank, {called}, no penalty", lambda data: variants.promptrank(workspace, data, model), prompt),
        TableRow(
            f"MUDY, {called}, {_fixed(workspace, model)}", lambda data: variants.fixed(workspace, data, model), own
        ),
    ]
