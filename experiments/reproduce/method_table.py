"""Tables whose rows are methods and whose columns are data sets, at 5, 10 and 15."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.reproduce import paper
from experiments.reproduce.markdown import OPEN, Gap, Page, cell, document_counts, markdown_table
from experiments.reproduce.variants import RunLookup, f1
from experiments.reproduce.workspace import RunOrGap, Workspace
from mudy.evaluation.comparison import compare
from mudy.evaluation.experiment import used_by
from mudy.evaluation.measures import DEPTHS, F1
from mudy.evaluation.runs import Run, ceiling

MODELS_NOT_FETCHED = (
    "the paper's models (t5-base, Gemma 2 9B, Llama 3 8B, GPT-5) are on no package index that `mudy models` fetches "
    "from; to fill such a row, pass a local folder or a hub id as --model."
)

_FEWER_MARK = "†"


@dataclass(frozen=True)
class TableRow:
    """One method: what it found on each data set, and what the paper printed."""

    label: str
    of: RunLookup
    paper: Mapping[str, Sequence[float]] = field(default_factory=dict)


def unfilled(label: str, printed: Mapping[str, Sequence[float]], reason: str = MODELS_NOT_FETCHED) -> TableRow:
    """A row of the paper that nothing here can fill."""
    return TableRow(label, lambda _: Gap(reason), printed)


def start(workspace: Workspace, item: str, title: str, sets: Sequence[str]) -> Page:
    """A page, and why columns of it are open."""
    page = Page(item, title)
    for name in sets:
        if isinstance(data := workspace.dataset(name), Gap):
            page.gap(f"all of {paper.DATASET_TITLES[name]}", data)
            continue
        if workspace.paths[name].name.partition(".")[0].lower() != name:
            page.remarks.append(f"{paper.DATASET_TITLES[name]} is {workspace.paths[name].name} here.")
        if data.problems:
            page.remarks.append(f"{paper.DATASET_TITLES[name]}: {len(data.problems):,} rows of it could not be used.")
    return page


_READING_NOTE = (
    "Texts are read as published experiments read them (512 words, in lower case where they do), and F1 is micro, in "
    "per cent."
)


def finish(
    workspace: Workspace, page: Page, sets: Sequence[str], count: int | None = None, reading: str = _READING_NOTE
) -> Page:
    """Put on top of a page how it was made; `count`: how many documents of each set, where they are not all."""
    documents = {
        paper.DATASET_TITLES[name]: count or len(data.documents) for name, data in workspace.at_hand(sets).items()
    }
    versions = dict.fromkeys(_versions(run.used) for run in workspace.used)
    dtypes = dict.fromkeys(map(_precision, (run for run in workspace.used if run.asked["model"])))
    facts = [
        f"Documents, the first of each set: {document_counts(documents) or 'none'}. {reading}",
        f"Precision: {', '.join(dtypes) or workspace.options.dtype or 'default'} "
        "(default: float32 on a CPU, half precision on a GPU).",
        *_models(workspace),
        f"Versions: {' | '.join(versions) or _versions(used_by(workspace.extractor('yake')))}.",
    ]
    page.facts = [f"    {workspace.options.command}", *facts]
    return page


def _precision(run: Run) -> str:
    return "8 bits (fast)" if run.asked.get("speed") == "fast" else str(run.asked["dtype"] or "default")


def _models(workspace: Workspace) -> list[str]:
    """A line with the fingerprints of the models that the runs used."""
    used = {name: digest for run in workspace.used for name, digest in run.used.get("models", {}).items()}
    return (
        [f"Models: {', '.join(f'{workspace.label(name)} ({digest})' for name, digest in used.items())}."]
        if used
        else []
    )


def _versions(used: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in used["versions"].items()) + f"; {used['tagger']}"


def f1_table(workspace: Workspace, page: Page, rows: Sequence[TableRow], sets: Sequence[str], digits: int = 1) -> str:
    """F1 of every row on every data set, the paper's behind it; open cells are noted on the page."""
    cells: dict[tuple[str, str], list[str]] = {}
    for data in sets:  # set by set, for the runs of a set are kept in memory together
        for row in rows:
            run = row.of(data)
            ours: Sequence[float | None] = [None] * len(DEPTHS)
            mark = ""
            if isinstance(run, Run):
                ours, mark = f1(run), _mark_if_fewer(workspace, page, row.label, run)
                if failed := sum(document.error is not None for document in run.documents):
                    page.remarks.append(f"{row.label} failed on {failed:,} documents of {paper.DATASET_TITLES[data]}.")
            elif not isinstance(workspace.dataset(data), Gap):
                page.gap(row.label, run)
            printed: Sequence[float | None] = row.paper.get(data) or [None] * len(DEPTHS)
            cells[row.label, data] = [cell(o, p, digits, mark) for o, p in zip(ours, printed, strict=True)]
    head = ["F1", *(f"{paper.DATASET_TITLES[data]} @{k}" for data in sets for k in DEPTHS)]
    return markdown_table(
        head, [[row.label, *(text for data in sets for text in cells[row.label, data])] for row in rows]
    )


