"""How do time and memory grow with a text's length, and time with the number of its candidates?"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from math import log
from random import Random
from statistics import median
from typing import Any

from benchmarks import MODELS, WARM, texts
from benchmarks.measure import cost_of, interleaved, say
from benchmarks.report import Figures, Question
from experiments.reproduce.markdown import markdown_table

WORDS = (250, 1000, 4000)  # 16,000 take three minutes more
PHRASES = (25, 100, 200)
FIXED = 1400  # words of the text whose candidates are counted: one section
UNIT = 1000  # words that a cost is told for
REPEATED = 2000  # longer texts are measured once


def measure(asked: Namespace) -> Figures:
    if len(set(asked.words)) < 2 or len(set(asked.phrases)) < 2:
        raise SystemExit("A growth needs at least two lengths of texts and two numbers of phrases.")
    lengths, phrases = ([60, 120], [5, 10]) if asked.quick else (sorted(asked.words), sorted(asked.phrases))
    repeats, fixed = (1, 120) if asked.quick else (asked.repeats, FIXED)
    models = {}
    for name in asked.models[-1:] if asked.quick else asked.models:
        rows = lengthening(name, lengths, repeats, asked.threads)
        crowd = {"model": name, "words": fixed, "phrases": phrases, "repeats": repeats, "threads": asked.threads}
        say(f"growth: {name}, {' '.join(map(str, phrases))} phrases")
        models[name] = {"lengths": rows, "phrases": in_a_fresh_process(crowding=crowd)}
    return {"repeats": repeats, "threads": asked.threads, "fixed_words": fixed, "models": models}


def lengthening(name: str, lengths: Sequence[int], repeats: int, threads: int) -> list[dict[str, float]]:
    """The median of each length, each time in a fresh process; in rounds, where it is repeated."""
    found: dict[int, list[dict[str, float]]] = defaultdict(list)
    for turn in range(repeats):
        for words in lengths:
            if turn == 0 or words <= REPEATED:
                say(f"growth: {name}, {words:,} words, round {turn + 1}")
                task = {"model": name, "words": words, "threads": threads}
                found[words].append(in_a_fresh_process(lengthening=task))
                say(f"growth: {json.dumps(found[words][-1])}")
    return [{key: median(run[key] for run in found[words]) for key in found[words][0]} for words in lengths]


# -- In a process of its own ------------------------------------------------------------------------------------------


def in_a_fresh_process(**task: Mapping[str, Any]) -> Any:
    """What one task finds in a process that has done nothing else. This one must stay small: memory is inherited."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", "--child", json.dumps(task)], stdout=subprocess.PIPE, check=True
    )
    return json.loads(run.stdout)


def long_text(model: str, words: int, threads: int) -> dict[str, float]:
    """Tag a text and extract from it, after a short one."""
    from mudy import Extractor

    text = texts.of_length(words)
    extractor = Extractor("mudy", model=model, threads=threads)
    extractor.extract(WARM)
    before = peak_memory()
    document, tagging = cost_of(lambda: extractor.read(text))
    result, extraction = cost_of(lambda: extractor.extract(document, None))
    return {
        "words": words,
        "occurrences": sum(len(keyphrase.occurrences) for keyphrase in result.keyphrases),
        "sections": result.coverage.sections,
        "cpu": extraction.cpu,
        "wall": extraction.wall,
        "tagging": tagging.cpu,
        "memory_before_gb": before,
        "memory_gb": peak_memory(),
    }


def some_phrases(model: str, words: int, phrases: Sequence[int], repeats: int, threads: int) -> list[dict[str, float]]:
    """Score more and more phrases of one text, given as candidates."""
    from mudy import Extractor
    from mudy.reading.candidates import candidates, given

    extractor = Extractor("mudy", model=model, threads=threads)
    document = extractor.read(texts.of_length(words))
    known = [candidate.phrase for candidate in candidates(document)]
    chosen = {str(n): Random(0).sample(known, n) for n in phrases}
    extractor.extract(WARM)
    calls = {n: partial(extractor.extract, document, None, candidates=own) for n, own in chosen.items()}
    costs = interleaved(calls, repeats)
    found = {n: given(document, own)[0] for n, own in chosen.items()}
    return [
        {"phrases": int(n), "occurrences": sum(len(c.occurrences) for c in found[n]), "cpu": costs[n].cpu}
        for n in calls
    ]


