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
from mudy.evaluation.rereading import likelihood, mudy, reread, unweighted
from mudy.evaluation.runs import Run
from mudy.methods.mudy import RECOMMENDED, Attention, Mudy

Settings = dict[str, Any]
Reading = tuple[Attention, float]  # factor and lambda
Triple = tuple[float, ...]
PAPER: Mapping[str, Any] = {f.name: f.default for f in fields(Mudy)}  # the fields' defaults are the paper's
LAMBDAS = (*(round(0.1 * step, 1) for step in range(1, 11)), 1.5, 2.0)
ATTENTIONS: tuple[Attention, ...] = ("none", "G", "L", "GxL")
READ_LATER = ("attention", "lambda_")  # settings of a reading, not of a run
UNWEIGHTED: Settings = {"weighting": False}


def recommended(bench: Bench, model: str) -> Mapping[str, Any]:
    """The settings of `Mudy` for a model where they depart from the paper's."""
    return RECOMMENDED.get(bench.shape(model), {})


def asked(bench: Bench, model: str, **changes: Any) -> Settings:
    """What to ask `Mudy` for, so that it differs from its default in just these settings; one name for one run."""
    default = {**PAPER, **recommended(bench, model)}
    kept = {name: value for name, value in changes.items() if value != default[name]}
    return {"attention": "GxL", **kept}


def published(bench: Bench, model: str, **changes: Any) -> Settings:
    """The paper's settings, whatever is recommended for a model, with changes."""
    own = {name: PAPER[name] for name in recommended(bench, model) if name not in READ_LATER}
    return asked(bench, model, **{**own, **changes})


def base(bench: Bench, data: str, model: str, settings: Settings) -> Found:
    """A run of MUDY; without weighting it is read from the runs of MUDY and of PromptRank."""
    if settings != UNWEIGHTED:
        return bench.run(data, "mudy", model, **settings)
    own, plain = bench.run(data, "mudy", model, **asked(bench, model)), bench.run(data, "promptrank", model)
    if isinstance(own, Gap) or isinstance(plain, Gap):
        return own if isinstance(own, Gap) else plain
    return unweighted(own, plain)


def default_reading(bench: Bench, model: str) -> Reading:
    """The factor and the lambda that `Mudy` uses for a model."""
    used = {**PAPER, **recommended(bench, model)}
    return used["attention"], used["lambda_"]


# -- Rows -------------------------------------------------------------------------------------------------------------


def promptrank(bench: Bench, data: str, model: str) -> Found:
    """PromptRank as the paper compares with it: without its penalty for late positions."""

    def make() -> Found:
        run = bench.run(data, "promptrank", model)
        return run if isinstance(run, Gap) else reread(run, likelihood)

    return bench.once((data, model, "promptrank"), make)


def attended(bench: Bench, data: str, model: str, settings: Settings, reading: Reading) -> Found:
    """A run of MUDY, read with some factor and lambda."""
    attention, lambda_ = reading

    def make() -> Found:
        run = base(bench, data, model, settings)
        return run if isinstance(run, Gap) else reread(run, mudy(lambda_, attention))

    return bench.once((data, model, "mudy", str(settings), reading), make)


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
        run = base(bench, data, model, settings)
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
