"""What a few examples are worth: F1 of MUDY+ on six data sets, adapted to 3 to 50 of their texts.

    python -m experiments.examples DATA --documents FOLDER... --cache evidence --picture docs/examples.png

DATA is a folder with the development halves, a file of JSON lines each, and each FOLDER one of documents as
`experiments.documents` has, which the direction of the language model is fitted on too. Of each set 50 texts are
measured; examples are drawn from 50 others. Weights are adapted from those of the default style, which saw none of
these sets, and from those of the style of the set's kind. The other styles are fitted here, without the set measured.
As in `Extractor(examples=...)`, weights that do not help examples left out are not used. `--pulls` compares strengths
of the prior instead: mean and least gain over the sets. Resumable: what the cache holds is not computed again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.documents import load_gold
from experiments.documents.__main__ import documents, with_directions
from experiments.mudyplus import STYLES, predictions, style_fits
from mudy import Extractor
from mudy.evaluation.datasets import load
from mudy.evaluation.fit import gather
from mudy.evaluation.measures import F1
from mudy.extraction.adaptation import Adaptation
from mudy.extraction.examples import LEAST
from mudy.methods import Style
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.fit_texts import FitText, fit_parts, fitted_weights, from_prior, in_parts
from mudy.methods.mudyplus.fitting import PULL
from mudy.methods.mudyplus.weights import Weights, load_weights

TITLES = {
    "wikihow": "WikiHow",
    "duc2001": "DUC2001",
    "inspec": "Inspec",
    "stackexchange": "StackExchange (@5)",
    "www": "www",
    "nus": "NUS",
}
KINDS = {name: style for style, names in STYLES.items() for name in names}
TEXTS = 100  # of each set, at most
MEASURED = 50  # texts of each set
NUMBERS = (3, 5, 10, 20, 50)  # of examples
DRAWS = 8
LEADERS = MudyPlus.leaders
HEAD = f"""# What a few examples are worth

F1@10 in per cent (StackExchange: F1@5) on {MEASURED} texts of each set, mean and deviation over {DRAWS} draws of
examples from 50 others, by `python -m experiments.examples DATA --documents FOLDER... --cache evidence`. `subjects` is
the default style, whose weights saw none of these sets. The other styles are fitted for this table without the set
measured, on at most {TEXTS} texts of each set of their kind, and the direction of the language model on documents and
all other sets. The form and the strength of the prior were chosen on these sets.
Weights that do not help examples left out are not used, as in `Extractor(examples=...)`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of data sets")
    parser.add_argument("--documents", type=Path, nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, required=True, help="folder for evidence")
    parser.add_argument("--picture", type=Path, metavar="FILE.png", help="draw the learning curves")
    parser.add_argument("--pulls", type=float, nargs="+", default=[], help="strengths of the prior to compare")
    arguments = parser.parse_args()
    extractor = Extractor("mudyplus", protocol="promptrank", threads=1)
    sets = [load(arguments.data / f"{name}.jsonl", limit=TEXTS) for name in KINDS]
    gathered = in_parts(gather(extractor, sets, arguments.cache / "examples", lambda *_: None))
    golds = {gold.id: gold for folder in arguments.documents for gold in load_gold(folder)}
    _, gathered, _ = with_directions(documents(Extractor(threads=1), golds, arguments.cache), gathered, extractor)
    texts = {name: [replace(text, part="") for text in gathered if text.dataset == name] for name in KINDS}
    styles = {name: styles_without(name, texts) for name in TITLES}
    if arguments.pulls:
        print("\n".join(pull_table(texts, styles, arguments.pulls)))
        return
    curves = {
        "subjects": {name: curve(name, texts[name], "subjects", styles[name]) for name in TITLES},
        "its kind": {name: curve(name, texts[name], KINDS[name], styles[name]) for name in TITLES},
    }
    print(f"{HEAD}\n")
    print("\n".join(table(curves)))
    if arguments.picture:
        draw(curves["subjects"], arguments.picture)


def styles_without(name: str, texts: Mapping[str, Sequence[FitText]]) -> dict[Style, Weights]:
    """All styles: the default one, and the others fitted without a set."""
    chosen = {
        style: [text for other in names if other != name for text in texts[other] if text.candidates]
        for style, names in STYLES.items()
    }
    subjects = load_weights()
    fits = style_fits(subjects)
    return {"subjects": subjects, **{style: fitted_weights(own, LEADERS, fits) for style, own in chosen.items()}}


