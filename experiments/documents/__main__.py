"""All weights of MUDY+ fitted again, and how good its lists are: by genre of documents, and by data set.

    python -m experiments.documents FOLDER... --data DATA --cache evidence --output src/mudy/methods/mudyplus/fitted

Each FOLDER has `gold.jsonl` and `files`, as this one has. The style `subjects` is fitted on all documents; the figures
of a genre are those of weights fitted on the other genres. DATA is a folder of data sets, on which the other styles are
fitted; without it, `subjects` alone is fitted. The phrases and passages that the models are asked about are chosen by
the shipped weights, so the command can be repeated with those that it wrote. Resumable: what the cache holds is not
computed again. `--beside` adds a table with runs of `mudy evaluate --output`, on the texts that they have.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.by_hand import ByHand, by_hand_fits
from experiments.documents import TOP, Figures, Gold, by_genre, load_gold
from experiments.documents.keyphraseness import to_dict, with_keyphraseness, with_keyphraseness_in_context
from experiments.mudyplus import beside_table, fit_options, fitted_styles, page, peer_runs, predictions, style_texts
from mudy import Extractor
from mudy._support.storage import dump_json
from mudy.evaluation.fit import FittedWeights, WeightsOf, fit_on_texts, gather
from mudy.evaluation.runs import Run
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.evidence import CHEAP, EVIDENCE, PLAIN_PREFIX
from mudy.methods.mudyplus.fit_texts import FitText
from mudy.methods.mudyplus.near import Keyphraseness
from mudy.methods.mudyplus.weights import Weights

RIDGE = 0.07  # documents are few
RIDGE_OTHER_LANGUAGES = 1.4  # towards the English weights: these are fewer
NOT_USED = ("first_position", "usual_length", *(name for name in EVIDENCE if name.startswith(PLAIN_PREFIX)))
ENGLISH_ONLY = ("generic", "rare_words")  # they rest on a list of English words
ABOUT = "Fitted by `python -m experiments.documents` on documents with readers' gold and public data sets."
REPEATS = 3.0  # log-odds that a cosine of 1 to a phrase above would cost, over one of ALIKE; English only


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--data", type=Path, help="folder of data sets: fit the other styles too")
    parser.add_argument("--cache", type=Path, required=True, help="folder for evidence and runs of other methods")
    parser.add_argument("--output", type=Path, help="write the weights into this folder")
    parser.add_argument("--judged", type=Path, help="print figures of the documents of this folder only")
    parser.add_argument("--beside", type=Path, nargs="+", default=[], metavar="RUN.json", help="runs of other methods")
    arguments = parser.parse_args()
    golds = {gold.id: gold for folder in arguments.folders for gold in load_gold(folder)}
    judged = {gold.id for gold in load_gold(arguments.judged)} if arguments.judged else set(golds)
    extractor = Extractor(threads=1)
    texts = documents(extractor, golds, arguments.cache)
    sets = style_texts(arguments.data, arguments.cache) if arguments.data else []
    texts, sets, directions = with_directions(texts, sets, extractor)
    fitted = fitted_subjects(texts, extractor)
    for name, weights in fitted.items():
        shown = [text for text in texts_of(name, weights.texts) if text.id in judged]
        print(f"## {name}, fitted on {len(weights.texts)} documents\n")
        if shown:
            print("\n".join(table(weights, shown, golds)), end="\n\n")
    if sets:
        peers = peer_runs(arguments.data, arguments.cache)
        runs = [Run.load(path) for path in arguments.beside]
        fitted |= (styles := fitted_styles(sets, fitted["subjects"].weights, extractor))
        for name, weights in styles.items():
            print(f"## {name}\n\n" + "\n".join([*page(weights, peers), *(beside_table(weights, runs) if runs else ())]))
    if arguments.output:
        for name, own in directions.items():
            (arguments.output / f"{name}.json").write_text(dump_json(to_dict(own, ABOUT)) + "\n", encoding="utf-8")
        for name, weights in fitted.items():
            row = weights.weights.to_dict()
            shipped = dump_json({"version": row["version"], "about": ABOUT, **row}, indent=1) + "\n"
            (arguments.output / f"{name}.json").write_text(shipped, encoding="utf-8")


def documents(extractor: Extractor, golds: Mapping[str, Gold], cache: Path) -> list[FitText]:
    """The documents with their evidence."""
    return as_documents(gather(extractor, by_genre(golds.values()), cache / "documents", show), golds)


def with_directions(
    texts: list[FitText], sets: list[FitText], extractor: Extractor
) -> tuple[list[FitText], list[FitText], dict[str, dict[str, Keyphraseness]]]:
    """Both with the evidence that directions give, and the directions by the names of their files."""
    method = extractor.scorer
    assert isinstance(method, MudyPlus)
    texts, encoders = with_keyphraseness(texts, method, NOT_USED, ENGLISH_ONLY, RIDGE)
    texts, sets, model = with_keyphraseness_in_context(texts, sets, method, NOT_USED, RIDGE)
    return texts, sets, {"keyphraseness": encoders, "keyphraseness_in_context": model}


def fitted_subjects(texts: Sequence[FitText], extractor: Extractor) -> dict[str, FittedWeights]:
    """The default style for English, and for other languages with these weights as the prior."""
    fitted: dict[str, FittedWeights] = {}
    prior: Weights | None = None
    for name, by_hand, ridge in (
        ("subjects", set_by_hand(NOT_USED, REPEATS), RIDGE),
        ("subjects_other_languages", set_by_hand((*NOT_USED, *ENGLISH_ONLY), 0.0), RIDGE_OTHER_LANGUAGES),
    ):
        if chosen := texts_of(name, texts):
            options = {
                **fit_options(extractor, ridge),
                "set_by_hand": by_hand,
                **({"towards": "subjects"} if prior else {}),
            }
            before = extractor.scorer.loaded_weights  # type: ignore[attr-defined]
            fitted[name] = fit_on_texts(chosen, before, MudyPlus.leaders, by_hand_fits(by_hand, ridge, prior), options)
            prior = fitted[name].weights
    return fitted


def texts_of(name: str, texts: Sequence[FitText]) -> list[FitText]:
    """Those in the language that weights are for."""
    return [text for text in texts if (text.language == "en") == (name == "subjects")]


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
