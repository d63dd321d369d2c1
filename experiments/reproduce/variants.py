"""MUDY's settings under their names: ours, the paper's, and without its parts; and readings that need no new run.

Every run observes G and L, so that any factor and any lambda can be read from it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import product, starmap
from typing import Any, NamedTuple

from experiments.reproduce.markdown import Gap
from experiments.reproduce.rescore import Scoring, likelihood_alone, mudy_scoring, rescore_run, with_likelihood_of
from experiments.reproduce.workspace import RunOrGap, Workspace
from mudy.evaluation.measures import DEPTHS, F1
from mudy.evaluation.runs import Run
from mudy.methods.mudy import RECOMMENDED, Attention, Mudy

RunSettings = dict[str, Any]
F1Values = tuple[float, ...]
PAPER: Mapping[str, Any] = {f.name: f.default for f in fields(Mudy)}  # the fields' defaults are the paper's
LAMBDAS = (*(round(0.1 * step, 1) for step in range(1, 11)), 1.5, 2.0)
ATTENTIONS: tuple[Attention, ...] = ("none", "G", "L", "GxL")
LENGTHS = (0, 400)  # lambda_words: the paper's, and ours


class RescoreSettings(NamedTuple):
    """How a run is read: settings that need no run of their own."""

    attention: Attention = "GxL"
    lambda_: float = 1.0
    lambda_words: int = 0

    def __str__(self) -> str:
        if self.attention == "none":
            return "no attention"
        return f"{self.attention}, lambda {self.lambda_:g}" + (f" from {self.lambda_words} words on" * bool(self[2]))


UNWEIGHTED: RunSettings = {"weighting": False}


def recommended(workspace: Workspace, model: str) -> Mapping[str, Any]:
    """The settings of `Mudy` for a model where they depart from the paper's."""
    return RECOMMENDED.get(workspace.shape(model), {})


def less_work(workspace: Workspace) -> Mapping[str, Any]:
    """The settings of `Mudy` that the speed changes."""
    return Mudy.speeds.get(workspace.options.speed or Mudy.default_speed, {})


def run_settings(workspace: Workspace, model: str, **changes: Any) -> RunSettings:
    """What to ask `Mudy` for, so that it differs from its default in just these settings; one name for one run."""
    default = {**PAPER, **recommended(workspace, model), **less_work(workspace)}
    kept = {name: value for name, value in changes.items() if value != default[name]}
    return {"attention": "GxL", **kept}


def published_settings(workspace: Workspace, model: str, **changes: Any) -> RunSettings:
    """The paper's settings, whatever is recommended for a model or left out for speed, with changes."""
    kept = {*RescoreSettings._fields, "section_tokens"}  # published texts have 512 words, so they have no sections
    ours = {**recommended(workspace, model), **less_work(workspace)}
    own = {name: PAPER[name] for name in ours if name not in kept}
    return run_settings(workspace, model, **{**own, **changes})


def scoring(reading: RescoreSettings) -> Scoring:
    return mudy_scoring(reading.lambda_, reading.attention, reading.lambda_words)


def base(workspace: Workspace, data: str, model: str, settings: RunSettings) -> RunOrGap:
    """A run of MUDY; without weighting it is read from the runs of MUDY and of PromptRank."""
    if settings != UNWEIGHTED:
        return workspace.run(data, "mudy", model, **settings)
    return _joined(_observed(workspace, data, model), workspace.run(data, "promptrank", model))


def _observed(workspace: Workspace, data: str, model: str) -> RunOrGap:
    """The run of MUDY that attention is read from: the published one; of kept ones, that with most documents."""
    kinds = [published_settings(workspace, model)]
    if workspace.options.kept:
        kinds.append(run_settings(workspace, model))
    runs = [workspace.run(data, "mudy", model, **settings) for settings in kinds]
    return max(runs, key=lambda run: len(run.documents) if isinstance(run, Run) else 0)


def _joined(attention: RunOrGap, likelihood: RunOrGap) -> RunOrGap:
    if isinstance(attention, Gap) or isinstance(likelihood, Gap):
        return attention if isinstance(attention, Gap) else likelihood
    return with_likelihood_of(likelihood, attention)


