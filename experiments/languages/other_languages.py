r"""MUDY+ in other languages than English: the shipped weights made again, and the tables about them.

    python -m experiments.languages.other_languages DATA --cache evidence \
        --output src/mudy/methods/mudyplus/fitted/other_languages.json > experiments/languages/other_languages.md

DATA is a folder with the development sets, a file of JSON lines each. All texts are read without a tagger, as in a base
install, in 512 words, and matched by the stemmer of their language. Resumable: what the cache holds is not computed
again. `--tagger` reads by the taggers that are here instead, `--whole` reads some long texts to their end by the
shipped weights, and `--prompts` asks in the text's own language; none of them writes weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.by_hand import by_hand_fits
from experiments.mudyplus import difference, ranked_texts, values
from mudy import Extractor
from mudy._support.storage import dump_json
from mudy.evaluation.datasets import Dataset, load
from mudy.evaluation.experiment import evaluate
from mudy.evaluation.fit import FittedWeights, FitText, fit_on_texts, gather
from mudy.evaluation.measures import F1, Predictions
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.evidence import CHEAP, EVIDENCE, PLAIN_PREFIX
from mudy.methods.mudyplus.fitting import RIDGE
from mudy.methods.mudyplus.weights import Sum, Weights, load_weights
from mudy.reading.candidates.stemming import stems_of
from mudy.reading.untagged import UntaggedReader

SETS = {"wikinews_fr": "fr", "ptbn110_pt": "pt", "semeval2017_es": "es", "cacic57_es": "es"}
PEERS = ("yake", "embedrank", "textrank")
WORDS = 512
TOP = 10
PROMPTS = {"fr": " Mots-clés : {},", "pt": " Palavras-chave: {},", "es": " Palabras clave: {},"}
PROMPTED = 60  # texts of each set that are asked in their own language
WHOLE = {"cacic57_es": 12}
ENGLISH_ONLY = [name for name in EVIDENCE if "generic" in name or name.startswith(PLAIN_PREFIX)]
LEFT_AT_ZERO = {  # what rests on English words, or on the tags of a tagger
    "quick": {name: 0.0 for name in ENGLISH_ONLY if name in CHEAP},
    "full": dict.fromkeys(ENGLISH_ONLY, 0.0),
}
Runs = Mapping[str, Mapping[str, Sequence[Predictions]]]  # method -> data set -> documents


@dataclass(frozen=True)
class Reading:
    """How texts are read, and where what is computed of them is kept."""

    cache: Path
    tagger: bool = False
    words: int | None = WORDS

    def extractor(self, code: str, method: str = "mudyplus", **settings: str) -> Extractor:
        language = code if self.tagger else UntaggedReader(code)
        return Extractor(method, language=language, max_words=self.words, threads=1, **settings)

    def folder(self, name: str) -> Path:
        read = ("tagger-" if self.tagger else "") + ("whole" if self.words is None else f"{self.words}")
        return self.cache / read / name

    def texts(self, sets: Sequence[Dataset], template: bool = False) -> list[FitText]:
        """Every text with its evidence; asked in its own language, if `template`."""
        found: list[FitText] = []
        for data in sets:
            code = SETS[data.name]
            extractor = self.extractor(code, **({"template": PROMPTS[code]} if template else {}))
            folder = self.folder(f"mudyplus-{code}{'-prompt' if template else ''}")
            found += gather(extractor, [data], folder, lambda *_: None)
        return found

    def runs(self, method: str, sets: Sequence[Dataset]) -> dict[str, list[Predictions]]:
        """The predictions of another method on the same texts."""
        found = {}
        for data in sets:
            code = SETS[data.name]
            file = self.folder(f"{method}-{data.name}.json")
            file.parent.mkdir(parents=True, exist_ok=True)
            found[data.name] = list(evaluate(self.extractor(code, method), [data], file).predictions(data.name))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of data sets")
    parser.add_argument("--cache", type=Path, required=True, help="folder for evidence and runs of other methods")
    parser.add_argument("--output", type=Path, help="write the weights here")
    parser.add_argument("--limit", type=int, help="texts of each set, to try it out")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--tagger", action="store_true", help="read by the taggers that are here")
    kind.add_argument("--whole", action="store_true", help="read some long texts whole, by the shipped weights")
    kind.add_argument("--prompts", action="store_true", help="ask in the text's own language, beside English")
    arguments = parser.parse_args()
    limits = WHOLE if arguments.whole else dict.fromkeys(SETS, PROMPTED if arguments.prompts else arguments.limit)
    sets = [load(arguments.data / f"{name}.jsonl", limit=most) for name, most in limits.items()]
    reading = Reading(arguments.cache, arguments.tagger, None if arguments.whole else WORDS)
    if arguments.prompts:
        print("\n".join(prompt_page(reading.texts(sets), reading.texts(sets, template=True))))
        return
    peers = {name: reading.runs(name, sets) for name in PEERS}
    if arguments.whole or arguments.tagger:
        print("\n".join(shipped_page(reading.texts(sets), peers)))
        return
    judged = judge(reading.texts(sets))
    if arguments.output:
        arguments.output.write_text(dump_json(shipped_form(judged.weights), indent=1) + "\n", encoding="utf-8")
    print("\n".join(page(judged, peers)))


def judge(texts: Sequence[FitText]) -> FittedWeights:
    return fit_on_texts(
        texts, load_weights(style="terms", language="fr"), MudyPlus.leaders, by_hand_fits(LEFT_AT_ZERO, RIDGE)
    )


def shipped_form(weights: Weights) -> dict[str, object]:
    about = (
        "For texts in other languages than English. Fitted by `python -m experiments.languages.other_languages` on "
        "French, Portuguese and Spanish development sets, read without a tagger."
    )
    found = replace(weights, quick=_telling(weights.quick), full=_telling(weights.with_model)).to_dict()
    return {"version": found.pop("version"), "about": about, **found}


def _telling(own: Sum) -> Sum:
    """Without evidence whose weight was left at zero."""
    return replace(own, evidence={name: weight for name, weight in own.evidence.items() if name not in ENGLISH_ONLY})


# -- Tables -----------------------------------------------------------------------------------------------------------


def page(judged: FittedWeights, peers: Runs) -> Iterator[str]:
    """F1@5/10/15 of all methods; of MUDY+ with the set or the language left out of the fit, and fitted on it."""
    head = ["quick, set left out", "quick, fitted", "fast, set left out", "fast, language left out", "fast, fitted"]
    head = [*PEERS, *head, "quick - best peer at 10", "fast - best peer at 10"]
    yield f"| set | texts | ceiling | {' | '.join(head)} |"
    yield "|---|---:|---:" + "|---" * len(head) + "|"
    for name, code in SETS.items():
        texts = judged.of(name)
        others = [peers[method][name] for method in PEERS]
        best = max(others, key=F1 @ TOP)
        without = without_language(judged, code)
        quick, full = (ranked_texts(judged, texts, own, judged.weights_without) for own in ("quick", "full"))
        foreign = ranked_texts(judged, texts, "full", lambda _, own=without: own)
        fitted = [ranked_texts(judged, texts, own, lambda _: judged.weights) for own in ("quick", "full")]
        shown = (*others, quick, fitted[0], full, foreign, fitted[1])
        cells = [*map(values, shown), difference(best, quick), difference(best, full)]
        yield f"| {name} | {len(texts)} | {ceiling(texts):.1f} | {' | '.join(cells)} |"


def without_language(judged: FittedWeights, code: str) -> Weights:
    """Weights fitted on the sets in other languages."""
    return judge([text for text in judged.texts if text.language != code]).weights


def ceiling(texts: Sequence[FitText]) -> float:
    """The share of gold that stands among the candidates, in per cent."""
    reached = 0
    for text in texts:
        candidates = {stems_of(candidate.phrase, text.language) for candidate in text.candidates}
        reached += sum(stems_of(phrase, text.language) in candidates for phrase in text.gold)
    return 100 * reached / sum(len(text.gold) for text in texts)


def shipped_page(texts: Sequence[FitText], peers: Runs) -> Iterator[str]:
    """The shipped weights, whatever they were fitted on."""
    shipped = load_weights(style="terms", language="fr")
    judged = FittedWeights(texts, MudyPlus.leaders, shipped, {}, (), shipped)
    yield f"| set | texts | ceiling | {' | '.join(PEERS)} | quick | fast |\n|---|---:|---:{'|---' * (len(PEERS) + 2)}|"
    for name in dict.fromkeys(text.dataset for text in texts):
        own = judged.of(name)
        cells = [values(peers[method][name]) for method in PEERS]
        cells += [values(ranked_texts(judged, own, of, lambda _: shipped)) for of in ("quick", "full")]
        yield f"| {name} | {len(own)} | {ceiling(own):.1f} | {' | '.join(cells)} |"


def prompt_page(english: Sequence[FitText], own: Sequence[FitText]) -> Iterator[str]:
    """The English prompt beside that of the text's language, each with weights fitted for it on the other sets."""
    yield "| set | texts | English prompt | own prompt | own - English at 10 |\n|---|---:|---|---|---|"
    both = [judge(texts) for texts in (english, own)]
    for name in SETS:
        found = [ranked_texts(judged, judged.of(name), "full", judged.weights_without) for judged in both]
        yield f"| {name} | {len(found[0])} | {' | '.join(map(values, found))} | {difference(*found)} |"


if __name__ == "__main__":
    main()
