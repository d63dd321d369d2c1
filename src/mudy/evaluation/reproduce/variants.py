"""MUDY's settings under their names: ours, the paper's, and without its parts; and readings that need no new run.

Every run observes G and L, so that any factor and any lambda can be read from it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from mudy.evaluation.measures import F1
from mudy.evaluation.paper import DEPTHS
from mudy.evaluation.reproduce.bench import Bench, Found
from mudy.evaluation.reproduce.pages import Gap
from mudy.evaluation.rereading import Scoring, likelihood, mudy, reread
from mudy.evaluation.runs import Run
from mudy.methods.mudy import RECOMMENDED, Attention, Mudy

Settings = dict[str, Any]
Reading = tuple[Attention, float]  # factor and lambda
Triple = tuple[float, ...]
PAPER: Mapping[str, Any] = {f.name: f.default for f in fields(Mudy)}  # the fields' defaults are the paper's
LAMBDAS = (*(round(0.1 * step, 1) for step in range(1, 11)), 1.5, 2.0)
ATTENTIONS: tuple[Attention, ...] = ("none", "G", "L", "GxL")
READ_LATER = ("attention", "lambda_")  # settings of a reading, not of a run
OF_WEIGHTING = ("mixture", "weight_sliding", "sigma", "kappa", "k_attn", "mixture_floor", "least_weight", "rule")


def recommended(bench: Bench, model: str) -> Mapping[str, Any]:
    """The settings of `Mudy` for a model where they depart from the paper's."""
    return RECOMMENDED.get(bench.shape(model), {})


def asked(bench: Bench, model: str, **changes: Any) -> Settings:
    """What to ask `Mudy` for, so that it differs from its default in just these settings; one name for one run."""
    default = {**PAPER, **recommended(bench, model)}
    kept = {name: value for name, value in changes.items() if value != default[name]}
    return {"attention": "GxL", **kept}


def published(bench: Bench, model: str, **changes: Any) -> Settings:
    """The paper's settings, whatever is recommended for a model, with changes.

    Without the weighting its other settings say nothing, and the run is that of `unweighted`.
    """
    silent = READ_LATER if changes.get("weighting", True) else (*READ_LATER, *OF_WEIGHTING)
    own = {name: PAPER[name] for name in recommended(bench, model) if name not in silent}
    return asked(bench, model, **{**own, **changes})


def unweighted(bench: Bench, model: str) -> Settings:
    return asked(bench, model, weighting=False)


def default_reading(bench: Bench, model: str) -> Reading:
    """The factor and the lambda that `Mudy` uses for a model."""
    used = {**PAPER, **recommended(bench, model)}
    return used["attention"], used["lambda_"]


# -- Rows -------------------------------------------------------------------------------------------------------------


def read(bench: Bench, data: str, model: str, method: str, settings: Settings, scoring: Scoring, name: str) -> Found:
    """A run, read with other scores; `name` tells this reading from others."""

    def make() -> Found:
        run = bench.run(data, method, model, **settings)
        return run if isinstance(run, Gap) else reread(run, scoring)

    return bench.once((data, model, method, str(settings), name), make)


def promptrank(bench: Bench, data: str, model: str) -> Found:
    """PromptRank as the paper compares with it: without its penalty for late positions."""
    return read(bench, data, model, "promptrank", {}, likelihood, "p")


def attended(bench: Bench, data: str, model: str, settings: Settings, reading: Reading) -> Found:
    """A run of MUDY, read with some factor and lambda."""
    attention, lambda_ = reading
    return read(bench, data, model, "mudy", settings, mudy(lambda_, attention), str(reading))


def fixed(bench: Bench, data: str, model: str) -> Found:
    """MUDY with the one setting that we recommend for a model."""
    return attended(bench, data, model, asked(bench, model), default_reading(bench, model))


def as_published(bench: Bench, data: str, model: str, reading: Reading = ("GxL", 1.0), **changes: Any) -> Found:
    """MUDY with the paper's settings."""
    return attended(bench, data, model, published(bench, model, **changes), reading)


# -- Choosing ---------------------------------------------------------------------------------------------------------


def f1(run: Run) -> Triple:
    outcomes = run.outcomes(run.names[0])
    return tuple((F1 @ k)(outcomes) for k in DEPTHS)


def readings(bench: Bench, data: str, model: str, settings: Settings) -> dict[Reading, Triple]:
    """F1 of a run under every factor and lambda; nothing where there is no run."""
    key = f"{data} {model} {settings}"
    if key not in bench.grids:
        run = bench.run(data, "mudy", model, **settings)
        if isinstance(run, Gap):
            return {}
        wanted = dict.fromkeys([*grid(), default_reading(bench, model)])
        bench.grids[key] = {how: f1(reread(run, mudy(how[1], how[0]))) for how in wanted}
    return dict(bench.grids[key])


def grid() -> list[Reading]:
    """Every factor with every lambda; without attention lambda does nothing."""
    return [("none", 1.0), *((attention, x) for attention in ATTENTIONS if attention != "none" for x in LAMBDAS)]


def tuned(bench: Bench, data: str, model: str) -> Found:
    """MUDY with the factor and lambda that are best on these very documents; of equals, the first."""
    settings = asked(bench, model)
    found = readings(bench, data, model, settings)
    best = max(found, key=lambda reading: round(sum(found[reading]), 9), default=default_reading(bench, model))
    return attended(bench, data, model, settings, best)


Maker = Callable[[str], Found]  # data set -> run