def _mark_if_fewer(workspace: Workspace, page: Page, label: str, run: Run) -> str:
    """A mark for a run that holds not all of the documents that were asked for."""
    data = workspace.dataset(run.names[0])
    if isinstance(data, Gap) or len(run.documents) == len(data.documents):
        return ""
    count = f"{len(run.documents):,} of {len(data.documents):,} documents"
    remark = f"{_FEWER_MARK} {label}: {count} of {paper.DATASET_TITLES[data.name]}."
    if remark not in page.remarks:
        page.remarks.append(remark)
    return _FEWER_MARK


INTERVALS_NOTE = (
    "Intervals: percentiles of 2,000 bootstrap samples of the documents. Ceiling: the share of gold keyphrases among "
    "the method's candidates, in per cent, and no recall can be higher; for a model that writes, among the phrases "
    "that it wrote. Rows read from one run with other weights have that run's cost; every run of MUDY observes both G "
    "and L."
)


def interval_table(rows: Sequence[TableRow], sets: Sequence[str]) -> str:
    """What lies behind the numbers: intervals, ceilings, documents and cost."""
    head = [
        "",
        "data set",
        *(f"F1@{k} [95 %]" for k in DEPTHS),
        "ceiling",
        "documents",
        "CPU-s a document",
    ]
    lines = []
    for data in sets:
        for row in rows:
            run = row.of(data)
            if isinstance(run, Run):
                lines.append([row.label, paper.DATASET_TITLES[data], *_behind(run)])
    return markdown_table(head, lines, left=2) if lines else OPEN


GAINS_NOTE = (
    "Difference in F1 with its 95 % interval and two-sided p, both by a paired bootstrap over documents (2,000 "
    "samples). Nothing is corrected for the number of comparisons."
)


def gains(first: RunOrGap, second: RunOrGap, depths: Sequence[int] = DEPTHS) -> list[str]:
    """How far the second run is ahead of the first, at some depths; nothing where one is missing."""
    if isinstance(first, Gap) or isinstance(second, Gap):
        return []
    before, after = ({one.id: one for one in run.predictions(run.names[0])} for run in (first, second))
    both = [name for name in before if name in after]
    if len(both) < 2:
        return []
    own, other = ([known[name] for name in both] for known in (before, after))
    comparisons = [compare(F1 @ k, own, other) for k in depths]
    return [
        f"{c.difference.value:+.1f} [{c.difference.low:+.1f}, {c.difference.high:+.1f}], {c.p_bootstrap:.3f}"
        for c in comparisons
    ]


def gains_table(rows: Sequence[Sequence[str]], depths: Sequence[int] = DEPTHS) -> str:
    """Rows of a name, a data set and gains; those without gains are left out."""
    kept = [row for row in rows if len(row) > 2]
    head = ["", "data set", *(f"F1@{k} [95 %], p" for k in depths)]
    return markdown_table(head, kept, left=2) if kept else OPEN


def _behind(run: Run) -> list[str]:
    documents = run.predictions(run.names[0])
    intervals = ((F1 @ k).interval(documents) for k in DEPTHS)
    cost = sum(document.cpu_seconds for document in run.documents) / len(run.documents)
    return [
        *(f"{i.value:.1f} [{i.low:.1f}, {i.high:.1f}]" for i in intervals),
        f"{ceiling(run.documents):.1f}",
        f"{len(run.documents):,}",
        f"{cost:.2f}",
    ]
