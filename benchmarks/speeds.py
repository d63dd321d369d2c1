"""What does a text of about 700 words cost, at each speed, on one thread and on two, and with other packages?"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median

from benchmarks import WARM
from benchmarks.measure import Cost, cost_of, middle, say
from benchmarks.report import Figures, Question
from benchmarks.texts import read
from experiments.reproduce.markdown import markdown_table
from mudy import Extractor
from mudy.engines import Speed

OURS: tuple[tuple[str, Speed], ...] = (
    ("mudyplus", "quick"),
    ("mudyplus", "fast"),
    ("mudyplus", "exact"),
    ("mudy", "fast"),
    ("embedrank", "exact"),
    ("yake", "exact"),
)
SPEEDS: tuple[Speed, ...] = ("quick", "fast", "exact")
THREADS = 2
Extract = Callable[[str], object]


def measure(asked: Namespace) -> Figures:
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
    known = [text.text for text in read(1 if asked.quick else asked.texts)]
    one = {f"{method} {speed}": Extractor(method, speed=speed, threads=1).extract for method, speed in OURS}
    two = {f"mudyplus {speed}": Extractor(speed=speed, threads=THREADS).extract for speed in SPEEDS}
    say("speeds: threads")
    pairs = {f"{name}, {count}": way[name] for name in two for count, way in (("1", one), (str(THREADS), two))}
    walls = costs(pairs, known, asked.repeats)
    say("speeds: other packages")
    every = costs({**one, **others()}, known, asked.repeats)
    return {
        "texts": len(known),
        "words": round(median(len(text.split()) for text in known)),
        "repeats": asked.repeats,
        "cpu": {name: cost.cpu for name, cost in every.items()},
        "wall": {name: [walls[f"{name}, {count}"].wall for count in (1, THREADS)] for name in two},
    }


def others() -> dict[str, Extract]:
    """MUDY+ by the engine with torch, and the packages that people use."""
    from benchmarks.peers import other_packages
    from benchmarks.torch_engine import torch_extractor

    return {"mudyplus exact, torch": torch_extractor("mudyplus", "gemma3-270m").extract, **other_packages()}


def costs(ways: Mapping[str, Extract], known: list[str], repeats: int) -> dict[str, Cost]:
    """The median cost of a text in each way, text by text, so that a slow minute falls on all of them."""
    for extract in ways.values():
        extract(WARM)
    found: dict[str, list[Cost]] = defaultdict(list)
    for _ in range(repeats):
        for text in known:
            for name, extract in ways.items():
                found[name].append(cost_of(partial(extract, text))[1])
    return {name: middle(own) for name, own in found.items()}


# -- Telling ----------------------------------------------------------------------------------------------------------


def answer(figures: Figures) -> str:
    spent = ", ".join(f"{speed} {figures['cpu'][f'mudyplus {speed}']:.2f}" for speed in SPEEDS)
    alone = f"CPU-seconds of MUDY+ for {figures['words']} words on one thread: {spent}."
    return f"{alone} On {THREADS} threads: {ratios(figures)}."


def ratios(figures: Figures) -> str:
    """How many times as fast the speeds are on two threads."""
    return ", ".join(
        f"{name.removeprefix('mudyplus ')} {one / two:.2f} times as fast"
        for name, (one, two) in figures["wall"].items()
    )


HOW = """{texts} of our texts, from string to phrases, models loaded and warm: medians over texts and {repeats} rounds.
KeyBERT reads the first 256 tokens of a text, as its default model does."""


def tell(figures: Figures) -> str:
    rows = [[name, f"{cpu:.3f}"] for name, cpu in figures["cpu"].items()]
    walls = [[name, f"{one:.3f}", f"{two:.3f}", f"{one / two:.2f}"] for name, (one, two) in figures["wall"].items()]
    return "\n\n".join(
        [
            HOW.format(**figures),
            markdown_table(["one thread", "CPU-s"], rows),
            markdown_table(["by the clock", "one thread, s", f"{THREADS} threads, s", "times as fast"], walls),
        ]
    )


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--texts", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=2)


QUESTION = Question(
    name="speeds",
    title="What does a text cost, at each speed and on two threads?",
    measure=measure,
    answer=answer,
    tell=tell,
    options=options,
)

if __name__ == "__main__":
    QUESTION.main()
