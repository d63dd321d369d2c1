"""How many texts in how much time and memory: short ones together, and several processes?"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from statistics import mean, median
from threading import Event, Thread
from typing import Any

from benchmarks import WARM
from benchmarks.measure import interleaved, say
from benchmarks.report import Figures, Question
from benchmarks.texts import mixed, pieces
from experiments.reproduce.markdown import markdown_table
from mudy import Extractor

ABSTRACT, TITLE = 150, 12  # words
WARMING = 12  # texts before the clock starts, enough to keep two processes busy while they load
LOOKS = 0.2  # seconds between two looks at memory


def measure(asked: Namespace) -> Figures:
    os.environ["OMP_NUM_THREADS"] = "1"
    count, repeats = (4, 1) if asked.quick else (asked.texts, asked.repeats)
    extractor = Extractor(speed="fast", threads=1)
    extractor.extract(WARM)
    short = {"abstracts": pieces(ABSTRACT, count), "titles": pieces(TITLE, count)}
    together = {name: shared(extractor, name, texts, repeats) for name, texts in short.items()}
    long = mixed(WARMING + (2 if asked.quick else asked.corpus))
    return {
        "repeats": repeats,
        "short": together,
        "corpus": {"texts": len(long) - WARMING, "words": round(mean(len(text.split()) for text in long[WARMING:]))},
        "workers": {str(workers): by_workers(extractor, long, workers) for workers in asked.workers},
    }


def shared(extractor: Extractor, name: str, texts: Sequence[str], repeats: int) -> dict[str, float]:
    """CPU-seconds of a short text, one by one and together."""
    say(f"throughput: {name}")
    calls: dict[str, Callable[[], object]] = {
        "alone": lambda: [extractor.extract(text) for text in texts],
        "together": lambda: list(extractor.extract_many(texts)),
    }
    costs = interleaved(calls, repeats)
    words = mean(len(text.split()) for text in texts)
    return {"words": words, **{way: cost.cpu / len(texts) for way, cost in costs.items()}}


def by_workers(extractor: Extractor, texts: Sequence[str], workers: int) -> dict[str, Any]:
    """Texts a second once all processes have loaded, and the memory that each has for itself meanwhile."""
    say(f"throughput: {workers} workers")
    results = extractor.extract_many(texts, workers=workers)
    for _ in islice(results, WARMING):
        pass
    start = time.perf_counter()
    with watched_memory() as looks:
        computed = sum(1 for _ in results)
    rate = computed / (time.perf_counter() - start)
    return {"rate": rate, "memory_mb": sorted(median(own) for own in looks.values())}


@contextmanager
def watched_memory() -> Iterator[dict[int, list[float]]]:
    """MB that nobody shares, of each worker process, or of this one if there is none; look by look."""
    import psutil

    this, ended = psutil.Process(), Event()
    looks: dict[int, list[float]] = {}

    def look() -> None:
        while not ended.wait(LOOKS):
            for process in this.children() or [this]:
                try:
                    looks.setdefault(process.pid, []).append(process.memory_full_info().uss / 2**20)
                except psutil.Error:  # it has just ended
                    continue

    thread = Thread(target=look)
    thread.start()
    try:
        yield looks
    finally:
        ended.set()
        thread.join()


# -- Telling ----------------------------------------------------------------------------------------------------------


def answer(figures: Figures) -> str:
    short = "; ".join(
        f"{name} of {row['words']:.0f} words {row['together']:.3f} CPU-seconds together, {row['alone']:.3f} one by one"
        for name, row in figures["short"].items()
    )
    rates = ", ".join(f"{row['rate']:.2f} by {workers}" for workers, row in figures["workers"].items())
    return f"{short}. Texts of {figures['corpus']['words']} words, a second, by processes: {rates}."


HOW = """MUDY+ at its default speed, `fast`, one thread a process. Short texts are pieces of ours, of {abstract} and
{title} words: CPU-seconds a text, medians of {repeats} rounds."""

WORKERS = """{texts} texts of 100 to 700 words, {words} on average, by `extract_many(workers=N)`, from the moment that
all processes have loaded. Memory is what a process shares with none: weights and tokens are mapped, and all share them.
One worker is the process itself, which has the weights for itself then."""


def tell(figures: Figures) -> str:
    short = [
        [name, f"{row['words']:.0f}", f"{row['alone']:.3f}", f"{row['together']:.3f}"]
        for name, row in figures["short"].items()
    ]
    workers = [
        [count, f"{row['rate']:.2f}", ", ".join(f"{own:.0f}" for own in row["memory_mb"])]
        for count, row in figures["workers"].items()
    ]
    return "\n\n".join(
        [
            HOW.format(abstract=ABSTRACT, title=TITLE, repeats=figures["repeats"]),
            markdown_table(["", "words", "one by one, CPU-s", "together, CPU-s"], short),
            WORKERS.format(**figures["corpus"]),
            markdown_table(["workers", "texts a second", "MB of each"], workers, left=0),
        ]
    )


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--texts", type=int, default=24, help="abstracts, and titles")
    parser.add_argument("--corpus", type=int, default=60, help="texts for the worker processes")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=2)


QUESTION = Question(
    name="throughput",
    title="How many texts, in how much time and memory?",
    measure=measure,
    answer=answer,
    tell=tell,
    options=options,
)

if __name__ == "__main__":
    QUESTION.main()
