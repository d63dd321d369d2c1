"""Table 5: language models that are told to write keyphrases, beside MUDY."""

from __future__ import annotations

from typing import Any

from experiments.reproduce import paper
from experiments.reproduce.comparison import model_rows, paper_rows
from experiments.reproduce.markdown import LEGEND, Page
from experiments.reproduce.method_table import (
    INTERVALS_NOTE,
    TableRow,
    f1_table,
    finish,
    interval_table,
    start,
    unfilled,
)
from experiments.reproduce.workspace import Workspace

PROMPTS: dict[str, dict[str, Any]] = {"vanilla": {"prompting": "vanilla"}, "candidate": {}}


def table5(workspace: Workspace) -> Page:
    """A model behind an endpoint, the models at hand where they follow instructions, and MUDY."""
    page = start(workspace, "table5", "Table 5: beside language models that write", paper.SETS)
    rows = [*endpoint_rows(workspace)]
    for model in workspace.options.models:
        rows += [
            _row(workspace, f"{workspace.label(model)}, {prompt}", model, settings)
            for prompt, settings in PROMPTS.items()
        ]
        rows += [
            row for row in model_rows(workspace, model) if row.label.startswith("MUDY") and "tuned" not in row.label
        ]
    mudy = {name: row for name, row in paper.TABLE2.items() if name.startswith("mudy")}
    page.add(LEGEND, f1_table(workspace, page, [*rows, *paper_rows(rows, mudy)], paper.SETS))
    page.add(
        "Vanilla asks for the keyphrases of the text, candidate for a choice from the candidates; 15 are asked for. "
        "The wording is ours, for the paper's is not printed. Behind the endpoint's rows stands GPT-5, behind MUDY's "
        "Gemma 2 9B (t5-base for a T5)."
    )
    page.add("## Intervals, ceilings and cost", interval_table(rows, paper.SETS), INTERVALS_NOTE)
    return finish(workspace, page, paper.SETS)


def endpoint_rows(workspace: Workspace) -> list[TableRow]:
    url, model = workspace.options.endpoint, workspace.options.endpoint_model
    if url is None or model is None:
        reason = "no endpoint was given; pass --endpoint URL and --endpoint-model NAME."
        return [unfilled(f"GPT-5, {prompt}", paper.TABLE5[f"gpt5 {prompt}"], reason) for prompt in PROMPTS]
    return [
        _row(
            workspace,
            f"{model} (endpoint), {prompt}",
            model,
            {**settings, "endpoint": url},
            paper.TABLE5[f"gpt5 {prompt}"],
        )
        for prompt, settings in PROMPTS.items()
    ]


def _row(
    workspace: Workspace, label: str, model: str, settings: dict[str, Any], printed: paper.PaperRow | None = None
) -> TableRow:
    return TableRow(label, lambda data: workspace.run(data, "empirical", model, **settings), printed or {})
