"""MUDY+ on data sets: the styles other than `subjects`, which `experiments.documents` fits, and tables about them.

    python -m experiments.mudyplus DATA --cache evidence

reads whole papers of DATA, a folder with development halves as files of JSON lines, with the shipped weights and
compares them with other methods. Resumable: what the cache holds is not computed again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from experiments.by_hand import by_hand_fits
from experiments.lists.readability import overlapping
from mudy import Extractor
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
from mudy.methods.mudyplus.fit_texts import FitSum, FitText, in_parts
from mudy.methods.mudyplus.weights import Weights, load_weights
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
RIDGE = 0.03  # towards the default style
Peers = Mapping[str, Mapping[str, Sequence[Predictions]]]  # method -> data set -> what it finds
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
    arguments = parser.parse_args()
    peers = peer_runs(arguments.data, arguments.cache, whole=True)
    sets = loaded(arguments.data, WHOLE)
    texts = gather(reader("keywords", None), sets, arguments.cache / "mudyplus-none", show_set)
    print("\n".join(whole_page(texts, peers)))


def loaded(data: Path, most: Mapping[str, int]) -> list[Dataset]:
    """Up to so many texts of each set."""
    return [load(data / f"{name}.jsonl", limit=limit) for name, limit in most.items()]


def style_texts(data: Path, cache: Path) -> list[FitText]:
    """The texts of all data sets with their evidence, as they are read with the style of their kind."""
    texts = []
    for style, names in STYLES.items():
        sets = loaded(data, {name: TEXTS[name] for name in names})
        texts += gather(reader(style, "promptrank"), sets, cache / f"mudyplus-{style}", show_set)
    return in_parts(texts)


def fitted_styles(texts: Sequence[FitText], subjects: Weights, extractor: Extractor) -> dict[str, FittedWeights]:
    """The weights of each style."""
    options = {**fit_options(extractor, RIDGE), "towards": "subjects"}
    return {
        style: fit_on_texts(
            [text for text in texts if text.dataset in names], subjects, MudyPlus.leaders, style_fits(subjects), options
        )
        for style, names in STYLES.items()
    }


def style_fits(subjects: Weights) -> FitSum:
    """Fits with the weights of the default style as the prior."""
    return by_hand_fits({"quick": {}, "full": {}}, RIDGE, subjects)


def reader(style: Style, protocol: ProtocolName | None) -> Extractor:
    """Its evidence is that of texts as they are read with a style."""
    return Extractor("mudyplus", style=style, protocol=protocol, threads=1)


def show_set(name: str, done: int, texts: int) -> None:
    """Progress: a line for each data set."""
    if not done:
        print(f"{time.strftime('%H:%M:%S')} {name}: {texts} texts", file=sys.stderr, flush=True)


def fit_options(extractor: Extractor, ridge: float) -> dict[str, Any]:
    """How weights were fitted, ready for JSON."""
    asked = {name: value for name, value in fit_settings(extractor).items() if value not in (None, {})}
    return {**asked, "ridge": ridge}


def peer_runs(data: Path, cache: Path, *, whole: bool = False) -> Peers:
    """The predictions of other methods on the same texts, read in the same way."""
    cache.mkdir(parents=True, exist_ok=True)
    sets, peers = loaded(data, WHOLE if whole else TEXTS), {}
    for method, title in PEERS.items():
        extractor = Extractor(method, protocol=None if whole else "promptrank", threads=1)
        file = cache / f"{method}-{'none' if whole else 'promptrank'}.json"

        def show(dataset: str, done: int, texts: int, method: str = method) -> None:
            show_set(f"{method} on {dataset}", done, texts)

        run = evaluate(extractor, sets, file, progress=show)
        peers[title] = {data.name: list(run.predictions(data.name)) for data in sets}
    return peers


# -- Tables -----------------------------------------------------------------------------------------------------------


def predictions(text: FitText, chances: Numbers, top_n: int | None, **ranking: Any) -> Predictions:
    """The best phrases of a text next to its gold; `ranking` are other arguments of `rank`."""
    phrases = [keyphrase.text.lower() for keyphrase in ranked(text, chances, top_n, **ranking)]
    return Predictions(text.id, phrases, text.gold, text.occurrences, text.language)


def page(judged: FittedWeights, peers: Peers) -> Iterator[str]:
    yield from f1_table(judged, peers)
    yield ""
    yield from list_table(judged)
    yield ""
    for own in judged.calibrations:
        yield from calibration_table(own)


def title_of(dataset: str) -> str:
    return TITLES.get(dataset, dataset)


def f1_table(judged: FittedWeights, peers: Peers) -> Iterator[str]:
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


def whole_page(texts: Sequence[FitText], peers: Peers) -> Iterator[str]:
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
