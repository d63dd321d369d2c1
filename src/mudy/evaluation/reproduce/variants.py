"""MUDY's settings under their names: ours, the paper's, and without its parts; and readings that need no new run.

Every run observes G and L, so that any factor and any lambda can be read from it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import product, starmap
from typing import Any, NamedTuple

from mudy.evaluation.measures import F1
from mudy.evaluation.paper import DEPTHS
from mudy.evaluation.reproduce.markdown import Gap
from mudy.evaluation.reproduce.workspace import Bench, Found
from mudy.evaluation.rescore import Scoring, likelihood, mudy, reread, unweighted
from mudy.evaluation.runs import Run
from mudy.methods.mudy import RECOMMENDED, Attention, Mudy

Settings = dict[str, Any]
Triple = tuple[float, ...]
PAPER: Mapping[str, Any] = {f.name: f.default for f in fields(Mudy)}  # the fields' defaults are the paper's
LAMBDAS = (*(round(0.1 * step, 1) for step in range(1, 11)), 1.5, 2.0)
ATTENTIONS: tuple[Attention, ...] = ("none", "G", "L", "GxL")
LENGTHS = (0, 400)  # lambda_words: the paper's, and ours


class Reading(NamedTuple):
    """How a run is read: settings that need no run of their own."""

    attention: Attention = "GxL"
    lambda_: float = 1.0
    lambda_words: int = 0

    def __str__(self) -> str:
        if self.attention == "none":
            return "no attention"
        return f"{self.attention}, lambda {self.lambda_:g}" + (f" from {self.lambda_words} words on" * bool(self[2]))


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
    kept = {*Reading._fields, "section_tokens"}  # published texts have 512 words, so they have no sections
    own = {name: PAPER[name] for name in recommended(bench, model) if name not in kept}
    return asked(bench, model, **{**own, **changes})


def scoring(reading: Reading) -> Scoring:
    return mudy(reading.lambda_, reading.attention, reading.lambda_words)


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
    return Reading(*(used[name] for name in Reading._fields))


# -- Rows -------------------------------------------------------------------------------------------------------------


def promptrank(bench: Bench, data: str, model: str) -> Found:
    """PromptRank as the paper compares with it: without its penalty for late positions."""

    def make() -> Found:
        run = bench.run(data, "promptrank", model)
        return run if isinstance(run, Gap) else reread(run, likelihood)

    return bench.once((data, model, "promptrank"), make)


def attended(bench: Bench, data: str, model: str, settings: Settings, reading: Reading) -> Found:
    """A run of MUDY, read with some factor and lambda."""

    def make() -> Found:
        run = base(bench, data, model, settings)
        return run if isinstance(run, Gap) else reread(run, scoring(reading))

    return bench.once((data, model, "mudy", str(settings), reading), make)


def fixed(bench: Bench, data: str, model: str) -> Found:
    """MUDY with the one setting that we recommend for a model."""
    return attended(bench, data, model, asked(bench, model), default_reading(bench, model))


def as_published(bench: Bench, data: str, model: str, reading: Reading | None = None, **changes: Any) -> Found:
    """MUDY with the paper's settings."""
    return attended(bench, data, model, published(bench, model, **changes), reading or Reading())


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
        bench.grids[key] = {how: f1(reread(run, scoring(how))) for how in wanted}
    return dict(bench.grids[key])


def grid() -> list[Reading]:
    """Every factor with every lambda, in short texts too or not; without attention lambda does nothing."""
    factors = [attention for attention in ATTENTIONS if attention != "none"]
    return [Reading("none"), *starmap(Reading, product(factors, LAMBDAS, LENGTHS))]


def tuned(bench: Bench, data: str, model: str) -> Found:
    """MUDY with the factor and lambda that are best on these very documents; of equals, the first."""
    settings = asked(bench, model)
    found = readings(bench, data, model, settings)
    best = max(found, key=lambda reading: round(sum(found[reading]), 9), default=default_reading(bench, model))
    return attended(bench, data, model, settings, best)


Maker = Callable[[str], Found]  # data set -> run
