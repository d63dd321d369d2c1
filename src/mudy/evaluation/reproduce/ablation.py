"""Tables 3 and 4: MUDY without its parts, and with wider windows. All from the paper's settings, lambda 1."""

from __future__ import annotations

from mudy.evaluation import paper
from mudy.evaluation.measures import F1
from mudy.evaluation.reproduce import variants
from mudy.evaluation.reproduce.markdown import LEGEND, Gap, Page, number, table
from mudy.evaluation.reproduce.method_table import BEHIND, Row, f1_table, finish, interval_table, start
from mudy.evaluation.reproduce.workspace import Bench
from mudy.evaluation.runs import Run
from mudy.methods.mudy import Attention

T5 = (
    "The paper's numbers are those of t5-base, with kappa and lambda tuned for each data set; ours have kappa 0.1 and "
    "lambda 1."
)


def table3(bench: Bench) -> Page:
    """Candidate-aware weighting (CAW) and multi-granular attention (MGA), each alone and in parts."""
    page = start(bench, "table3", "Table 3: what each part adds", paper.SETS)
    rows = [row for model in bench.asked.models for row in ablation_rows(bench, model)]
    page.add(LEGEND, f1_table(bench, page, rows, paper.SETS), T5, PARTS)
    page.add("## Intervals, ceilings and cost", interval_table(rows, paper.SETS), BEHIND)
    return finish(bench, page, paper.SETS)


PARTS = (
    "Vanilla is the Gaussian around the occurrence alone, without the mixture of related candidates and without the "
    "best-aligned tokens; the rows below it add one of the two, CAW both. G, L and MGA leave the prompt's attention as "
    "it is: they are read from the runs of MUDY (attention) and of PromptRank (likelihood; without its penalty it is "
    "likelihood alone)."
)


def ablation_rows(bench: Bench, model: str) -> list[Row]:
    """From nothing to all of it."""

    def weighted(name: str, label: str, attention: Attention, **changes: object) -> Row:
        return Row(
            f"{label}, {bench.label(model)}",
            lambda data: variants.as_published(bench, data, model, variants.Reading(attention), **changes),
            paper.TABLE3.get(name, {}),
        )

    def plain(name: str, label: str, attention: Attention) -> Row:
        return Row(
            f"{label}, {bench.label(model)}",
            lambda data: variants.attended(bench, data, model, variants.UNWEIGHTED, variants.Reading(attention)),
            paper.TABLE3.get(name, {}),
        )

    return [
        plain("likelihood", "likelihood alone", "none"),
        weighted("vanilla", "vanilla", "none", mixture=False, k_attn=0),
        weighted("vanilla+mixture", "vanilla + mixture", "none", k_attn=0),
        weighted("vanilla+aligned", "vanilla + aligned tokens", "none", mixture=False),
        weighted("caw", "CAW only", "none"),
        plain("G", "G only", "G"),
        plain("L", "L only", "L"),
        plain("mga", "MGA only", "GxL"),
        weighted("mudy", "MUDY", "GxL"),
    ]


# -- Table 4 ----------------------------------------------------------------------------------------------------------


def table4(bench: Bench) -> Page:
    """Windows of one, two and three sentences on each side."""
    sets = list(paper.TABLE4[1])
    page = start(bench, "table4", "Table 4: the size of the local window", sets)
    rows = [
        [f"{bench.label(model)}, w = {w}", *_cells(bench, page, model, w, sets)]
        for model in bench.asked.models
        for w in paper.TABLE4
    ]
    page.add(LEGEND, table(["F1@15", *(paper.TITLES[data] for data in sets)], rows), T5)
    return finish(bench, page, sets)


def _cells(bench: Bench, page: Page, model: str, w: int, sets: list[str]) -> list[str]:
    cells = []
    for data in sets:
        run = variants.as_published(bench, data, model, w=w)
        if isinstance(run, Gap) and not isinstance(bench.dataset(data), Gap):
            page.gap(f"{bench.label(model)}, w = {w}", run)
        ours = (F1 @ 15)(run.outcomes(run.names[0])) if isinstance(run, Run) else None
        cells.append(number(ours, paper.TABLE4[w][data], digits=2))
    return cells
