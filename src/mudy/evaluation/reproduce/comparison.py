"""Tables 2 and 6: all methods on all data sets, and whether one setting fits them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mudy.evaluation import paper
from mudy.evaluation.measures import F1, compare
from mudy.evaluation.reproduce import variants
from mudy.evaluation.reproduce.leave_one_out import left_out_table
from mudy.evaluation.reproduce.markdown import LEGEND, OPEN, Page, table
from mudy.evaluation.reproduce.method_table import BEHIND, Row, f1_table, finish, interval_table, start, unfilled
from mudy.evaluation.reproduce.workspace import Bench
from mudy.evaluation.runs import Run
from mudy.methods import METHODS, model_fields

SIMPLE = {
    "yake": "YAKE",
    "textrank": "TextRank",
    "singlerank": "SingleRank",
    "topicrank": "TopicRank",
    "multipartiterank": "MultipartiteRank",
    "embedrank": "EmbedRank",
    "jointgl": "JointGL",
    "mderank": "MDERank",
}
ATTENTION = {"samrank": "SAMRank", "attentionseeker": "Attention-Seeker", "empirical": "Empirical"}
PAPER_MODELS = {"t5": "t5-base", "gemma2": "Gemma 2 9B", "llama3": "Llama 3 8B"}
TUNED = "tuned per data set on the same documents, which flatters it"
BESIDE = (
    "Behind our rows stand the paper's for another model: Gemma 2 9B for PromptRank and MUDY with decoder-only models "
    "(t5-base with T5), Llama 3 8B for SAMRank, Attention-Seeker and Empirical, BERT for the encoder methods. The "
    "paper's PromptRank has no position penalty; behind ours with it stands PromptRank's README (t5-base) where the "
    "model is a T5. The paper's rows are not all of one evaluation: SAMRank and Attention-Seeker on SemEval2017 are "
    "macro F1 over whole texts, and the very low graph rows on NUS look like whole texts too."
)


def table2(bench: Bench) -> Page:
    """Every method that the paper compares, with each model."""
    sets = [*paper.SETS, *(["inspec"] if "inspec" in bench.paths else [])]
    page = start(bench, "table2", "Table 2: F1 of all methods", sets)
    ours = [*simple_rows(bench), *(row for model in bench.asked.models for row in model_rows(bench, model))]
    readme = unfilled("PromptRank with penalty, t5-base, its README", paper.PROMPTRANK_README)
    others = [*paper_rows(ours), *([] if any(row.paper is readme.paper for row in ours) else [readme])]
    page.add(LEGEND, f1_table(bench, page, [*ours, *others], sets), BESIDE)
    page.add("## Intervals, ceilings and cost", interval_table(ours, sets), BEHIND)
    page.add("## One setting for all, chosen without the set it is judged on")
    page.add(*(left_out_table(bench, model, sets) for model in bench.asked.models), LEFT_OUT)
    page.add("## MUDY beside PromptRank without penalty", gain_table(bench, sets), GAIN)
    return finish(bench, page, sets)


LEFT_OUT = (
    "Candidates: the default weighting, none and the published one (those that have been run on every set), each with "
    "no attention, G, L or both, lambda 0.1 to 1, 1.5 and 2, and that in texts of any length or smaller below 400 "
    "words. For each set the candidate with the best F1 (mean over 5, 10, 15 and over the other sets) is taken."
)
GAIN = (
    "Difference in F1 with its 95 % interval and two-sided p, both by a paired bootstrap over documents (2,000 "
    "samples). Nothing is corrected for the number of comparisons."
)


def simple_rows(bench: Bench) -> list[Row]:
    """Methods that ask no language model."""
    return [_row(bench, method, label, None, paper.TABLE2[method]) for method, label in SIMPLE.items()]


def model_rows(bench: Bench, model: str) -> list[Row]:
    """Methods that ask one, and MUDY in its settings."""
    size = "t5" if bench.shape(model)[0] in ("t5", "mt5") else "gemma2"
    prompt, own = paper.TABLE2[f"promptrank {size}"], paper.TABLE2[f"mudy {size}"]
    readme = paper.PROMPTRANK_README if size == "t5" else {}
    called = bench.label(model)
    return [
        *(
            _row(bench, method, f"{label}, {called}", model, paper.TABLE2[f"{method} llama3"])
            for method, label in ATTENTION.items()
        ),
        Row(f"PromptRank, {called}, no penalty", lambda data: variants.promptrank(bench, data, model), prompt),
        Row(f"PromptRank, {called}, with penalty", lambda data: bench.run(data, "promptrank", model), readme),
        Row(f"MUDY, {called}, {_fixed(bench, model)}", lambda data: variants.fixed(bench, data, model), own),
        Row(f"MUDY, {called}, as published", lambda data: variants.as_published(bench, data, model), own),
        Row(f"MUDY, {called}, {TUNED}", lambda data: variants.tuned(bench, data, model), own),
    ]


def _fixed(bench: Bench, model: str) -> str:
    return f"one setting ({variants.default_reading(bench, model)})"


def _row(bench: Bench, method: str, label: str, model: str | None, printed: paper.Row) -> Row:
    if method not in METHODS:
        return unfilled(label, printed, f"this version has no method {method}.")
    name = model if model_fields(method) & {"backbone", "chat"} else None
    return Row(label, lambda data: bench.run(data, method, name), printed)


def paper_rows(ours: Sequence[Row], printed: Mapping[str, paper.Row] = paper.TABLE2) -> list[Row]:
    """The paper's rows that stand behind none of ours."""
    names = {**SIMPLE, **ATTENTION, "promptrank": "PromptRank", "mudy": "MUDY"}
    left = {key: row for key, row in printed.items() if all(row is not own.paper for own in ours)}
    named = {key: key.partition(" ")[::2] for key in left}
    return [unfilled(f"{names[method]}, {PAPER_MODELS[model]}", left[key]) for key, (method, model) in named.items()]


