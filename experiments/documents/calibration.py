"""How far the probabilities of the style `subjects` can be trusted on genres that the weights have not seen.

    python -m experiments.documents.calibration FOLDER... --data DATA --cache evidence

Weights and directions are fitted on the other genres, as by `experiments.documents`, which has the same arguments; only
the bend of high probabilities, one number, is chosen on all. A phrase is right if it names a main or good subject; the
first fifteen of each document count. Writes calibration.md and calibration.png to --output.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from experiments.documents import Gold, load_gold
from experiments.documents.__main__ import documents, fitted_subjects, with_directions
from experiments.mudyplus import style_texts
from experiments.reproduce.markdown import markdown_table
from mudy import Extractor
from mudy.evaluation.fit import FittedWeights
from mudy.evaluation.measures import have_stems_of, reliability_bins
from mudy.extraction.adaptation import ranked
from mudy.methods.mudyplus.evidence import Numbers

FIRST = 15  # phrases of a document
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.01)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--cache", type=Path, required=True, help="folder for evidence")
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1])
    arguments = parser.parse_args()
    golds = {gold.id: gold for folder in arguments.folders for gold in load_gold(folder)}
    extractor = Extractor(threads=1)
    texts, *_ = with_directions(
        documents(extractor, golds, arguments.cache), style_texts(arguments.data, arguments.cache), extractor
    )
    fitted = fitted_subjects(texts, extractor)["subjects"]
    judged = {name: judgements(fitted, golds, name) for name in ("full", "quick")}
    (arguments.output / "calibration.md").write_text(page(judged), encoding="utf-8")
    picture({"fast": judged["full"], "quick": judged["quick"]}, arguments.output / "calibration.png")


Judgements = Mapping[str, tuple[Numbers, Numbers]]  # genre -> probabilities of phrases, and whether each is right


def judgements(fitted: FittedWeights, golds: Mapping[str, Gold], name: str) -> Judgements:
    """The first phrases of each genre, by weights that have not seen it."""
    rows = []
    for text, chances in zip(fitted.texts, fitted.chances(fitted.texts, name, fitted.weights_without), strict=True):
        phrases = ranked(text, chances, FIRST, distinct=True)
        right = have_stems_of([phrase.text for phrase in phrases], golds[text.id].names, text.language)
        rows += [(text.part or "", phrase.score, hit) for phrase, hit in zip(phrases, right, strict=True)]
    rows.sort(key=lambda row: row[0])
    by_part = {part: list(own) for part, own in groupby(rows, key=lambda row: row[0])}
    return {
        part: (np.array([chance for _, chance, _ in own]), np.array([hit for _, _, hit in own], dtype=float))
        for part, own in by_part.items()
    }


def together(judged: Judgements) -> tuple[Numbers, Numbers]:
    chances, hits = zip(*judged.values(), strict=True)
    return np.concatenate(chances), np.concatenate(hits)


def calibration_error(chances: Numbers, hits: Numbers, edges: Sequence[float] = EDGES) -> float:
    """Expected calibration error: the mean difference of a bin's probability and its share of hits, by phrases."""
    bins = reliability_bins(chances, hits.astype(bool), edges).values()
    return sum(count * abs(mean - right) for mean, right, count in bins) / len(chances)


def page(judged: Mapping[str, Judgements]) -> str:
    full, quick = (together(judged[name]) for name in ("full", "quick"))
    bins = [
        [f"{name}, {low_high}", f"{mean:.2f}", f"{right:.2f}", str(count)]
        for name, (chances, hits) in (("fast", full), ("quick", quick))
        for low_high, (mean, right, count) in reliability_bins(chances, hits.astype(bool)).items()
    ]
    thresholds = [
        [str(least), *(cell for numbers in (full, quick) for cell in above(*numbers, least))] for least in THRESHOLDS
    ]
    genres = [
        [
            genre,
            str(len(hits)),
            f"{chances.mean():.2f}",
            f"{hits.mean():.2f}",
            f"{chances.mean() - hits.mean():+.2f}",
            f"{calibration_error(chances, hits):.2f}",
        ]
        for genre, (chances, hits) in sorted(judged["full"].items())
    ]
    offsets = np.array([chances.mean() - hits.mean() for chances, hits in judged["full"].values()])
    values = {
        "error": f"fast **{calibration_error(*full):.3f}**, quick **{calibration_error(*quick):.3f}**",
        "means": f"{full[0].mean():.2f} and {full[1].mean():.2f}",
        "quick means": f"{quick[0].mean():.2f} and {quick[1].mean():.2f}",
        "bins": markdown_table(["range", "probability", "share right", "phrases"], bins),
        "thresholds": markdown_table(
            ["min_score", "fast, right", "fast, phrases", "quick, right", "quick, phrases"], thresholds
        ),
        "differences": f"a mean of {offsets.mean():+.2f} and a standard deviation of {offsets.std():.2f}",
        "genres": markdown_table(["genre", "phrases", "probability", "share right", "difference", "error"], genres),
    }
    text = (Path(__file__).parent / "calibration.template.md").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"<!-- {name} -->", value)
    return text


def above(chances: Numbers, hits: Numbers, least: float) -> list[str]:
    kept = hits[chances >= least]
    return [f"{kept.mean():.2f}" if len(kept) else "", f"{FIRST * len(kept) / len(hits):.1f}"]


def picture(judged: Mapping[str, Judgements], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, genres in judged.items():
        chances, hits = together(genres)
        points = [(mean, right) for mean, right, _ in reliability_bins(chances, hits.astype(bool)).values()]
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set(xlabel="predicted probability", ylabel="share right", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
