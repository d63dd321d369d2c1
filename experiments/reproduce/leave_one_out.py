"""One setting for every data set: each set judges the setting that was best on the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.reproduce import paper, variants
from experiments.reproduce.markdown import markdown_table
from experiments.reproduce.variants import F1Values, RescoreSettings
from experiments.reproduce.workspace import Workspace

Setting = tuple[str, RescoreSettings]  # name of the run, and how it is read
Scores = Mapping[str, Mapping[Setting, F1Values]]  # by data set


def left_out_table(workspace: Workspace, model: str, sets: Sequence[str]) -> str:
    """For each data set the choice of the others, and what it gives beside the default."""
    scores = {data: found for data in workspace.at_hand(sets) if (found := setting_scores(workspace, data, model))}
    if len(scores) < 2:
        return f"{workspace.label(model)}: fewer than two data sets have been run, so nothing can be left out."
    default: Setting = ("default", variants.default_score_settings(workspace, model))
    lines = []
    for data, found in scores.items():
        others = {name: other for name, other in scores.items() if name != data}
        setting = best_setting(others, [s for s in found if all(s in other for other in others.values())])
        how = f"{setting[0]} weighting, {setting[1]}"
        lines.append(
            [
                workspace.label(model),
                paper.DATASET_TITLES[data],
                how,
                _numbers(found[setting]),
                _numbers(found[default]),
            ]
        )
    head = ["model", "left out", "chosen on the others", "F1@5/10/15 of the choice", "of our default"]
    return markdown_table(head, lines, left=3)


def setting_scores(workspace: Workspace, data: str, model: str) -> dict[Setting, F1Values]:
    """F1 of every candidate whose run is there; that of the default always is."""
    runs = {
        "default": variants.run_settings(workspace, model),
        "no": variants.UNWEIGHTED,
        "published": variants.published_settings(workspace, model),
    }
    found: dict[Setting, F1Values] = {}
    for name, settings in runs.items():
        made = name != "published" or workspace.finished(data, "mudy", model, **settings)
        if made and (name == "default" or settings != runs["default"]):
            found |= {(name, how): f1 for how, f1 in variants.f1_by_settings(workspace, data, model, settings).items()}
    return found


def best_setting(others: Scores, settings: Sequence[Setting]) -> Setting:
    """The setting with the best mean over data sets; of equals, the first."""
    return max(settings, key=lambda setting: round(sum(sum(found[setting]) for found in others.values()), 9))


def _numbers(triple: F1Values) -> str:
    return "/".join(f"{value:.1f}" for value in triple)
