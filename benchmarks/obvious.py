"""How much faster is it than the obvious way to write the paper down, and does it say the same?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks import MODELS, WARM, texts
from benchmarks.measure import Cost, cost_of, interleaved, say, threads
from benchmarks.report import Figures, Question
from experiments.reproduce.markdown import markdown_table
from mudy import Extractor
from mudy.extraction.ranking import rank
from mudy.methods.chunks import Chunk
from mudy.methods.method import OccurrenceScore
from mudy.models import locate
from mudy.reading.candidates import Candidate, candidates
from mudy.reading.document import Document

if TYPE_CHECKING:
    from benchmarks.plainly import Plainly

SEED = 0
TOP = 15
BOTH = 2  # texts that are also measured with more than one thread
CLOSE = 1e-4  # what rounding may do to p; more is a dispute
PROMPT = 12  # tokens of a usual prompt: ours sets its batches in tokens


@dataclass(frozen=True)
class Task:
    """One text, tagged, and the occurrences that the obvious way is asked for."""

    name: str
    document: Document
    found: Sequence[Candidate]
    section: Chunk
    sample: Sequence[int]  # indices of its places

    @property
    def occurrences(self) -> int:
        return len(self.section.places)


def measure(asked: Namespace) -> Figures:
    if asked.quick:
        asked.texts, asked.sample, asked.repeats, asked.threads = 1, 2, 1, 1
    return {
        "sample": asked.sample,
        "batch": asked.batch,
        "seed": SEED,
        "full_words": 120 if asked.quick else asked.full_words,
        "models": {name: model(name, asked) for name in asked.models},
    }


def model(name: str, asked: Namespace) -> dict[str, Any]:
    from benchmarks.plainly import Plainly

    ours = Extractor("mudy", model=name, threads=asked.threads)
    batch = asked.batch * PROMPT
    alike = Extractor("mudy", model=name, language=ours.tagger, batch_tokens=batch, threads=asked.threads)
    scorer: Any = ours.scorer
    plainly = Plainly.load(locate(name), scorer, asked.batch)
    referee = cache(plainly.in_double)
    known = texts.read(asked.texts, 120 if asked.quick else None)
    tasks = [task(text, ours, plainly, asked.sample) for text in known]
    for way in (ours, alike):
        way.extract(WARM)
    plainly.likelihoods(tasks[0].document, tasks[0].section, tasks[0].sample[:1])
    return {
        "texts": [compared(t, ours, alike if i < BOTH else None, plainly, referee, asked) for i, t in enumerate(tasks)],
        "batches": batches(tasks[0], plainly, asked),
        "full": [
            whole(task(text, ours, plainly, 0), ours, plainly, referee, asked.threads)
            for text in texts.read(asked.full, 120 if asked.quick else asked.full_words)
        ],
    }


def task(text: texts.Text, extractor: Extractor, plainly: Plainly, sample: int) -> Task:
    document = extractor.read(text.text)
    found = candidates(document)
    section = plainly.section(document, found)
    every = range(len(section.places))
    return Task(text.name, document, found, section, sorted(Random(SEED).sample(every, min(sample, len(every)))))


def compared(
    t: Task,
    ours: Extractor,
    alike: Extractor | None,
    plainly: Plainly,
    referee: Callable[[], Plainly],
    asked: Namespace,
) -> dict[str, Any]:
    """One text: the cost of each way, and how far their scores lie apart."""
    found: dict[str, Any] = {}  # what the timed calls gave

    def kept(name: str, call: Callable[[], object]) -> Callable[[], None]:
        return lambda: found.update({name: call()})

    calls = {
        "ours": kept("ours", partial(ours.scorer.score, t.document, t.found)),
        "fixed": kept("fixed", partial(plainly.received, t.document, t.section)),
        "sample": kept("sample", partial(plainly.likelihoods, t.document, t.section, t.sample)),
    }
    if alike is not None:
        calls["alike"] = kept("alike", partial(alike.scorer.score, t.document, t.found))
    say(f"obvious: {plainly.method.backbone.name}, {t.name}, threads {asked.threads}")
    with threads(asked.threads):
        costs = {str(asked.threads): told_costs(interleaved(calls, asked.repeats), t)}
    scored = found["ours"]
    expected = plainly.combined(t.document, t.section, t.sample, found["sample"], found["fixed"])
    return {
        "text": t.name,
        "occurrences": t.occurrences,
        "threads": costs,
        "apart": apart(scored, expected),
        "disputes": disputes(t, scored, expected, referee),
    }


def told_costs(costs: dict[str, Cost], t: Task) -> dict[str, Any]:
    """Ours as shipped and in batches as small; and the obvious way for the whole text, from its sample."""
    each = Cost(costs["sample"].cpu / len(t.sample), costs["sample"].wall / len(t.sample))
    obvious = Cost(*(f + e * t.occurrences for f, e in zip(*map(_pair, (costs["fixed"], each)), strict=True)))
    ours: dict[str, Any] = {name: asdict(cost) for name, cost in costs.items() if name in ("ours", "alike")}
    return {**ours, "obvious": asdict(obvious)}


def _pair(cost: Cost) -> tuple[float, float]:
    return cost.cpu, cost.wall


def apart(scored: Sequence[OccurrenceScore], expected: Sequence[OccurrenceScore]) -> dict[str, list[float]]:
    """The differences of FS and p of every occurrence that both have."""
    pairs = _pairs(scored, expected)
    return {
        "FS": [abs(mine.score - other.score) for mine, other in pairs],
        "p": [abs(mine.parts["p"] - other.parts["p"]) for mine, other in pairs],
    }


def _pairs(
    scored: Sequence[OccurrenceScore], expected: Sequence[OccurrenceScore]
) -> list[tuple[OccurrenceScore, OccurrenceScore]]:
    by_span = {score.occurrence.span: score for score in scored}
    return [(by_span[score.occurrence.span], score) for score in expected]


def disputes(
    t: Task, scored: Sequence[OccurrenceScore], expected: Sequence[OccurrenceScore], referee: Callable[[], Plainly]
) -> list[dict[str, float]]:
    """Where the two ways differ in p by more than rounding: what each says, and what a third says in float64."""
    pairs = [pair for pair in _pairs(scored, expected) if abs(pair[0].parts["p"] - pair[1].parts["p"]) > CLOSE]
    if not pairs:
        return []
    index = {place.span: i for i, place in enumerate(t.section.places)}
    which = [index[mine.occurrence.span] for mine, _ in pairs]
    third = referee().likelihoods(t.document, t.section, which)
    return [
        {"ours": mine.parts["p"], "obvious": other.parts["p"], "float64": p}
        for (mine, other), p in zip(pairs, third, strict=True)
    ]


def batches(t: Task, plainly: Plainly, asked: Namespace) -> dict[str, float]:
    """CPU-seconds an occurrence of the obvious way, by the number of prompts in a batch, with one thread."""
    sizes = sorted({1, min(4, asked.batch), asked.batch})
    calls = {
        str(size): partial(replace(plainly, batch=size).likelihoods, t.document, t.section, t.sample) for size in sizes
    }
    say(f"obvious: {plainly.method.backbone.name}, sizes of a batch")
    with threads(1):
        return {size: cost.cpu / len(t.sample) for size, cost in interleaved(calls, asked.repeats).items()}


def whole(t: Task, ours: Extractor, plainly: Plainly, referee: Callable[[], Plainly], count: int) -> dict[str, Any]:
    """Every occurrence of a text by both ways, and their rankings beside one another."""
    say(f"obvious: {plainly.method.backbone.name}, {t.name}, all {t.occurrences} occurrences")
    with threads(count):
        scored, fast = cost_of(lambda: ours.scorer.score(t.document, t.found))
        expected, slow = cost_of(lambda: plainly.score(t.document, t.found))
    first, second = (
        [keyphrase.text for keyphrase in rank(t.document.text, t.found, scores)] for scores in (scored, expected)
    )
    return {
        "text": t.name,
        "occurrences": t.occurrences,
        "ours": asdict(fast),
        "obvious": asdict(slow),
        "apart": apart(scored, expected),
        "disputes": disputes(t, scored, expected, referee),
        **agreement(first, second),
    }


def agreement(first: Sequence[str], second: Sequence[str]) -> dict[str, Any]:
    """How alike two rankings are: the first few, all ranks, and the farthest that a phrase moved."""
    place = {phrase: index for index, phrase in enumerate(second)}
    moved = [abs(index - place[phrase]) if phrase in place else len(second) for index, phrase in enumerate(first)]
    return {
        "phrases": len(first),
        "top_agrees": list(first[:TOP]) == list(second[:TOP]),
        "same_rank": sum(shift == 0 for shift in moved),
        "farthest": max(moved, default=0),
    }


# -- Telling ----------------------------------------------------------------------------------------------------------


def speed_up(rows: Sequence[dict[str, Any]], count: str, ours: str, clock: str) -> float:
    """The median over texts of what the obvious way costs, divided by what ours costs."""
    each = (row["threads"][count] for row in rows if ours in row["threads"].get(count, ()))
    return float(median(costs["obvious"][clock] / costs[ours][clock] for costs in each))


HOW = """The obvious way (`plainly.py`) is the paper's equations on stock transformers: for every occurrence the
document and its prompt go through the whole model, {batch} prompts padded into a batch, in float32, the attention
edited by a plain function, logits asked for only where the prompt stands; and once more the document, for the attention
received. It was run on {sample} occurrences of each text, drawn with seed {seed}; its time for a text is that for an
occurrence × the text's occurrences + that last pass. Ours was run on all occurrences. Neither includes tagging. Ours
sets its batches in tokens; "same batches" has them so small that they hold about {batch} prompts."""


DISPUTES = f"""Each head gives full weight to the k tokens that it aligns best (Eq. 7). Where the last one kept and the
first one not kept are alike to the last digits, rounding decides between them, and p jumps. Occurrences whose p differs
by more than {CLOSE:g} were therefore computed a third time, the obvious way with products and sums in float64."""


def answer(figures: Figures) -> str:
    said, agreed = [], []
    for name, found in figures["models"].items():
        rows, full = found["texts"], found["full"]
        times = speed_up(rows, next(iter(rows[0]["threads"])), "ours", "cpu")
        p = differences(rows, "p")
        close = sum(difference <= CLOSE for difference in p)
        said.append(f"with {name} {times:.0f} times fewer CPU-seconds, p within {CLOSE:g} for {close} of {len(p)}")
        agreed += [row["top_agrees"] for row in full]
    ranked = f" The first {TOP} phrases agree in {sum(agreed)} of {len(agreed)} rankings." if agreed else ""
    return f"Against a whole forward pass of document and prompt for every occurrence: {'; '.join(said)}.{ranked}"


def differences(rows: Sequence[dict[str, Any]], which: str) -> list[float]:
    return [difference for row in rows for difference in row["apart"][which]]


def tell(figures: Figures) -> str:
    parts = [
        HOW.format(**figures),
        costs_table(figures),
        "Speed-up is the median over texts of the ratio on each text; seconds are medians over texts, for a text. "
        f"The same batches were tried on the first {BOTH} texts.",
        scores_table(figures),
        DISPUTES,
        disputes_table(figures),
        "What the size of a batch does to the obvious way (CPU-seconds an occurrence, one thread, first text):",
        batches_table(figures),
    ]
    if any(found["full"] for found in figures["models"].values()):
        told = f"Every occurrence of the first {figures['full_words']} words by both ways, and the two rankings:"
        parts += [told, whole_table(figures)]
    return "\n\n".join(parts)


def costs_table(figures: Figures) -> str:
    head = ["model", "threads", "", "obvious", "ours", "speed-up", "ours, same batches", "speed-up"]
    rows = []
    for name, found in figures["models"].items():
        texts_ = found["texts"]
        for count in texts_[0]["threads"]:
            for clock, words in (("cpu", "CPU-seconds"), ("wall", "wall seconds")):
                spent = {
                    way: median(
                        row["threads"][count][way][clock] for row in texts_ if way in row["threads"].get(count, ())
                    )
                    for way in ("obvious", "ours", "alike")
                }
                rows.append(
                    [
                        name,
                        count,
                        words,
                        f"{spent['obvious']:.1f}",
                        f"{spent['ours']:.2f}",
                        f"{speed_up(texts_, count, 'ours', clock):.1f}",
                        f"{spent['alike']:.2f}",
                        f"{speed_up(texts_, count, 'alike', clock):.1f}",
                    ]
                )
    return markdown_table(head, rows, left=3)


def scores_table(figures: Figures) -> str:
    head = ["model", "texts", "occurrences", "compared", "FS apart: median", "largest", "p apart: median", "largest"]
    rows = []
    for name, found in figures["models"].items():
        texts_ = found["texts"]
        occurrences, compared = sum(row["occurrences"] for row in texts_), len(differences(texts_, "p"))
        apart_ = [f"{of(differences(texts_, which)):.1e}" for which in ("FS", "p") for of in (median, max)]
        rows.append([name, str(len(texts_)), f"{occurrences:,}", f"{compared:,}", *apart_])
    return markdown_table(head, rows)


def disputes_table(figures: Figures) -> str:
    head = ["model", "in", "of", "disputed", "ours nearer to float64", "ours farthest from it", "obvious way farthest"]
    rows = []
    for name, found in figures["models"].items():
        for words, part in (("the sample", found["texts"]), ("texts scored whole", found["full"])):
            held = [dispute for row in part for dispute in row["disputes"]]
            off = [(abs(d["ours"] - d["float64"]), abs(d["obvious"] - d["float64"])) for d in held]
            farthest = [f"{max(side):.1e}" for side in zip(*off, strict=True)] or ["", ""]
            nearer = str(sum(mine < other for mine, other in off))
            rows.append([name, words, f"{len(differences(part, 'p')):,}", str(len(held)), nearer, *farthest])
    return markdown_table(head, rows, left=2)


def batches_table(figures: Figures) -> str:
    sizes = list(next(iter(figures["models"].values()))["batches"])
    rows = [[name, *(f"{found['batches'][size]:.2f}" for size in sizes)] for name, found in figures["models"].items()]
    return markdown_table(["model", *(f"{size} a batch" for size in sizes)], rows)


def whole_table(figures: Figures) -> str:
    head = ["model", "text", "occurrences", "obvious, CPU-s", "ours, CPU-s", "ratio", "FS apart: median", "largest"]
    rows = []
    for name, found in figures["models"].items():
        for row in found["full"]:
            ratio = row["obvious"]["cpu"] / row["ours"]["cpu"]
            rows.append(
                [
                    name,
                    row["text"],
                    str(row["occurrences"]),
                    f"{row['obvious']['cpu']:.1f}",
                    f"{row['ours']['cpu']:.2f}",
                    f"{ratio:.1f}",
                    f"{median(row['apart']['FS']):.1e}",
                    f"{max(row['apart']['FS']):.1e}",
                    "the same" if row["top_agrees"] else "differ",
                    f"{row['same_rank']} of {row['phrases']}",
                    str(row["farthest"]),
                ]
            )
    return markdown_table([*head, f"top {TOP}", "same rank", "farthest move"], rows, left=2)


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--models", nargs="+", default=MODELS[:1])
    parser.add_argument("--texts", type=int, default=3, help="how many of the texts")
    parser.add_argument("--sample", type=int, default=4, help="occurrences of each text for the obvious way")
    parser.add_argument("--full", type=int, default=1, metavar="N", help="texts on which it scores every occurrence")
    parser.add_argument("--full-words", type=int, default=150, help="of each of these, how much: all takes 5 minutes")
    parser.add_argument("--batch", type=int, default=16, help="prompts in a batch")
    parser.add_argument("--repeats", type=int, default=1, help="of each text; the median over texts is told")
    parser.add_argument("--threads", type=int, default=1)


QUESTION = Question(
    name="obvious",
    title="How much faster than the obvious way, and does it say the same?",
    measure=measure,
    answer=answer,
    tell=tell,
    options=options,
)

if __name__ == "__main__":
    QUESTION.main()
