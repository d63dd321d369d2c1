"""What do other extractors cost, and how good are they, on the same texts?"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks import MODELS, WARM, texts
from benchmarks.measure import cost_of, say
from benchmarks.report import Figures, Question
from experiments.reproduce.markdown import markdown_table
from mudy import Extractor
from mudy.evaluation.datasets import Dataset, Record, load
from mudy.evaluation.experiment import judge
from mudy.evaluation.measures import F1, Predictions
from mudy.extraction.model_loader import ModelLoader
from mudy.methods import METHODS, model_fields
from mudy.models import locate
from mudy.reading.tagging import Tagger

if TYPE_CHECKING:
    from mudy.engines import Chat
    from mudy.engines.interfaces import Backbone, SentenceEncoder

DEPTHS = (5, 10, 15)
CHAT = "smollm2-135m"  # the one embedded model that chats
SLOW = 3  # texts for a method that writes
OTHERS, MUDY = "other packages", "MUDY"
LEXICAL, ENCODER, LANGUAGE = "ours, no model", "ours, sentence encoder", "ours, language model"
Judge = Callable[[Dataset, Record], tuple[Predictions, float]]  # what was found, and CPU-seconds


@dataclass(frozen=True)
class System:
    """Something that finds keyphrases."""

    name: str
    group: str
    judge: Judge
    texts: int | None = None  # how many it is asked for, once; None: all, as often as the others


# -- Ours -------------------------------------------------------------------------------------------------------------


class Shelf:
    """Taggers and models that are loaded once and lent to many extractors."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], Any] = {}

    def get(self, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def lent(shelf: Shelf, method: str, **options: Any) -> Extractor:
    """An extractor with a tagger and models from the shelf."""
    made = Extractor(method, threads=1, **options)
    made.loader = ShelfLoader(made.loader.setup, made.compute, shelf=shelf)
    return made


@dataclass(frozen=True, eq=False, kw_only=True)
class ShelfLoader(ModelLoader):
    """Takes the tagger and the models from the shelf."""

    shelf: Shelf

    @property
    def tagger(self) -> Tagger:
        tagger: Tagger = self.shelf.get(("tagger",), lambda: Tagger("en"))
        return tagger

    def backbone(self) -> Backbone:
        backbone: Backbone = self.shelf.get(("backbone", self.setup.model, self.speed), super().backbone)
        return backbone

    def encoder(self) -> SentenceEncoder:
        encoder: SentenceEncoder = self.shelf.get(("encoder", self.setup.encoder), super().encoder)
        return encoder

    def chat(self) -> Chat:
        chat: Chat = self.shelf.get(("chat", self.setup.model), super().chat)
        return chat


def of_ours(extractor: Extractor) -> Judge:
    extractor.extract(WARM)

    def judged(data: Dataset, record: Record) -> tuple[Predictions, float]:
        found = judge(extractor, data, record)
        predicted = found.predictions()
        assert predicted is not None, "every text has gold"
        return predicted, found.cpu_seconds

    return judged


def ours(protocol: str | None, models: Sequence[str]) -> list[System]:
    """All methods; those that ask a language model once with each, and ours also fast where it can be."""
    shelf, found = Shelf(), []
    for method in METHODS:
        needed = model_fields(method)
        if "chat" in needed:
            extractor = lent(shelf, method, model=CHAT, protocol=protocol)
            found.append(System(f"{method}, {CHAT}", LANGUAGE, of_ours(extractor), SLOW))
        elif "backbone" in needed:
            for model in models:
                for words, options in speeds(method).items():
                    extractor = lent(shelf, method, model=model, protocol=protocol, **options)
                    group = MUDY if method == "mudy" else LANGUAGE
                    found.append(System(f"{method}, {model}{words}", group, of_ours(extractor)))
        else:
            group = ENCODER if "encoder" in needed else LEXICAL
            found.append(System(method, group, of_ours(lent(shelf, method, protocol=protocol))))
    return found


def speeds(method: str) -> dict[str, dict[str, Any]]:
    """As it comes; and MUDY fast, where this version has it."""
    fast = {", fast": {"speed": "fast"}} if method == "mudy" and "speed" in signature(Extractor).parameters else {}
    return {"": {}, **fast}


# -- Others -----------------------------------------------------------------------------------------------------------


def of_a_package(phrases: Callable[[str], Sequence[str]]) -> Judge:
    """It reads the very text that ours reads, and is timed from there to its phrases."""
    phrases(WARM)

    def judged(data: Dataset, record: Record) -> tuple[Predictions, float]:
        text = record.text if data.name == "texts" else data.promptrank_text(record)[0]
        found, cost = cost_of(lambda: phrases(text))
        gold = [phrase.lower() for phrase in record.keyphrases]
        return Predictions(record.id, [phrase.lower() for phrase in found], gold), cost.cpu

    return judged


def others() -> list[System]:
    return [System(name, OTHERS, of_a_package(phrases)) for name, phrases in other_packages().items()]


def other_packages() -> dict[str, Callable[[str], list[str]]]:
    """The packages that people use, as functions of a text, loaded."""
    import yake
    from keybert import KeyBERT
    from yake_rust import Yake

    bert = KeyBERT(minilm())

    def keybert(longest: int) -> Callable[[str], list[str]]:
        options: dict[str, Any] = {"keyphrase_ngram_range": (1, longest), "top_n": max(DEPTHS)}
        return lambda text: [phrase for phrase, _ in bert.extract_keywords(text, **options)]

    reader, in_rust = yake.KeywordExtractor(n=3, top=max(DEPTHS)), Yake(language="en", ngrams=3)
    return {
        "KeyBERT (1, 1), minilm-l6": keybert(1),
        "KeyBERT (1, 3), minilm-l6": keybert(3),
        "YAKE package": lambda text: [phrase for phrase, _ in reader.extract_keywords(text)],
        "yake-rust": lambda text: [phrase for phrase, _ in in_rust.get_n_best(text, n=max(DEPTHS))],
    }


def minilm() -> Any:
    """The sentence encoder that KeyBERT uses by default, from our cache."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    body = Transformer(locate("minilm-l6"), max_seq_length=256)
    return SentenceTransformer(modules=[body, Pooling(body.get_embedding_dimension())], device="cpu")


# -- Measuring --------------------------------------------------------------------------------------------------------


def measure(asked: Namespace) -> Figures:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    import torch

    torch.set_num_threads(1)
    systems = [*others(), *ours("promptrank" if asked.data else None, asked.models)]
    repeats = 1 if asked.quick or asked.data else asked.repeats
    return {
        "repeats": repeats,
        "limit": asked.limit if asked.data else None,
        "sets": {data.name: measured(systems, data, repeats) for data in sets(asked)},
    }


def sets(asked: Namespace) -> list[Dataset]:
    """Our own texts, or the data sets in a folder."""
    if not asked.data:
        return [texts.dataset(texts.read(1 if asked.quick else asked.texts, 120 if asked.quick else None))]
    from experiments.reproduce.workspace import find_datasets

    return [load(path, limit=2 if asked.quick else asked.limit) for path in find_datasets(asked.data).values()]


def measured(systems: Sequence[System], data: Dataset, repeats: int) -> list[dict[str, Any]]:
    """Every system on every text, text by text, so that a slow minute falls on all of them."""
    predictions: dict[str, dict[str, Predictions]] = defaultdict(dict)
    costs: dict[str, list[float]] = defaultdict(list)
    for turn in range(repeats):
        for number, record in enumerate(data.documents):
            say(f"peers: {data.name}, round {turn + 1} of {repeats}, text {number + 1} of {len(data.documents)}")
            for system in rotated(systems, turn + number):
                if system.texts is not None and (turn or number >= system.texts):
                    continue
                predicted, cpu = system.judge(data, record)
                predictions[system.name][record.id] = predicted
                costs[system.name].append(cpu)
    return [row(system, list(predictions[system.name].values()), costs[system.name]) for system in systems]


def rotated(systems: Sequence[System], by: int) -> list[System]:
    """Each time another one comes first."""
    start = by % len(systems)
    return [*systems[start:], *systems[:start]]


def row(system: System, predictions: Sequence[Predictions], costs: Sequence[float]) -> dict[str, Any]:
    return {
        "name": system.name,
        "group": system.group,
        "texts": len(predictions),
        "cpu": median(costs),
        "f1": {str(k): (F1 @ k)(predictions) for k in DEPTHS},
        "interval_at_10": [(i := (F1 @ 10).interval(predictions)).low, i.high],
    }


# -- Telling ----------------------------------------------------------------------------------------------------------


HOW = """One thread. CPU-seconds a text from string to phrases, tagging included, models loaded and warm: the median
over texts and {repeats} round(s). F1 is micro in per cent, counted as `mudy evaluate` counts it, with the 95 %
interval at 10 from a bootstrap over texts. KeyBERT has its default settings but for the range of its n-grams and the
number of phrases, and reads the first 256 tokens of a text, as its default model does; the YAKE package and
yake-rust have n = 3; `yake` is our own. † on {slow} texts only, once."""

OWN = """A few texts with gold by their author tell the cost; to rank methods by quality they are too few: mind the
intervals."""

READ = """Texts are read as `mudy evaluate` reads them, as in the literature, and the same for all systems: the first
{limit} documents of each set, 512 words of each, in lower case where published runs have it so, which takes from the
YAKE package what it reads in capitals."""


def answer(figures: Figures) -> str:
    return " ".join(best(name, rows) for name, rows in figures["sets"].items())


def best(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The best of ours and the best of the others, where they were asked for all texts."""
    most = max(row["texts"] for row in rows)
    found = []
    for others_ in (False, True):
        whole = [row for row in rows if row["texts"] == most and (row["group"] == OTHERS) == others_]
        top = max(whole, key=lambda row: float(row["f1"]["10"]))
        found.append(f"{top['name']} with F1@10 {top['f1']['10']:.1f} for {top['cpu']:.2g} CPU-seconds a text")
    return f"{called(name)} ({most} texts): best of ours is {found[0]}; best of the other packages {found[1]}."


def called(name: str) -> str:
    return "Our own texts" if name == "texts" else name


def tell(figures: Figures) -> str:
    read = OWN if "texts" in figures["sets"] else READ.format(limit=figures["limit"] or "and all other")
    parts = [HOW.format(repeats=figures["repeats"], slow=SLOW), read]
    for name, rows in figures["sets"].items():
        parts += [f"### {called(name)}", f"![F1@10 against CPU-seconds]({chart_name(name)})", rows_table(rows)]
    return "\n\n".join(parts)


def rows_table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = ["", "", "texts", "CPU-s a text", *(f"F1@{k}" for k in DEPTHS), "95 % at 10"]
    most = max(row["texts"] for row in rows)
    return markdown_table(
        head,
        [
            [
                row["group"],
                f"{row['name']}{'' if row['texts'] == most else ' †'}",
                str(row["texts"]),
                f"{row['cpu']:.3f}",
                *(f"{row['f1'][str(k)]:.1f}" for k in DEPTHS),
                "{:.1f} to {:.1f}".format(*row["interval_at_10"]),
            ]
            for row in rows
        ],
        left=2,
    )


def chart_name(name: str) -> str:
    return "cost-quality.png" if name == "texts" else f"cost-quality-{name}.png"


def draw(figures: Figures) -> dict[str, bytes]:
    from benchmarks.charts import Point, scatter

    found = {}
    for name, rows in figures["sets"].items():
        most = max(row["texts"] for row in rows)
        points = [
            Point(f"{row['name']}{'' if row['texts'] == most else ' †'}", row["cpu"], row["f1"]["10"], row["group"])
            for row in rows
        ]
        found[chart_name(name)] = scatter(points, xlabel="CPU-seconds a text", ylabel="F1@10")
    return found


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--models", nargs="+", default=MODELS[:1])
    parser.add_argument("--texts", type=int, default=2, help="how many of our own texts")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--data", type=Path, help="a folder of data sets to use in place of our own texts")
    parser.add_argument("--limit", type=int, help="documents of each data set")


QUESTION = Question(
    name="peers",
    title="What do others cost, and how good are they?",
    measure=measure,
    answer=answer,
    tell=tell,
    options=options,
    draw=draw,
    variant=lambda asked: "public-data" if asked.data else "",
)

if __name__ == "__main__":
    QUESTION.main()
