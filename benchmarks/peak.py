"""How close does the engine with torch come to what the machine's own matrix product reaches?"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

from benchmarks import MODELS, WARM, texts
from benchmarks.measure import cost_of, say, threads
from benchmarks.report import Figures, Question
from benchmarks.torch_engine import torch_extractor
from experiments.reproduce.markdown import markdown_table
from experiments.reproduce.timing import Clock, Timed
from mudy import Extractor
from mudy.reading.candidates import Candidate, candidates
from mudy.reading.document import Document

SIZES = (256, 512, 1024, 2048)  # sides of the square matrices whose product is the yardstick
VARIANTS: dict[str, dict[str, Any]] = {"as shipped": {}, 'attention="GxL"': {"attention": "GxL"}}
STEPS = {
    "encode": "reading the document",
    "document": "attention received in the document",
    "windows": "attention received in windows",
    "log_likelihood": "scoring the candidates",
    "rest": "the rest",
    "whole": "extraction without tagging",
}


class Apart(Timed):
    """Tells attention received in the whole document from that in its windows."""

    def received_attention(self, stretches: Sequence[Any], *more: Any) -> Any:
        step = "document" if len(stretches) == 1 else "windows"  # our texts are read in one section
        return self._clock(step, self._backbone.received_attention, stretches, *more)


class WallClock(Clock):
    """Wall seconds beside CPU-seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.wall = Clock().spent

    def __call__(self, step: str, call: Callable[..., Any], *arguments: Any) -> Any:
        before = time.perf_counter()
        try:
            return super().__call__(step, call, *arguments)
        finally:
            self.wall[step] += time.perf_counter() - before


def measure(asked: Namespace) -> Figures:
    known = texts.read(1 if asked.quick else asked.texts, 120 if asked.quick else None)
    models, counts = (asked.models[-1:], [1]) if asked.quick else (asked.models, asked.threads)
    return {
        "texts": len(known),
        "repeats": asked.repeats,
        "sizes": list(SIZES),
        "models": {name: model(name, known, counts, asked.repeats) for name in models},
    }


def model(name: str, known: Sequence[texts.Text], counts: Sequence[int], repeats: int) -> dict[str, Any]:
    extractor = torch_extractor("mudy", name)
    extractor.extract(WARM)
    documents = [extractor.read(text.text) for text in known]
    tasks = [(document, candidates(document)) for document in documents]
    methods = {variant: replace(scorer(extractor), **settings) for variant, settings in VARIANTS.items()}
    say(f"peak: {name}, counting")
    flops = {variant: [operations(method, *task) for task in tasks] for variant, method in methods.items()}
    found: dict[str, Any] = {"flops": {variant: added(rows) for variant, rows in flops.items()}, "threads": {}}
    for count in counts:
        say(f"peak: {name}, threads {count}")
        with threads(count):
            reached = {variant: shares(methods[variant], tasks, flops[variant], repeats) for variant in methods}
            found["threads"][str(count)] = {**reached, "tagging": tagging(extractor, known, reached["as shipped"])}
    return found


def scorer(extractor: Extractor) -> Any:
    return extractor.scorer


# -- Counting ---------------------------------------------------------------------------------------------------------


def operations(method: Any, document: Document, found: Sequence[Candidate]) -> dict[str, float]:
    """Floating-point operations of one text, by step, in a pass of its own."""
    from benchmarks.flops import FlopClock, counted

    clock = FlopClock()
    watched = replace(method, backbone=Apart(method.backbone, clock))
    whole = counted(lambda: watched.score(document, found))
    return {**clock.spent, "rest": whole - sum(clock.spent.values()), "whole": whole}


