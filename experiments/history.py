"""Tags from history: the weights of the votes fitted, and precision and recall of tags as the history grows.

    python -m experiments.history DATA --cache FOLDER --fit     # prints what `mudy.extraction.history` declares
    python -m experiments.history DATA --cache FOLDER > history.md
    python -m experiments.history DATA --cache FOLDER --annif ANNIF

DATA is a folder with data sets, a file of JSON lines each. One random half of each set is the history; everything is
fitted and tuned on that half alone, where a text never votes for itself. The other half is reported. Extraction is
that of `--speed quick`.
`--annif` writes StackExchange as `subjects.csv`, `train.tsv` and a folder `documents` for Annif, scores what
`annif index PROJECT documents --limit 5` wrote there, and MUDY with the same vocabulary. Resumable: lists of phrases
and vectors are kept in the cache.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from mudy import Extractor
from mudy._support.storage import atomic_write, dump_json
from mudy.evaluation.datasets import load
from mudy.extraction import history
from mudy.extraction.ranking import stem_key
from mudy.reading.document import squeeze

SETS = {"stackexchange": "StackExchange", "kp20k": "KP20k", "citeulike180": "citeulike180"}
SIZES = (50, 500, 5000)
TOP = 5
QUICK: dict[str, Any] = {"speed": "quick", "language": "en", "threads": 1}
Text = tuple[str, frozenset[tuple[str, ...]], list[str]]  # the text, the stems of its tags, and the tags


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of data sets")
    parser.add_argument("--cache", type=Path, required=True, help="folder for histories, vectors and lists")
    parser.add_argument("--fit", action="store_true", help="fit and tune on the histories, and print the weights")
    parser.add_argument("--annif", type=Path, metavar="FOLDER", help="write files for Annif, and score what it wrote")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    halves = {name: halved(arguments.data / f"{name}.jsonl") for name in SETS}
    if arguments.annif is not None:
        print(annif(arguments.annif, arguments.cache, *halves["stackexchange"]))
        return
    lines = fitted(halves, arguments.cache) if arguments.fit else report(halves, arguments.cache)
    for line in lines:
        print(line, flush=True)


def halved(path: Path) -> tuple[list[Text], list[Text]]:
    """The texts of a set: those of the history, and the others."""
    texts = [(d.text, frozenset(map(stems, d.keyphrases)), list(d.keyphrases)) for d in load(path).documents]
    random.Random(7).shuffle(texts)
    return texts[: len(texts) // 2], texts[len(texts) // 2 :]


def stems(phrase: str) -> tuple[str, ...]:
    return stem_key(phrase, "en")


def history_file(name: str, texts: Sequence[Text], cache: Path) -> Path:
    """The first texts of a history as a file; its index is kept beside it."""
    path = cache / f"{name}-{len(texts)}.jsonl"
    content = "".join(dump_json({"text": text, "tags": tags}) + "\n" for text, _, tags in texts)
    if not path.exists() or path.read_text(encoding="utf-8") != content:
        with atomic_write(path) as unfinished:
            unfinished.write_text(content, encoding="utf-8")
    return path


# -- Report -----------------------------------------------------------------------------------------------------------


def report(halves: dict[str, tuple[list[Text], list[Text]]], cache: Path) -> Iterator[str]:
    """Recall and precision of the first five tags, by size of the history."""
    for name, (past, texts) in halves.items():
        yield f"\n**{SETS[name]}**: {len(texts)} texts, and {len(past)} others as history\n"
        yield f"| | history | recall@{TOP} | precision@{TOP} | suggested, right |\n|---|---:|---:|---:|---:|"
        for label, settings in (("YAKE", {"method": "yake"}), ("extraction, subjects", {"style": "subjects"})):
            yield row(label, 0, lists(f"{name} {label}", cache, texts, **settings), texts)
        yield row("extraction, tags", 0, lists(f"{name} tags", cache, texts, style="tags"), texts)
        for size in dict.fromkeys(min(size, len(past)) for size in SIZES):
            path = history_file(name, past[:size], cache)
            yield row("nearest texts alone", size, nearest(path, texts), texts)
            yield row("history, tags", size, lists(f"{name} t {size}", cache, texts, history=path), texts)


def row(label: str, size: int, phrases: Sequence[Sequence[tuple[str, str]]], texts: Sequence[Text]) -> str:
    """One row of a table: the first five phrases of each text against its tags."""
    pairs = [
        ([(stems(phrase), source) for phrase, source in some[:TOP]], gold)
        for some, (_, gold, _) in zip(phrases, texts, strict=True)
    ]
    recall = np.mean([len({phrase for phrase, _ in some} & gold) / len(gold) for some, gold in pairs])
    precision = np.mean([len({phrase for phrase, _ in some} & gold) / TOP for some, gold in pairs])
    suggested = [phrase in gold for some, gold in pairs for phrase, source in some if source == "history"]
    shown = f"{len(suggested)}, {np.mean(suggested):.0%}" if suggested else ""
    return f"| {label} | {size or ''} | {100 * recall:.1f} | {100 * precision:.1f} | {shown} |"


def lists(
    key: str, cache: Path, texts: Sequence[Text], options: dict[str, Any] | None = None, **settings: Any
) -> list[list[tuple[str, str]]]:
    """The first phrases of each text, with their source; kept in the cache, without a history."""
    kept = cache / f"{key}.json"
    if "history" not in settings and kept.exists():
        return [[(phrase, source) for phrase, source in some] for some in json.loads(kept.read_text())]
    quick = {name: value for name, value in QUICK.items() if name != "speed" or settings.get("method") != "yake"}
    results = Extractor(**quick, **settings).extract_many([text for text, _, _ in texts], TOP, **options or {})
    phrases = [[(label(keyphrase), keyphrase.source) for keyphrase in result] for result in results]
    kept.write_text(json.dumps(phrases))
    return phrases


def label(keyphrase: Any) -> str:
    """A keyphrase as a tag."""
    return keyphrase.text if keyphrase.concept is None else keyphrase.concept.label


def nearest(path: Path, texts: Sequence[Text]) -> list[list[tuple[str, str]]]:
    """The tags of the nearest texts by the weight of their votes, and nothing else."""
    past = Extractor(**QUICK, history=path).history
    assert past is not None
    chosen = []
    for text, _, _ in texts:
        numbers, features = past.features(text, "en")
        order = np.lexsort((-features[:, 1], -features[:, 0]))[:TOP]
        chosen.append([(past.tags[numbers[place]], "history") for place in order if features[place, 0] > 0])
    return chosen


def annif(folder: Path, cache: Path, past: Sequence[Text], texts: Sequence[Text]) -> str:
    """Rows for Annif, if it has been run, and for MUDY; all tags of the set are the vocabulary of both."""
    documents = folder / "documents"
    documents.mkdir(parents=True, exist_ok=True)
    tags = dict.fromkeys(tag for _, _, some in (*past, *texts) for tag in some)
    uris = {tag: f"http://example.org/{number}" for number, tag in enumerate(tags)}
    with (folder / "subjects.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("uri", "label_en"), *((uri, tag) for tag, uri in uris.items())])
    lines = (f"{squeeze(text)}\t{' '.join(f'<{uris[tag]}>' for tag in some)}\n" for text, _, some in past)
    (folder / "train.tsv").write_text("".join(lines), encoding="utf-8")
    given = []
    for number, (text, _, _) in enumerate(texts):
        (documents / f"{number:04}.txt").write_text(text, encoding="utf-8")
        written = documents / f"{number:04}.annif"
        rows = written.read_text(encoding="utf-8").splitlines() if written.exists() else []
        given.append([(line.split("\t")[1], "annif") for line in rows])
    path = history_file("stackexchange", past, cache)
    known = {"vocabulary": list(tags)}
    alone = lists("stackexchange vocabulary", cache, texts, known, style="tags")
    both = lists("stackexchange vocabulary and history", cache, texts, known, history=path)
    rows = [("Annif", len(past), given), ("vocabulary", 0, alone), ("vocabulary and history", len(past), both)]
    return "\n".join(row(label, size, phrases, texts) for label, size, phrases in rows)


# -- Fit --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Votes:
    """What is known of one text: its phrases and tags, which of them are right, and the numbers about tags."""

    offset: np.ndarray  # log-odds of the phrase in the text, 0 for a tag that is not there
    features: np.ndarray  # (phrases, 5): the three of the history, and whether a tag is in the text or absent
    right: np.ndarray
    gold: int

    @property
    def absent(self) -> np.ndarray:
        return self.features[:, 4] > 0


def fitted(halves: dict[str, tuple[list[Text], list[Text]]], cache: Path) -> Iterator[str]:
    """The weights that make the history's own tags likeliest, for several ways to vote; then precision by gate."""
    for neighbours, power in product((5, 10, 20, 40), (1.0, 2.0, 4.0)):
        history.NEIGHBOURS, history.POWER = neighbours, power
        groups = [gathered(name, past, cache) for name, (past, _) in halves.items()]
        weights, loss = newton(groups)
        shown = ", ".join(f"{value:.2f}" for value in weights)
        recalls = " ".join(f"{100 * recall(group, weights):.1f}" for group in groups)
        yield f"{neighbours} neighbours, cosine ** {power:g}: loss {loss:.5f}, recall@{TOP} {recalls}; {shown}"
        if (neighbours, power) == (20, 2.0):
            for least in (0.02, 0.05, 0.1, 0.2, 0.3):
                yield f"  suggested from {least} on: {gate(groups, weights, least)}"


