"""MUDY+: the weights of the styles made again, and every table about them, from evidence that is computed once.

    python -m experiments.mudyplus DATA --cache evidence --output src/mudy/methods/mudyplus/fitted > mudyplus.md

DATA is a folder with the development halves, a file of JSON lines each. Resumable: what the cache holds is not computed
again, and with a full cache the command takes minutes. `--beside` adds a table with runs of `mudy evaluate --output`,
on the texts that they have. `--read none` reads whole texts with the shipped weights instead, and fits nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from experiments.by_hand import SET_BY_HAND, ByHand, by_hand_fits
from experiments.documents.keyphraseness import to_dict, with_keyphraseness_in_context
from experiments.lists.readability import overlapping
from mudy import Extractor
from mudy._support.storage import dump_json
from mudy.evaluation.comparison import compare
from mudy.evaluation.datasets import Dataset, load
from mudy.evaluation.experiment import evaluate
from mudy.evaluation.fit import FittedWeights, WeightsOf, fit_on_texts, fit_settings, gather
from mudy.evaluation.measures import DEPTHS, F1, Calibration, Depth, Predictions
from mudy.evaluation.runs import Run
from mudy.extraction.adaptation import ranked
from mudy.extraction.options import ProtocolName
from mudy.extraction.ranking import LIKELY
from mudy.methods import Style
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.evidence import Numbers
from mudy.methods.mudyplus.fit_texts import FitText, in_parts
from mudy.methods.mudyplus.fitting import RIDGE
from mudy.methods.mudyplus.weights import load_weights
from mudy.reading.candidates.stemming import stems_of as stems

TEXTS = {  # of each data set that the weights are fitted on: all, up to this many
    "duc2001": 250,
    "nus": 250,
    "semeval2017": 250,
    "wikihow": 250,
    "inspec": 250,
    "kp20k": 250,
    "stackexchange": 250,
    "www": 250,
    "pubmed": 150,
    "citeulike180": 150,
    "semeval2010_train": 150,
    "kptimes_sample10": 10,
}
STYLES: dict[Style, tuple[str, ...]] = {  # the sets whose gold is of one kind
    "terms": ("inspec", "semeval2017", "duc2001"),
    "keywords": ("kp20k", "www", "nus", "pubmed", "citeulike180", "semeval2010_train"),
    "tags": ("wikihow", "stackexchange", "kptimes_sample10"),
}
WHOLE = {"nus": 25, "semeval2010": 25, "pubmed": 25, "citeulike180": 25}
PEERS = {"yake": "YAKE", "embedrank": "EmbedRank"}
TITLES = {
    "duc2001": "DUC2001",
    "nus": "NUS",
    "semeval2017": "SemEval2017",
    "wikihow": "WikiHow",
    "inspec": "Inspec",
    "kp20k": "KP20k",
    "stackexchange": "StackExchange",
    "pubmed": "PubMed",
    "semeval2010": "SemEval2010",
    "semeval2010_train": "SemEval2010, train",
    "kptimes_sample10": "KPTimes, sample",
}
TOP = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of data sets")
    parser.add_argument("--cache", type=Path, required=True, help="folder for evidence and runs of other methods")
    parser.add_argument("--output", type=Path, help="write the weights of each style into this folder")
    parser.add_argument(
        "--read", choices=["promptrank", "none"], default="promptrank", help="512 words, or whole texts"
    )
    parser.add_argument("--beside", type=Path, nargs="+", default=[], metavar="RUN.json", help="runs of other methods")
    parser.add_argument("--no-peers", action="store_true", help="leave YAKE and EmbedRank out")
    arguments = parser.parse_args()
    whole = arguments.read == "none"
    wanted = WHOLE if whole else TEXTS
    sets = {name: load(arguments.data / f"{name}.jsonl", limit=most) for name, most in wanted.items()}
    asked = {} if arguments.no_peers else PEERS
    peers = {title: runs(name, [*sets.values()], arguments.cache, whole=whole) for name, title in asked.items()}
    if whole:
        texts = gather(reader("keywords", None), [*sets.values()], arguments.cache / "mudyplus-none", show_set)
        print("\n".join(whole_page(texts, peers)))
        return
    texts = []
    for style, names in STYLES.items():
        extractor, cache = reader(style, "promptrank"), arguments.cache / f"mudyplus-{style}"
        texts += gather(extractor, [sets[name] for name in names], cache, show_set)
    method = extractor.scorer
    assert isinstance(method, MudyPlus)
    texts, directions = with_keyphraseness_in_context(in_parts(texts), method, RIDGE)
    if arguments.output:
        about = "Fitted by `python -m experiments.mudyplus` on the development halves of public data sets."
        shipped = dump_json(to_dict(directions, about)) + "\n"
        (arguments.output / "keyphraseness_in_context.json").write_text(shipped, encoding="utf-8")
    leaders, options = method.leaders, fit_options(extractor)
    for style, names in STYLES.items():
        chosen = [text for text in texts if text.dataset in names]
        judged = fit_on_texts(chosen, load_weights(), leaders, by_hand_fits(), options)
        if arguments.output:
            weights = dump_json(shipped_form(judged), indent=1) + "\n"
            (arguments.output / f"{style}.json").write_text(weights, encoding="utf-8")
        print(f"## {style}\n\n" + "\n".join(page(judged, peers)))
        if arguments.beside:
            print("\n".join(beside_table(judged, [Run.load(path) for path in arguments.beside])))


def reader(style: Style, protocol: ProtocolName | None) -> Extractor:
    """Its evidence is that of texts as they are read with a style."""
    return Extractor("mudyplus", style=style, protocol=protocol, threads=1)


def show_set(name: str, done: int, texts: int) -> None:
    """Progress: a line for each data set."""
    if not done:
        print(f"{time.strftime('%H:%M:%S')} {name}: {texts} texts", file=sys.stderr, flush=True)


def fit_options(extractor: Extractor, by_hand: ByHand = SET_BY_HAND, ridge: float = RIDGE) -> dict[str, Any]:
    """How weights were fitted without a prior, ready for JSON."""
    asked = {name: value for name, value in fit_settings(extractor).items() if value not in (None, {})}
    return {**asked, "ridge": ridge, "set_by_hand": {name: dict(weights) for name, weights in by_hand.items()}}


def shipped_form(judged: FittedWeights) -> dict[str, object]:
    about = "Fitted by `python -m experiments.mudyplus` on the development halves of public data sets."
    return {"version": judged.weights.to_dict()["version"], "about": about, **judged.weights.to_dict()}


def runs(method: str, sets: Sequence[Dataset], folder: Path, *, whole: bool) -> dict[str, list[Predictions]]:
    """The predictions of another method on the same texts, read in the same way."""
    extractor = Extractor(method, protocol=None if whole else "promptrank", threads=1)
    file = folder / f"{method}-{'none' if whole else 'promptrank'}.json"
    run = evaluate(extractor, sets, file, progress=lambda data, *counts: show_set(f"{method} on {data}", *counts))
    return {data.name: list(run.predictions(data.name)) for data in sets}


# -- Tables -----------------------------------------------------------------------------------------------------------


def predictions(text: FitText, chances: Numbers, top_n: int | None, **ranking: Any) -> Predictions:
    """The best phrases of a text next to its gold; `ranking` are other arguments of `rank`."""
    phrases = [keyphrase.text.lower() for keyphrase in ranked(text, chances, top_n, **ranking)]
    return Predictions(text.id, phrases, text.gold, text.occurrences, text.language)


def page(judged: FittedWeights, peers: dict[str, dict[str, list[Predictions]]]) -> Iterator[str]:
    yield from f1_table(judged, peers)
    yield ""
    yield from list_table(judged)
    yield ""
    for own in judged.calibrations:
        yield from calibration_table(own)


def title_of(dataset: str) -> str:
    return TITLES.get(dataset, dataset)


def f1_table(judged: FittedWeights, peers: dict[str, dict[str, list[Predictions]]]) -> Iterator[str]:
    """F1@5/10/15 of all methods; of MUDY+ with the set left out of the fit (± half its 95 % interval), and fitted."""
    head = [*peers, "quick, left out", "fast, left out", "fast, fitted", "left out - best of others at 10"]
    yield f"| set | texts | ceiling | {' | '.join(head)} |"
    yield "|---|---:|---:" + "|---" * len(head) + "|"
    for dataset in judged.weights.fitted_on:
        texts = judged.of(dataset)
        quick, full = (ranked_texts(judged, texts, name, judged.weights_without) for name in ("quick", "full"))
        fitted = ranked_texts(judged, texts, "full", lambda _: judged.weights)
        interval = (F1 @ TOP).interval(full)
        others = [found[dataset] for found in peers.values()]
        best = max(others, key=F1 @ TOP, default=None)
        cells = [*map(values, others), values(quick), f"{values(full)} ±{(interval.high - interval.low) / 2:.1f}"]
        cells += [values(fitted), "" if best is None else difference(best, full)]
        yield f"| {title_of(dataset)} | {len(texts)} | {ceiling(texts):.1f} | {' | '.join(cells)} |"


def beside_table(judged: FittedWeights, found: Sequence[Run]) -> Iterator[str]:
    """F1@5/10/15 of other runs, and of MUDY+ with the set left out of the fit, on the texts that all runs have."""
    yield f"| set | texts | {' | '.join(run.title for run in found)} | MUDY+, left out | left out - best at 10 |"
    yield "|---|---:" + "|---" * (len(found) + 2) + "|"
    for dataset in judged.weights.fitted_on:
        ids = set.intersection(*({document.id for document in run.of(dataset)} for run in found))
        texts = [text for text in judged.of(dataset) if text.id in ids]
        if texts:
            full = ranked_texts(judged, texts, "full", judged.weights_without)
            others = [[own for own in run.predictions(dataset) if own.id in ids] for run in found]
            cells = [*map(values, others), values(full), difference(max(others, key=F1 @ TOP), full)]
            yield f"| {title_of(dataset)} | {len(texts)} | {' | '.join(cells)} |"


def ranked_texts(
    judged: FittedWeights,
    texts: Sequence[FitText],
    name: str,
    weights_of: WeightsOf,
    *,
    top_n: int | None = max(DEPTHS),
    min_score: float | None = None,
    distinct: bool = False,
) -> list[Predictions]:
    chances = judged.chances(texts, name, weights_of)
    return [
        predictions(text, own, top_n, min_score=min_score, merge=distinct, distinct=distinct)
        for text, own in zip(texts, chances, strict=True)
    ]


def values(found: Sequence[Predictions]) -> str:
    return "/".join(f"{(F1 @ depth)(found):.1f}" for depth in DEPTHS)


def difference(before: Sequence[Predictions], after: Sequence[Predictions]) -> str:
    found = compare(F1 @ TOP, before, after).difference
    return f"{found.value:+.1f} [{found.low:+.1f}, {found.high:+.1f}]"


def ceiling(texts: Sequence[FitText]) -> float:
    """The share of gold that stands among the candidates, in per cent."""
    gold = [stems(phrase) for text in texts for phrase in text.gold]
    found = [
        stems(phrase) in {stems(candidate.phrase) for candidate in text.candidates}
        for text in texts
        for phrase in text.gold
    ]
    return 100 * sum(found) / len(gold)


def list_table(judged: FittedWeights) -> Iterator[str]:
    """What a list without repetition costs, and what lists as long as the text deserves are worth."""
    yield "| set | F1@10 | distinct | overlapping pairs % | distinct % | F1@M of auto | phrases | F1@O |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for dataset in judged.weights.fitted_on:
        texts = judged.of(dataset)
        all_, distinct = (
            ranked_texts(judged, texts, "full", judged.weights_without, top_n=TOP, distinct=own)
            for own in (False, True)
        )
        auto = ranked_texts(judged, texts, "full", judged.weights_without, top_n=None, min_score=LIKELY)
        ranked = ranked_texts(judged, texts, "full", judged.weights_without, top_n=None)
        cells = [
            (F1 @ TOP)(all_),
            (F1 @ TOP)(distinct),
            overlap_share(all_),
            overlap_share(distinct),
            (F1 @ Depth.RETURNED)(auto),
            float(np.mean([len(own.phrases) for own in auto])),
            (F1 @ Depth.GOLD)(ranked),
        ]
        yield f"| {title_of(dataset)} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"


def overlap_share(found: Sequence[Predictions]) -> float:
    """Of all pairs of phrases in lists, those of which one is made of words of the other, in per cent."""
    pairs = [
        overlapping(stems(one), stems(other)) for own in found for one, other in combinations(own.phrases[:TOP], 2)
    ]
    return 100 * sum(pairs) / max(1, len(pairs))


def calibration_table(calibration: Calibration) -> Iterator[str]:
    brier, constant = calibration.brier, calibration.brier_of_mean
    yield f"{calibration.name}: Brier {brier:.4f} (constant prediction: {constant:.4f})"
    yield "\n| predicted | observed | phrases |\n|---:|---:|---:|"
    for predicted, observed, phrases in calibration.reliability.values():
        yield f"| {predicted:.2f} | {observed:.2f} | {phrases:,} |"
    yield ""


def whole_page(texts: Sequence[FitText], peers: dict[str, dict[str, list[Predictions]]]) -> Iterator[str]:
    """Whole texts with the shipped weights."""
    shipped = load_weights(style="keywords")
    judged = FittedWeights(texts, 30, shipped, {}, (), shipped)
    yield f"| set | texts | words | ceiling | {' | '.join(peers)} | quick | fast |"
    yield "|---|---:|---:|---:" + "|---" * (len(peers) + 2) + "|"
    for dataset in dict.fromkeys(text.dataset for text in texts):
        own = judged.of(dataset)
        cells = [values(found[dataset]) for found in peers.values()]
        cells += [values(ranked_texts(judged, own, name, lambda _: shipped)) for name in ("quick", "full")]
        words = np.mean([len(text.text.split()) for text in own])
        yield f"| {title_of(dataset)} | {len(own)} | {words:,.0f} | {ceiling(own):.1f} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
