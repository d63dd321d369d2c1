"""Write docs/leaderboard.md from the files in experiments/leaderboard: `python -m tools.leaderboard` in the root.

A file of another version of the suite, or without all of its documents, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from experiments.reproduce.markdown import markdown_table
from mudy.errors import InputError
from mudy.evaluation.measures import F1, MACRO, SAMPLES, Interval, bootstrap_draws
from mudy.evaluation.suite import DIVERSE, FAITHFUL, VERSION, Outcome, SuiteResult, measured, register, set_hash

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "leaderboard"
PAGE = ROOT / "docs" / "leaderboard.md"
ASPECTS = (FAITHFUL, DIVERSE)


def entries(folder: Path = RESULTS) -> list[SuiteResult]:
    """The results in a folder, best mean F1@10 first."""
    results = []
    for path in sorted(folder.glob("*.json")):
        results.append(load(path))
        if missing := missing_sets(results[-1]):
            raise InputError(f"{path}: not the documents of the suite: {', '.join(missing)}.")
    return sorted(results, key=lambda result: (-means(result)["F1@10"], result.name))


def load(path: str | Path) -> SuiteResult:
    """A result file of `mudy evaluate --suite`."""
    try:
        row = json.loads(Path(path).read_text(encoding="utf-8"))
        if row["suite"] != VERSION:
            raise ValueError(f"version {row['suite']!r} of the suite, not {VERSION}")
        sets = {name: [Outcome(*one) for one in data["documents"]] for name, data in row["sets"].items()}
        for name, outcomes in sets.items():
            if set_hash(one.hash for one in outcomes) != row["sets"][name]["hash"]:
                raise ValueError(f"the documents of {name} are not those of its hash")
        return SuiteResult(row["name"], row["method"], row["cpu_seconds"], sets)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a result of `mudy evaluate --suite` ({error}).") from error


def missing_sets(result: SuiteResult) -> list[str]:
    """The data sets of the suite that a result lacks, or has with other documents."""
    return [name for name, own in register().items() if [one.hash for one in result.sets.get(name, ())] != [*own]]


def means(result: SuiteResult) -> dict[str, float]:
    """Every measure, the mean over data sets."""
    by_set = [measured(result.sets[name]) for name in register()]
    return {measure: mean(values[measure] for values in by_set) for measure in by_set[0]}


def half_width(result: SuiteResult) -> float:
    """Half of the 95 % interval of mean F1@10, by a bootstrap over the documents of each data set."""
    measure, drawn = F1 @ 10, np.zeros(SAMPLES)
    for number, name in enumerate(register()):
        table = measure.table([one.predictions() for one in result.sets[name]], MACRO)
        (times,) = bootstrap_draws(len(table), seed=number)
        drawn = drawn + measure.over_draws(table, times, MACRO) / len(register())
    interval = Interval.of(float(drawn.mean()), drawn)
    return (interval.high - interval.low) / 2


def page(results: Sequence[SuiteResult]) -> str:
    """The whole page."""
    overall = {result.name: means(result) for result in results}
    measures = [name for name in next(iter(overall.values())) if name not in ASPECTS]
    table = markdown_table(
        ["method", "F1@10 ±", *(name for name in measures if name != "F1@10"), "CPU-s"],
        [
            [
                result.name,
                f"{overall[result.name]['F1@10']:.1f} ±{half_width(result):.1f}",
                *(f"{overall[result.name][name]:.1f}" for name in measures if name != "F1@10"),
                f"{result.cpu_seconds:.2g}",
            ]
            for result in results
        ],
    )
    by_set = markdown_table(
        ["method", *register()],
        [[result.name, *(f"{measured(result.sets[name])['F1@10']:.1f}" for name in register())] for result in results],
    )
    sets = markdown_table(
        ["data set", "documents", "hash"],
        [[name, str(len(hashes)), f"`{set_hash(hashes)}`"] for name, hashes in register().items()],
    )
    aspects = markdown_table(
        ["method", *ASPECTS],
        [[name, *(f"{of[a]:.1f}" for a in ASPECTS)] for name, of in overall.items() if {*ASPECTS} <= {*of}],
    )
    text = (RESULTS / "template.md").read_text(encoding="utf-8")
    parts = {"table": table, "by set": by_set, "aspects": aspects, "sets": sets, "version": str(VERSION)}
    for place, part in parts.items():
        text = text.replace(f"<!-- {place} -->", part)
    return text


def main() -> None:
    PAGE.write_text(page(entries()), encoding="utf-8")


if __name__ == "__main__":
    main()
