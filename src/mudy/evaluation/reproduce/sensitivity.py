"""How much F1@15 depends on sigma, kappa and lambda: curves over a grid, less their minimum, as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mudy.evaluation import paper, plots
from mudy.evaluation.measures import F1
from mudy.evaluation.reproduce import variants
from mudy.evaluation.reproduce.markdown import OPEN, Gap, Page, number, table
from mudy.evaluation.reproduce.method_table import finish, start
from mudy.evaluation.reproduce.workspace import Bench, Found

GRID = tuple(round(0.1 * step, 1) for step in range(1, 11))
Point = Callable[[str, str, float], Found]  # data set, model, value -> run


def sigma(bench: Bench) -> Page:
    """The initial spread (Eq. 2); each point is a run."""

    def point(data: str, model: str, value: float) -> Found:
        return variants.as_published(bench, data, model, sigma=value)

    return _page(bench, "fig-sigma", "sigma", "σ₀", GRID, point, paper.BEST_SIGMA)


def kappa(bench: Bench) -> Page:
    """The spread added per layer (Eq. 2); each point is a run."""

    def point(data: str, model: str, value: float) -> Found:
        return variants.as_published(bench, data, model, kappa=value)

    return _page(bench, "fig-kappa", "kappa", "κ", GRID, point, paper.BEST_KAPPA)


def lambda_(bench: Bench) -> Page:
    """The weight of attention (Eq. 12); all points are read from one run."""

    def point(data: str, model: str, value: float) -> Found:
        return variants.as_published(bench, data, model, variants.Reading("GxL", value))

    return _page(bench, "fig-lambda", "lambda", "λ", variants.LAMBDAS, point, paper.BEST_LAMBDA)


def _page(
    bench: Bench, item: str, name: str, symbol: str, grid: Sequence[float], point: Point, best: Mapping[str, str]
) -> Page:
    page = start(bench, item, f"Sensitivity to {name}", paper.SETS)
    panels: dict[str, dict[str, list[float]]] = {}
    rows = []
    for model in bench.asked.models:
        for data in paper.SETS:
            values = _curve(bench, page, model, data, grid, point)
            if values:
                panels.setdefault(bench.label(model), {})[paper.TITLES[data]] = [
                    value - min(values) for value in values
                ]
            top = grid[values.index(max(values))] if values else None
            cells = [number(value, digits=2) for value in values] or [OPEN] * len(grid)
            rows.append([bench.label(model), paper.TITLES[data], *cells, number(top, best[data])])
    if panels:
        png = plots.curves(panels, grid, xlabel=f"{symbol} ({name})", ylabel="F1@15 − its minimum")
        page.figure(f"{item}.png", png, f"F1@15 less its minimum by {name}")
    page.add(table(["F1@15", "data set", *(f"{value:g}" for value in grid), f"best {name} *(paper)*"], rows, left=2))
    page.add(
        "The curves are F1@15 less its minimum, one for each data set, in the paper's settings otherwise (G x L, "
        "mixture, sigma 0.3, kappa 0.1, lambda 1). The paper prints curves, not numbers; *in brackets* where those of "
        "t5-base are highest. Of equal values of ours the first is named the best."
    )
    return finish(bench, page, paper.SETS)


def _curve(bench: Bench, page: Page, model: str, data: str, grid: Sequence[float], point: Point) -> list[float]:
    values = []
    for value in grid:
        run = point(data, model, value)
        if isinstance(run, Gap):
            if not isinstance(bench.dataset(data), Gap):
                page.gap(f"{bench.label(model)} on {paper.TITLES[data]}", run)
            return []
        values.append((F1 @ 15)(run.outcomes(run.names[0])))
    return values