def curve(
    name: str, texts: Sequence[FitText], style: Style, styles: Mapping[Style, Weights], pull: float = PULL
) -> dict[int, list[float]]:
    """F1 without examples (0), and with each number of them: one value per draw."""
    measured, pool, prior = texts[:MEASURED], texts[MEASURED:], styles[style]
    values = {0: [score(name, measured, prior)]}
    for number in NUMBERS:
        values[number] = []
        for seed in range(DRAWS if number < len(pool) else 1):
            drawn = np.random.default_rng([number, seed]).permutation(len(pool))[:number]
            weights = adapted([pool[place] for place in drawn], prior, list(styles.values()), pull)
            values[number].append(score(name, measured, weights))
    print(time.strftime("%H:%M:%S"), name, {n: round(float(np.mean(v)), 1) for n, v in values.items()}, file=sys.stderr)
    return values


def adapted(examples: Sequence[FitText], prior: Weights, styles: Sequence[Weights], pull: float) -> Weights:
    """The weights that an extractor uses: of fewer than three examples with a phrase in the text, none are made."""
    telling = [text for text in examples if text.tells]
    if len(telling) < LEAST:
        return prior
    fits = fit_parts(telling, LEADERS, from_prior(prior, telling, styles, pull))
    return Adaptation.of(fits, prior).weights


def score(name: str, texts: Sequence[FitText], weights: Weights) -> float:
    depth = 5 if name == "stackexchange" else 10
    return (F1 @ depth)([predictions(text, text.chances(weights, LEADERS), depth) for text in texts])


# -- Tables and picture -----------------------------------------------------------------------------------------------


def table(curves: Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]]) -> Iterator[str]:
    head = " | ".join(f"{number} examples" for number in NUMBERS)
    yield f"| set | adapted from | 0 examples | {head} |"
    yield "|---|---|" + "---:|" * (len(NUMBERS) + 1)
    for prior, sets in curves.items():
        for name, values in sets.items():
            style = KINDS[name] if prior == "its kind" else prior
            cells = [spread(values[number]) for number in (0, *NUMBERS)]
            yield f"| {TITLES[name]} | {style} | {' | '.join(cells)} |"


def spread(values: Sequence[float]) -> str:
    """The mean, and the standard deviation over draws."""
    deviation = f" ±{np.std(values):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{deviation}"


def pull_table(
    texts: Mapping[str, Sequence[FitText]], styles: Mapping[str, Mapping[Style, Weights]], pulls: Sequence[float]
) -> Iterator[str]:
    yield f"| pull | {' | '.join(f'{number} examples: mean gain, least' for number in NUMBERS)} |"
    yield "|---:|" + "---:|" * len(NUMBERS)
    for pull in pulls:
        curves = [curve(name, texts[name], "subjects", styles[name], pull) for name in TITLES]
        gains = [[float(np.mean(values[number])) - values[0][0] for values in curves] for number in NUMBERS]
        yield f"| {pull:g} | {' | '.join(f'{np.mean(gain):+.2f}, {min(gain):+.2f}' for gain in gains)} |"


def draw(curves: Mapping[str, Mapping[int, Sequence[float]]], path: Path) -> None:
    """A panel per set: F1 by the number of examples, with the standard deviation over draws."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 3, figsize=(8, 4.6), layout="constrained", sharex=True)
    for panel, (name, values) in zip(panels.flat, curves.items(), strict=True):
        means, deviations = ([function(values[n]) for n in (0, *NUMBERS)] for function in (np.mean, np.std))
        panel.axhline(means[0], color="0.6", linewidth=1, linestyle="--")
        panel.errorbar(range(len(means)), means, deviations, marker="o", markersize=4, capsize=3)
        panel.set_title(TITLES[name], fontsize=10)
        panel.set_xticks(range(len(means)), ["0", *map(str, NUMBERS)])
        panel.margins(y=0.2)
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("examples", fontsize=10)
    figure.supylabel("F1@10 in per cent", fontsize=10)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