def gathered(name: str, past: Sequence[Text], cache: Path) -> list[Votes]:
    """The texts of a history, each without its own vote."""
    extractor = Extractor(**QUICK, history=history_file(name, past, cache))
    tagged = extractor.history
    assert tagged is not None
    phrases = own_phrases(name, past, tagged.tags, cache)
    keys = [stems(tag) for tag in tagged.tags]
    return [_votes(text, found, tagged, keys) for text, found in zip(past, phrases, strict=True)]


def _votes(text: Text, phrases: dict[tuple[str, ...], float], tagged: Any, keys: Sequence[tuple[str, ...]]) -> Votes:
    numbers, features = tagged.features(text[0], "en")
    rows = {keys[number]: (0.0, [*features[place], 0, 1]) for place, number in enumerate(numbers)}
    for phrase, probability in phrases.items():
        bounded = min(1 - 1e-6, max(1e-6, probability))
        known = rows.get(phrase)
        numbers_of = [*known[1][:3], 1, 0] if known else [0.0] * 5
        rows[phrase] = (log(bounded / (1 - bounded)), numbers_of)
    right = np.array([phrase in text[1] for phrase in rows])
    return Votes(
        np.array([o for o, _ in rows.values()]), np.array([f for _, f in rows.values()], float), right, len(text[1])
    )