def peak_memory() -> float:
    """The most that this process ever held, in GB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes; on a Mac, bytes
    return most / 2**30 if sys.platform == "darwin" else most / 2**20


def child(task: Mapping[str, Any]) -> Any:
    ((kind, settings),) = task.items()
    return long_text(**settings) if kind == "lengthening" else some_phrases(**settings)


# -- Fitting ----------------------------------------------------------------------------------------------------------


def straight_line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Slope, intercept and r² of the least-squares line."""
    n, mean_x, mean_y = len(x), sum(x) / len(x), sum(y) / len(y)
    xx = sum((a - mean_x) ** 2 for a in x)
    yy = sum((b - mean_y) ** 2 for b in y)
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    if n < 2 or xx == 0:
        raise ValueError("A line needs at least two different points.")
    slope = xy / xx
    return slope, mean_y - slope * mean_x, 1.0 if yy == 0 else xy**2 / (xx * yy)


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The power b in y = a x^b: the slope of log y on log x."""
    return straight_line([log(a) for a in x], [log(b) for b in y])[0]


def per_thousand(row: Mapping[str, float]) -> float:
    return row["cpu"] / row["words"] * UNIT


def near(rows: Sequence[Mapping[str, float]], words: int) -> Mapping[str, float]:
    """The row whose length is nearest."""
    return min(rows, key=lambda row: abs(row["words"] - words))


# -- Telling ----------------------------------------------------------------------------------------------------------


HOW = """Texts of a given length are our ten one after the other, again and again in another order, cut at that length.
Each measurement is a fresh process that loads the model, extracts from a short text, then tags the long one and
extracts from it. Threads: {threads}. CPU-seconds are those of the extraction without tagging; memory is the most that
the process ever held. Texts of up to {repeated:,} words are medians of {repeats}, longer ones were measured once."""

GREW = """{name}: CPU-seconds grow as words to the power {power:.2f}; a thousand words of a text of {long:,.0f} cost
{ratio:.2f} times what they cost in one of {short:,.0f}; memory peaks at {most:.1f} GB there and {little:.1f} GB here;
at one length time is linear in the number of occurrences with r² {r2:.3f}."""


def answer(figures: Figures) -> str:
    return " ".join(grew(name, found) for name, found in figures["models"].items())


def grew(name: str, found: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    rows = found["lengths"]
    longest, usual = rows[-1], near(rows, UNIT)
    return GREW.format(
        name=name,
        power=exponent(column(rows, "words"), column(rows, "cpu")),
        ratio=per_thousand(longest) / per_thousand(usual),
        long=longest["words"],
        short=usual["words"],
        most=longest["memory_gb"],
        little=usual["memory_gb"],
        r2=crowded(found)[2],
    )


def column(rows: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [row[name] for row in rows]


def crowded(found: Mapping[str, Sequence[Mapping[str, float]]]) -> tuple[float, float, float]:
    """The line of CPU-seconds on occurrences."""
    return straight_line(column(found["phrases"], "occurrences"), column(found["phrases"], "cpu"))


def tell(figures: Figures) -> str:
    parts = [
        HOW.format(threads=figures["threads"], repeats=figures["repeats"], repeated=REPEATED),
        f"![CPU-seconds and memory against the length of a text, CPU-seconds against occurrences]({chart(figures)})",
    ]
    for name, found in figures["models"].items():
        slope, start, r2 = crowded(found)
        parts += [
            f"### {name}",
            lengths_table(found["lengths"]),
            f"One text of {figures['fixed_words']:,} words with some of its phrases given as candidates: "
            f"CPU-seconds = {start:.2f} + {slope:.4f} × occurrences (r² {r2:.4f}).",
            markdown_table(
                ["phrases", "occurrences", "CPU-seconds"],
                [[f"{row['phrases']}", f"{row['occurrences']}", f"{row['cpu']:.2f}"] for row in found["phrases"]],
                left=0,
            ),
        ]
    return "\n\n".join(parts)


def lengths_table(rows: Sequence[Mapping[str, float]]) -> str:
    head = [
        "words",
        "occurrences",
        "sections",
        "CPU-s",
        "CPU-s per 1,000 words",
        "tagging, CPU-s",
        "peak GB",
        "before the text",
    ]
    return markdown_table(
        head,
        [
            [
                f"{row['words']:,.0f}",
                f"{row['occurrences']:,.0f}",
                f"{row['sections']:.0f}",
                f"{row['cpu']:.2f}",
                f"{per_thousand(row):.2f}",
                f"{row['tagging']:.2f}",
                f"{row['memory_gb']:.2f}",
                f"{row['memory_before_gb']:.2f}",
            ]
            for row in rows
        ],
        left=0,
    )


def draw(figures: Figures) -> dict[str, bytes]:
    from benchmarks.charts import growth

    return {chart(figures): growth(figures["models"])}


def chart(figures: Figures) -> str:
    """The name of the picture; a model that was measured alone has its own."""
    names = list(figures["models"])
    return f"growth-{names[0]}.png" if len(names) == 1 else "growth.png"


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--models", nargs="+", default=MODELS[1:])
    parser.add_argument("--words", type=int, nargs="+", default=WORDS, help="lengths of texts")
    parser.add_argument("--phrases", type=int, nargs="+", default=PHRASES, help="numbers of candidates")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)


QUESTION = Question(
    name="growth",
    title="How do time and memory grow?",
    measure=measure,
    answer=answer,
    tell=tell,
    options=options,
    draw=draw,
    variant=lambda asked: asked.models[0] if len(asked.models) == 1 else "",
)

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(json.loads(sys.argv[2]))))
    else:
        QUESTION.main()
