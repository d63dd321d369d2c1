"""Tables whose rows are methods and whose columns are data sets, at 5, 10 and 15."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mudy.evaluation import paper
from mudy.evaluation.experiment import used_by
from mudy.evaluation.measures import F1
from mudy.evaluation.reproduce.markdown import OPEN, Gap, Page, counted, number, table
from mudy.evaluation.reproduce.variants import Maker, f1
from mudy.evaluation.reproduce.workspace import Bench
from mudy.evaluation.runs import Run, ceiling

NOT_FETCHED = (
    "the paper's models (t5-base, Gemma 2 9B, Llama 3 8B, GPT-5) are on no package index that `mudy models` fetches "
    "from; to fill such a row, pass a local folder or a hub id as --model."
)

FEWER = "†"


@dataclass(frozen=True)
class Row:
    """One method: what it found on each data set, and what the paper printed."""

    label: str
    of: Maker
    paper: Mapping[str, Sequence[float]] = field(default_factory=dict)


def unfilled(label: str, printed: Mapping[str, Sequence[float]], reason: str = NOT_FETCHED) -> Row:
    """A row of the paper that nothing here can fill."""
    return Row(label, lambda _: Gap(reason), printed)


def start(bench: Bench, item: str, title: str, sets: Sequence[str]) -> Page:
    """A page, and why columns of it are open."""
    page = Page(item, title)
    for name in sets:
        if isinstance(data := bench.dataset(name), Gap):
            page.gap(f"all of {paper.TITLES[name]}", data)
            continue
        if bench.paths[name].name.partition(".")[0].lower() != name:
            page.remarks.append(f"{paper.TITLES[name]} is {bench.paths[name].name} here.")
        if data.problems:
            page.remarks.append(f"{paper.TITLES[name]}: {len(data.problems):,} rows of it could not be used.")
    return page


READING = (
    "Texts are read as published experiments read them (512 words, in lower case where they do), and F1 is micro, in "
    "per cent."
)


def finish(bench: Bench, page: Page, sets: Sequence[str], count: int | None = None, reading: str = READING) -> Page:
    """Put on top of a page how it was made; `count`: how many documents of each set, where they are not all."""
    documents = {paper.TITLES[name]: count or len(data.documents) for name, data in bench.at_hand(sets).items()}
    versions = dict.fromkeys(_versions(run.used) for run in bench.used)
    dtypes = dict.fromkeys(str(run.asked["dtype"] or "default") for run in bench.used if run.asked["model"])
    facts = [
        f"Documents, the first of each set: {counted(documents) or 'none'}. {reading}",
        f"Precision: {', '.join(dtypes) or bench.asked.dtype or 'default'} "
        "(default: float32 on a CPU, half precision on a GPU).",
        *_models(bench),
        f"Versions: {' | '.join(versions) or _versions(used_by(bench.extractor('yake')))}.",
    ]
    page.facts = [f"    {bench.asked.command}", *facts]
    return page


def _models(bench: Bench) -> list[str]:
    """A line with the fingerprints of the models that the runs used."""
    used = {name: digest for run in bench.used for name, digest in run.used.get("models", {}).items()}
    return [f"Models: {', '.join(f'{bench.label(name)} ({digest})' for name, digest in used.items())}."] if used else []


def _versions(used: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in used["versions"].items()) + f"; {used['tagger']}"


def f1_table(bench: Bench, page: Page, rows: Sequence[Row], sets: Sequence[str], digits: int = 1) -> str:
    """F1 of every row on every data set, the paper's behind it; open cells are noted on the page."""
    cells: dict[tuple[str, str], list[str]] = {}
    for data in sets:  # set by set, for the runs of a set are kept in memory together
        for row in rows:
            run = row.of(data)
            ours: Sequence[float | None] = [None] * len(paper.DEPTHS)
            mark = ""
            if isinstance(run, Run):
                ours, mark = f1(run), _fewer(bench, page, row.label, run)
                if failed := sum(document.error is not None for document in run.documents):
                    page.remarks.append(f"{row.label} failed on {failed:,} documents of {paper.TITLES[data]}.")
            elif not isinstance(bench.dataset(data), Gap):
                page.gap(row.label, run)
            printed: Sequence[float | None] = row.paper.get(data) or [None] * len(paper.DEPTHS)
            cells[row.label, data] = [number(o, p, digits, mark) for o, p in zip(ours, printed, strict=True)]
    head = ["F1", *(f"{paper.TITLES[data]} @{k}" for data in sets for k in paper.DEPTHS)]
    return table(head, [[row.label, *(cell for data in sets for cell in cells[row.label, data])] for row in rows])


def _fewer(bench: Bench, page: Page, label: str, run: Run) -> str:
    """A mark for a run that holds not all of the documents that were asked for."""
    data = bench.dataset(run.names[0])
    if isinstance(data, Gap) or len(run.documents) == len(data.documents):
        return ""
    remark = (
        f"{FEWER} {label}: {len(run.documents):,} of {len(data.documents):,} documents of {paper.TITLES[data.name]}."
    )
    if remark not in page.remarks:
        page.remarks.append(remark)
    return FEWER


BEHIND = (
    "Intervals: percentiles of 2,000 bootstrap samples of the documents. Ceiling: the share of gold keyphrases among "
    "the method's candidates, in per cent, and no recall can be higher; for a model that writes, among the phrases "
    "that it wrote. Rows read from one run with other weights have that run's cost; every run of MUDY observes both G "
    "and L."
)


def interval_table(rows: Sequence[Row], sets: Sequence[str]) -> str:
    """What lies behind the numbers: intervals, ceilings, documents and cost."""
    head = [
        "",
        "data set",
        *(f"F1@{k} [95 %]" for k in paper.DEPTHS),
        "ceiling",
        "documents",
        "CPU-s a document",
    ]
    lines = []
    for data in sets:
        for row in rows:
            run = row.of(data)
            if isinstance(run, Run):
                lines.append([row.label, paper.TITLES[data], *_behind(run)])
    return table(head, lines, left=2) if lines else OPEN


def _behind(run: Run) -> list[str]:
    outcomes = run.outcomes(run.names[0])
    intervals = ((F1 @ k).interval(outcomes) for k in paper.DEPTHS)
    cost = sum(document.cpu_seconds for document in run.documents) / len(run.documents)
    return [
        *(f"{i.value:.1f} [{i.low:.1f}, {i.high:.1f}]" for i in intervals),
        f"{ceiling(run.documents):.1f}",
        f"{len(run.documents):,}",
        f"{cost:.2f}",
    ]