def added(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {step: sum(row.get(step, 0.0) for row in rows) for step in STEPS}


# -- Timing -----------------------------------------------------------------------------------------------------------


def shares(
    method: Any, tasks: Sequence[tuple[Document, Sequence[Candidate]]], flops: Sequence[dict[str, float]], repeats: int
) -> dict[str, Any]:
    """What share of the peak each step reaches: on every text the peak is measured beside it."""
    rows = []
    for _ in range(repeats):
        for task, done in zip(tasks, flops, strict=True):
            best, (cpu, wall) = peak(), seconds(method, *task)
            rows.append({"peak": best, "cpu": cpu, "wall": wall, "flops": done})
    found: dict[str, Any] = {"peak": {clock: median(row["peak"][clock] for row in rows) for clock in ("cpu", "wall")}}
    for step in STEPS:
        found[step] = {
            clock: {
                "seconds": median(row[clock].get(step, 0.0) for row in rows),
                "share": median(share(row, step, clock) for row in rows),
                "of_time": median(row[clock].get(step, 0.0) / row[clock]["whole"] for row in rows),
            }
            for clock in ("cpu", "wall")
        }
    return found


def share(row: dict[str, Any], step: str, clock: str) -> float:
    """Operations a second in a step, as a share of the peak measured beside it; 0 where there is nothing to do."""
    spent, done = row[clock].get(step, 0.0), row["flops"].get(step, 0.0)
    return done / spent / row["peak"][clock] if spent > 0 and done > 0 else 0.0


def seconds(method: Any, document: Document, found: Sequence[Candidate]) -> tuple[dict[str, float], dict[str, float]]:
    """CPU and wall seconds of one text, by step."""
    clock = WallClock()
    watched = replace(method, backbone=Apart(method.backbone, clock))
    _, cost = cost_of(lambda: watched.score(document, found))
    return (
        {**clock.spent, "rest": cost.cpu - sum(clock.spent.values()), "whole": cost.cpu},
        {**clock.wall, "rest": cost.wall - sum(clock.wall.values()), "whole": cost.wall},
    )


def peak(times: int = 3) -> dict[str, float]:
    """Operations a second of the best of several float32 matrix products: the yardstick."""
    import torch

    best = {"cpu": 0.0, "wall": 0.0}
    for size in SIZES:
        left, right, product = torch.rand(3, size, size)
        often = max(1, 1024**3 // size**3)
        for _ in range(times):
            _, cost = cost_of(lambda: [torch.mm(left, right, out=product) for _ in range(often)])  # noqa: B023 (called at once)
            done = 2 * size**3 * often
            best = {"cpu": max(best["cpu"], done / cost.cpu), "wall": max(best["wall"], done / cost.wall)}
    return best


def tagging(extractor: Extractor, known: Sequence[texts.Text], scored: dict[str, Any]) -> dict[str, float]:
    """CPU-seconds of tagging and of finding candidates, and their share of a whole extraction."""
    tagged, listed = [], []
    for text in known:
        document, cost = cost_of(partial(extractor.read, text.text))
        tagged.append(cost.cpu)
        listed.append(cost_of(partial(candidates, document))[1].cpu)
    tag, find = median(tagged), median(listed)
    whole = tag + find + scored["whole"]["cpu"]["seconds"]
    return {"tagging": tag, "tagging_share": tag / whole, "candidates": find, "candidates_share": find / whole}


# -- Telling ----------------------------------------------------------------------------------------------------------


def answer(figures: Figures) -> str:
    said = []
    for name, found in figures["models"].items():
        reached = ", ".join(
            f"{shipped['as shipped']['whole']['wall']['share']:.0%} with {count} thread{'s' if count != '1' else ''}"
            for count, shipped in found["threads"].items()
        )
        said.append(f"{name} {reached}")
    share = "Extraction without tagging, by torch, runs at this share of the machine's own float32 matrix product"
    return f"{share}: {'; '.join(said)}."


HOW = """Operations of matrix products and attention were counted in a pass of their own (`flops.py`), and seconds in
others: {texts} texts, {repeats} repeats, the median of the share on each. Attention that a mask or causality hides is
not counted, padding is. Softmax, norms, sorting and the like are not counted at all, so 100 % is out of reach. The
yardstick, the best of square float32 products with sides of {sides}, was measured before every text with as many
threads."""

BESIDE = """The yardstick is {peak:.0f} GFLOP a second. Tagging takes {tagging:.3f} CPU-seconds a text and finding the
candidates {candidates:.3f}: {tagging_share:.1%} and {candidates_share:.1%} of a whole extraction."""


def tell(figures: Figures) -> str:
    sides = ", ".join(map(str, figures["sizes"]))
    parts = [HOW.format(texts=figures["texts"], repeats=figures["repeats"], sides=sides)]
    for name, found in figures["models"].items():
        for count, variants in found["threads"].items():
            parts += [
                f"### {name}, threads: {count}",
                steps_table(found["flops"], variants, figures["texts"]),
                BESIDE.format(peak=variants["as shipped"]["peak"]["wall"] / 1e9, **variants["tagging"]),
            ]
    return "\n\n".join(parts)


def steps_table(flops: dict[str, dict[str, float]], variants: dict[str, Any], documents: int) -> str:
    head = ["settings", "step", "GFLOP a text", "CPU-s", "wall s", "of the time", "share of peak, by CPU", "by wall"]
    rows = []
    for variant in VARIANTS:
        for step, words in STEPS.items():
            spent, done = variants[variant][step], flops[variant][step]
            if not spent["cpu"]["seconds"]:
                continue
            rates = [f"{spent[clock]['share']:.0%}" if done else "" for clock in ("cpu", "wall")]
            rows.append(
                [
                    variant,
                    words,
                    f"{done / documents / 1e9:.1f}",
                    f"{spent['cpu']['seconds']:.3f}",
                    f"{spent['wall']['seconds']:.3f}",
                    f"{spent['wall']['of_time']:.0%}",
                    *rates,
                ]
            )
    return markdown_table(head, rows, left=2)


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--models", nargs="+", default=MODELS[:1])
    parser.add_argument("--texts", type=int, default=1, help="how many of the texts")
    parser.add_argument("--repeats", type=int, default=1, help="of each text; the median over texts is told")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])


QUESTION = Question(
    name="peak",
    title="How close to the machine's peak?",
    measure=measure,
    answer=answer,
    tell=tell,
    options=options,
)

if __name__ == "__main__":
    QUESTION.main()