def own_phrases(
    name: str, past: Sequence[Text], tags: Sequence[str], cache: Path
) -> list[dict[tuple[str, ...], float]]:
    """Every phrase of each text with its probability, tags among them wherever they occur."""
    kept = cache / f"{name}-phrases.json"
    if not kept.exists():
        results = Extractor(**QUICK, style="tags").extract_many(
            [text for text, _, _ in past], None, vocabulary=list(tags), boost=0.0, distinct=False
        )
        kept.write_text(json.dumps([[(label(k), k.score) for k in result] for result in results]))
    listed: list[list[tuple[str, float]]] = json.loads(kept.read_text())
    return [{stems(phrase): score for phrase, score in reversed(some)} for some in listed]


def newton(groups: Sequence[Sequence[Votes]], steps: int = 30) -> tuple[np.ndarray, float]:
    """The likeliest weights, with a small ridge; and the loss. The first set, whose tags are reused, counts thrice."""
    weights = np.zeros(5)
    for _ in range(steps):
        gradient, curvature, loss = 1e-6 * weights, 1e-6 * np.eye(5), 0.0
        for group in groups:
            x, offset, y = (
                np.concatenate([getattr(v, part) for v in group]) for part in ("features", "offset", "right")
            )
            used, share = x.any(1), (3 if group is groups[0] else 1) / len(group)
            chance = 1 / (1 + np.exp(-offset - x @ weights))
            loss -= np.log(np.where(y, chance, 1 - chance))[used].sum() * share
            gradient = gradient - x.T @ (y - chance) * share
            curvature = curvature + (x * (chance * (1 - chance))[:, None]).T @ x * share
        weights = weights - np.linalg.solve(curvature, gradient)
    return weights, loss


def recall(group: Iterable[Votes], weights: np.ndarray) -> float:
    shares = []
    for votes in group:
        order = np.argsort(-(votes.offset + votes.features @ weights), kind="stable")[:TOP]
        shares.append(votes.right[order].sum() / votes.gold)
    return float(np.mean(shares))


def gate(groups: Iterable[Iterable[Votes]], weights: np.ndarray, least: float) -> str:
    """How many absent tags per text a gate lets through, and how many of them are right."""
    shown = []
    for group in groups:
        passed = [v.right[v.absent & (1 / (1 + np.exp(-v.features @ weights)) >= least)] for v in group]
        right = np.concatenate(passed)
        shown.append(f"{len(right) / len(passed):.2f} per text, {right.mean() if len(right) else 0:.0%} right")
    return "; ".join(shown)


if __name__ == "__main__":
    main()