def gain_table(bench: Bench, sets: Sequence[str]) -> str:
    """MUDY minus PromptRank without penalty."""
    lines = []
    for model in bench.asked.models:
        for data in sets:
            first = variants.promptrank(bench, data, model)
            for name, made in {"one setting": variants.fixed, "as published": variants.as_published}.items():
                second = made(bench, data, model)
                if isinstance(first, Run) and isinstance(second, Run) and len(first.documents) > 1:
                    lines.append([f"{bench.label(model)}, {name}", paper.TITLES[data], *_gains(first, second)])
    head = ["", "data set", *(f"F1@{k} [95 %], p" for k in paper.DEPTHS)]
    return table(head, lines, left=2) if lines else OPEN


def _gains(first: Run, second: Run) -> list[str]:
    before, after = (run.outcomes(run.names[0]) for run in (first, second))
    found = [compare(F1 @ k, before, after) for k in paper.DEPTHS]
    return [
        f"{c.difference.value:+.1f} [{c.difference.low:+.1f}, {c.difference.high:+.1f}], {c.p_bootstrap:.3f}"
        for c in found
    ]


# -- Table 6 ----------------------------------------------------------------------------------------------------------


def table6(bench: Bench) -> Page:
    """The large data sets, which only three methods were run on."""
    page = start(bench, "table6", "Table 6: large data sets", paper.LARGE)
    ours = [row for model in bench.asked.models for row in large_rows(bench, model)]
    page.add(LEGEND, f1_table(bench, page, [*ours, *paper_rows(ours, paper.TABLE6)], paper.LARGE))
    page.add("Behind all our rows stand the paper's with t5-base and, for Attention-Seeker, Llama 3 8B.")
    page.add("## Intervals, ceilings and cost", interval_table(ours, paper.LARGE), BEHIND)
    page.remarks.append("How the paper reads these sets and with which kappa and lambda is not printed.")
    return finish(bench, page, paper.LARGE)


def large_rows(bench: Bench, model: str) -> list[Row]:
    seeker, prompt, own = (paper.TABLE6[name] for name in ("attentionseeker llama3", "promptrank t5", "mudy t5"))
    called = bench.label(model)
    return [
        _row(bench, "attentionseeker", f"Attention-Seeker, {called}", model, seeker),
        Row(f"PromptRank, {called}, no penalty", lambda data: variants.promptrank(bench, data, model), prompt),
        Row(f"MUDY, {called}, {_fixed(bench, model)}", lambda data: variants.fixed(bench, data, model), own),
    ]
