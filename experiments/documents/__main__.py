"""The style `subjects`: its weights fitted again on documents, and how good its lists are, by genre.

    python -m experiments.documents FOLDER... --cache evidence --output src/mudy/methods/mudyplus/fitted

Each FOLDER has `gold.jsonl` and `files`, as this one has. The weights are fitted on all documents; the figures of a
genre are those of weights fitted on the other genres. Resumable: what the cache holds is not computed again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.by_hand import ByHand, by_hand_fits
from experiments.documents import TOP, Figures, Gold, by_genre, load_gold
from experiments.documents.keyphraseness import (
    to_dict,
    with_keyphraseness,
    with_shipped_keyphraseness_in_context,
)
from experiments.mudyplus import fit_options, predictions
from mudy import Extractor
from mudy._support.storage import dump_json
from mudy.evaluation.fit import FittedWeights, WeightsOf, fit_on_texts, gather
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.evidence import CHEAP, EVIDENCE, PLAIN_PREFIX
from mudy.methods.mudyplus.fit_texts import FitText
from mudy.methods.mudyplus.weights import Weights

RIDGE = 0.07  # documents are few
RIDGE_OTHER_LANGUAGES = 1.4  # towards the English weights: these are fewer
NOT_USED = ("first_position", "usual_length", *(name for name in EVIDENCE if name.startswith(PLAIN_PREFIX)))
ENGLISH_ONLY = ("generic", "rare_words")  # they rest on a list of English words
REPEATS = 3.0  # log-odds that a cosine of 1 to a phrase above would cost, over one of ALIKE; English only


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--cache", type=Path, required=True, help="folder for evidence")
    parser.add_argument("--output", type=Path, help="write the weights into this folder")
    parser.add_argument("--judged", type=Path, help="print figures of the documents of this folder only")
    arguments = parser.parse_args()
    documents = [gold for folder in arguments.folders for gold in load_gold(folder)]
    judged_ids = {gold.id for gold in load_gold(arguments.judged)} if arguments.judged else None
    extractor = Extractor(threads=1)
    golds = {gold.id: gold for gold in documents}
    texts = as_documents(gather(extractor, by_genre(documents), arguments.cache, show), golds)
    texts, directions = with_keyphraseness(texts, extractor.scorer, NOT_USED, ENGLISH_ONLY, RIDGE)  # type: ignore[arg-type]
    texts = with_shipped_keyphraseness_in_context(texts, extractor.scorer)  # type: ignore[arg-type]
    if arguments.output:
        about = "Fitted by `python -m experiments.documents` on documents with readers' gold."
        shipped = dump_json(to_dict(directions, about)) + "\n"
        (arguments.output / "keyphraseness.json").write_text(shipped, encoding="utf-8")
    english = [text for text in texts if golds[text.id].language == "en"]
    others = [text for text in texts if golds[text.id].language != "en"]
    prior: Weights | None = None
    for name, by_hand, chosen, ridge in (
        ("subjects", set_by_hand(NOT_USED, REPEATS), english, RIDGE),
        ("subjects_other_languages", set_by_hand((*NOT_USED, *ENGLISH_ONLY), 0.0), others, RIDGE_OTHER_LANGUAGES),
    ):
        if not chosen:
            continue
        options = {**fit_options(extractor, by_hand, ridge), **({"towards": "subjects"} if prior else {})}
        before = extractor.scorer.loaded_weights  # type: ignore[attr-defined]
        fitted = fit_on_texts(chosen, before, MudyPlus.leaders, by_hand_fits(by_hand, ridge, prior), options)
        prior = fitted.weights
        if arguments.output:
            write(arguments.output / f"{name}.json", fitted.weights)
        shown = [
            text
            for text in fitted.texts
            if (golds[text.id].language == "en") == (name == "subjects")
            and (judged_ids is None or text.id in judged_ids)
        ]
        print(f"## {name}, fitted on {len(chosen)} documents\n")
        if shown:
            print("\n".join(table(fitted, shown, golds)), end="\n\n")


def as_documents(texts: Iterable[FitText], golds: Mapping[str, Gold]) -> list[FitText]:
    """The texts as one data set whose parts are genres, with the names of their main subjects."""
    return [replace(text, dataset="documents", part=text.dataset, main=golds[text.id].main_names) for text in texts]


def set_by_hand(unused: Sequence[str], repeats: float) -> ByHand:
    """Weights that are not fitted."""
    quick = {name: 0.0 for name in unused if name in CHEAP}
    return {"quick": {**quick, "repeats": repeats}, "full": {**dict.fromkeys(unused, 0.0), "repeats": repeats}}


def show(genre: str, done: int, documents: int) -> None:
    """Progress: a line for each genre."""
    if not done:
        print(f"{genre}: {documents} documents", file=sys.stderr, flush=True)


def write(path: Path, weights: Weights) -> None:
    about = "Fitted by `python -m experiments.documents` on documents with readers' gold; data sets are genres."
    version = weights.to_dict()["version"]
    path.write_text(dump_json({"version": version, "about": about, **weights.to_dict()}, indent=1) + "\n", "utf-8")


def table(fitted: FittedWeights, texts: Sequence[FitText], golds: Mapping[str, Gold]) -> Iterator[str]:
    """Figures by genre, each of weights fitted on the other genres; in the last rows also those of all weights."""
    yield "| genre | documents | found | right | F | junk % | F of quick |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    full = figures(fitted, texts, golds, "full", fitted.weights_without)
    quick = figures(fitted, texts, golds, "quick", fitted.weights_without)
    for genre in sorted({text.part for text in texts}):
        ids = [text.id for text in texts if text.part == genre]
        yield row(genre, [full[key] for key in ids], [quick[key] for key in ids])
    yield row("all, genres left out", list(full.values()), list(quick.values()))
    shipped = (figures(fitted, texts, golds, name, lambda _: fitted.weights) for name in ("full", "quick"))
    yield row("all, fitted", *(list(numbers.values()) for numbers in shipped))
    yield row("candidates", [ceiling(text, golds[text.id], range(len(text.candidates))) for text in texts])
    leaders = [text.leaders(fitted.weights_without(text).quick, fitted.leaders) for text in texts]
    among = [ceiling(text, golds[text.id], rows) for text, rows in zip(texts, leaders, strict=True)]
    yield row("scored by the language model", among)


def row(name: str, full: Sequence[Figures], quick: Sequence[Figures] = ()) -> str:
    mean = Figures.mean(full)
    cells = [f"{number:.1f}" for number in (mean.found, mean.right, mean.f, mean.junk)]
    return f"| {name} | {len(full)} | {' | '.join(cells)} | {f'{Figures.mean(quick).f:.1f}' if quick else ''} |"


def figures(
    fitted: FittedWeights, texts: Sequence[FitText], golds: Mapping[str, Gold], name: str, weights_of: WeightsOf
) -> dict[str, Figures]:
    """The figures of each text's list."""
    chances = fitted.chances(texts, name, weights_of)
    return {
        text.id: golds[text.id].figures(predictions(text, numbers, TOP, distinct=True).phrases)
        for text, numbers in zip(texts, chances, strict=True)
    }


def ceiling(text: FitText, gold: Gold, rows: Sequence[int]) -> Figures:
    """The share of main subjects that are among some candidates."""
    return Figures(gold.figures([text.candidates[row].phrase for row in rows], top=None).found, 0.0, 0.0)


if __name__ == "__main__":
    main()
