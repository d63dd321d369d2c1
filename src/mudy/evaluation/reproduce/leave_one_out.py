"""One setting for every data set: each set judges the setting that was best on the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mudy.evaluation import paper
from mudy.evaluation.reproduce import variants
from mudy.evaluation.reproduce.markdown import table
from mudy.evaluation.reproduce.variants import Reading, Triple
from mudy.evaluation.reproduce.workspace import Bench

Setting = tuple[str, Reading]  # name of the run, and how it is read
Scores = Mapping[str, Mapping[Setting, Triple]]  # by data set


def left_out_table(bench: Bench, model: str, sets: Sequence[str]) -> str:
    """For each data set the choice of the others, and what it gives beside the default."""
    scores = {data: found for data in bench.at_hand(sets) if (found := candidates(bench, data, model))}
    if len(scores) < 2:
        return f"{bench.label(model)}: fewer than two data sets have been run, so nothing can be left out."
    default: Setting = ("default", variants.default_reading(bench, model))
    lines = []
    for data, found in scores.items():
        others = {name: other for name, other in scores.items() if name != data}
        setting = chosen(others, [s for s in found if all(s in other for other in others.values())])
        how = f"{setting[0]} weighting, {setting[1]}"
        lines.append([bench.label(model), paper.TITLES[data], how, _numbers(found[setting]), _numbers(found[default])])
    head = ["model", "left out", "chosen on the others", "F1@5/10/15 of the choice", "of our default"]
    return table(head, lines, left=3)


def candidates(bench: Bench, data: str, model: str) -> dict[Setting, Triple]:
    """F1 of every candidate whose run is there; that of the default always is."""
    runs = {
        "default": variants.asked(bench, model),
        "no": variants.UNWEIGHTED,
        "published": variants.published(bench, model),
    }
    found: dict[Setting, Triple] = {}
    for name, settings in runs.items():
        made = name != "published" or bench.finished(data, "mudy", model, **settings)
        if made and (name == "default" or settings != runs["default"]):
            found |= {(name, how): f1 for how, f1 in variants.readings(bench, data, model, settings).items()}
    return found


def chosen(others: Scores, settings: Sequence[Setting]) -> Setting:
    """The setting with the best mean over data sets; of equals, the first."""
    return max(settings, key=lambda setting: round(sum(sum(found[setting]) for found in others.values()), 9))


def _numbers(triple: Triple) -> str:
    return "/".join(f"{value:.1f}" for value in triple)