def default_score_settings(workspace: Workspace, model: str) -> RescoreSettings:
    """The factor and the lambda that `Mudy` uses for a model."""
    used = {**PAPER, **recommended(workspace, model)}
    return RescoreSettings(*(used[name] for name in RescoreSettings._fields))


# -- Rows -------------------------------------------------------------------------------------------------------------


def promptrank(workspace: Workspace, data: str, model: str) -> RunOrGap:
    """PromptRank as the paper compares with it: without its penalty for late positions."""

    def make() -> RunOrGap:
        run = workspace.run(data, "promptrank", model)
        return run if isinstance(run, Gap) else rescore_run(run, likelihood_alone)

    return workspace.once((data, model, "promptrank"), make)


def rescored(workspace: Workspace, data: str, model: str, settings: RunSettings, reading: RescoreSettings) -> RunOrGap:
    """A run of MUDY, read with some factor and lambda."""

    def make() -> RunOrGap:
        run = base(workspace, data, model, settings)
        return run if isinstance(run, Gap) else rescore_run(run, scoring(reading))

    return workspace.once((data, model, "mudy", str(settings), reading), make)


def fixed(workspace: Workspace, data: str, model: str) -> RunOrGap:
    """MUDY with the one setting that we recommend for a model."""
    return rescored(workspace, data, model, run_settings(workspace, model), default_score_settings(workspace, model))


def as_published(
    workspace: Workspace, data: str, model: str, reading: RescoreSettings | None = None, **changes: Any
) -> RunOrGap:
    """MUDY with the paper's settings."""
    return rescored(
        workspace, data, model, published_settings(workspace, model, **changes), reading or RescoreSettings()
    )


def windowed(workspace: Workspace, data: str, model: str, w: int) -> RunOrGap:
    """MUDY with the paper's settings and a window; the likelihood, which does not depend on it, is that of w = 1."""
    if w == PAPER["w"]:
        return as_published(workspace, data, model)

    def make() -> RunOrGap:
        settings = published_settings(workspace, model, weighting=False, w=w)
        published = workspace.run(data, "mudy", model, **published_settings(workspace, model))
        joined = _joined(workspace.run(data, "mudy", model, **settings), published)
        return joined if isinstance(joined, Gap) else rescore_run(joined, scoring(RescoreSettings()))

    return workspace.once((data, model, "window", w), make)


# -- Choosing ---------------------------------------------------------------------------------------------------------


def f1(run: Run) -> F1Values:
    documents = run.predictions(run.names[0])
    return tuple((F1 @ k)(documents) for k in DEPTHS)


def f1_by_settings(
    workspace: Workspace, data: str, model: str, settings: RunSettings
) -> dict[RescoreSettings, F1Values]:
    """F1 of a run under every factor and lambda; nothing where there is no run."""
    key = f"{data} {model} {settings}"
    if key not in workspace.grids:
        run = base(workspace, data, model, settings)
        if isinstance(run, Gap):
            return {}
        wanted = dict.fromkeys([*grid(), default_score_settings(workspace, model)])
        workspace.grids[key] = {how: f1(rescore_run(run, scoring(how))) for how in wanted}
    return dict(workspace.grids[key])


def grid() -> list[RescoreSettings]:
    """Every factor with every lambda, in short texts too or not; without attention lambda does nothing."""
    factors = [attention for attention in ATTENTIONS if attention != "none"]
    return [RescoreSettings("none"), *starmap(RescoreSettings, product(factors, LAMBDAS, LENGTHS))]


def tuned(workspace: Workspace, data: str, model: str) -> RunOrGap:
    """MUDY with the factor and lambda that are best on these very documents; of equals, the first."""
    settings = run_settings(workspace, model)
    found = f1_by_settings(workspace, data, model, settings)
    best = max(
        found, key=lambda reading: round(sum(found[reading]), 9), default=default_score_settings(workspace, model)
    )
    return rescored(workspace, data, model, settings, best)


RunLookup = Callable[[str], RunOrGap]  # data set -> run
