"""How much F1@15 depends on sigma, kappa and lambda: curves over a grid, less their minimum, as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from experiments.reproduce import paper, plots, variants
from experiments.reproduce.markdown import OPEN, Gap, Page, cell, markdown_table
from experiments.reproduce.method_table import finish, start
from experiments.reproduce.workspace import RunOrGap, Workspace
from mudy.evaluation.measures import F1

GRID = tuple(round(0.1 * step, 1) for step in range(1, 11))
Point = Callable[[str, str, float], RunOrGap]  # data set, model, value -> run


def sigma(workspace: Workspace) -> Page:
    """The initial spread (Eq. 2); each point is a run."""

    def point(data: str, model: str, value: float) -> RunOrGap:
        return variants.as_published(workspace, data, model, sigma=value)

    return _page(workspace, "fig-sigma", "sigma", "σ₀", GRID, point, paper.BEST_SIGMA)


def kappa(workspace: Workspace) -> Page:
    """The spread added per layer (Eq. 2); each point is a run."""

    def point(data: str, model: str, value: float) -> RunOrGap:
        return variants.as_published(workspace, data, model, kappa=value)

    return _page(workspace, "fig-kappa", "kappa", "κ", GRID, point, paper.BEST_KAPPA)


def lambda_(workspace: Workspace) -> Page:
    """The weight of attention (Eq. 12); all points are read from one run."""

    def point(data: str, model: str, value: float) -> RunOrGap:
        return variants.as_published(workspace, data, model, variants.RescoreSettings("GxL", value))

    return _page(workspace, "fig-lambda", "lambda", "λ", variants.LAMBDAS, point, paper.BEST_LAMBDA)


def _page(
    workspace: Workspace,
    item: str,
    name: str,
    symbol: str,
    grid: Sequence[float],
    point: Point,
    best: Mapping[str, str],
) -> Page:
    page = start(workspace, item, f"Sensitivity to {name}", paper.SETS)
    panels: dict[str, dict[str, list[float]]] = {}
    rows = []
    for model in workspace.options.models:
        for data in paper.SETS:
            values = _curve(workspace, page, model, data, grid, point)
            if values:
                panels.setdefault(workspace.label(model), {})[paper.DATASET_TITLES[data]] = [
                    value - min(values) for value in values
                ]
            top = grid[values.index(max(values))] if values else None
            cells = [cell(value, digits=2) for value in values] or [OPEN] * len(grid)
            rows.append([workspace.label(model), paper.DATASET_TITLES[data], *cells, cell(top, best[data])])
    if panels:
        png = plots.curves(panels, grid, xlabel=f"{symbol} ({name})", ylabel="F1@15 − its minimum")
        page.figure(f"{item}.png", png, f"F1@15 less its minimum by {name}")
    page.add(
        markdown_table(["F1@15", "data set", *(f"{value:g}" for value in grid), f"best {name} *(paper)*"], rows, left=2)
    )
    page.add(
        "The curves are F1@15 less its minimum, one for each data set, in the paper's settings otherwise (G x L, "
        "mixture, sigma 0.3, kappa 0.1, lambda 1). The paper prints curves, not numbers; *in brackets* where those of "
        "t5-base are highest. Of equal values of ours the first is named the best."
    )
    return finish(workspace, page, paper.SETS)


def _curve(workspace: Workspace, page: Page, model: str, data: str, grid: Sequence[float], point: Point) -> list[float]:
    values = []
    for value in grid:
        run = point(data, model, value)
        if isinstance(run, Gap):
            if not isinstance(workspace.dataset(data), Gap):
                page.gap(f"{workspace.label(model)} on {paper.DATASET_TITLES[data]}", run)
            return []
        values.append((F1 @ 15)(run.predictions(run.names[0])))
    return values
