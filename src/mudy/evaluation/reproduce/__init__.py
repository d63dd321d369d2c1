"""The paper's tables and figures, made again: each item is a page of Markdown, ours beside the paper's.

Importing this imports nothing heavy. Every run of a model is kept under `runs/` of the output folder, shared between
items, and goes on where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from mudy.errors import SettingError, unknown

if TYPE_CHECKING:
    from mudy.evaluation.reproduce.markdown import Page
    from mudy.evaluation.reproduce.workspace import Bench


@dataclass(frozen=True, slots=True)
class Item:
    """A table or figure: what it shows, and which function makes it."""

    title: str
    made_by: str
    drawn: bool = False  # it is a figure, so matplotlib is needed


ITEMS = {
    "table1": Item("Table 1: the data sets", "table1:table1"),
    "table2": Item("Table 2: F1 of all methods", "comparison:table2"),
    "table3": Item("Table 3: what each part adds", "ablation:table3"),
    "table4": Item("Table 4: the size of the local window", "ablation:table4"),
    "table5": Item("Table 5: beside language models that write", "table5:table5"),
    "table6": Item("Table 6: large data sets", "comparison:table6"),
    "fig-sigma": Item("Figure: sensitivity to sigma", "sensitivity:sigma", drawn=True),
    "fig-kappa": Item("Figure: sensitivity to kappa", "sensitivity:kappa", drawn=True),
    "fig-lambda": Item("Figure: sensitivity to lambda", "sensitivity:lambda_", drawn=True),
    "fig-recall": Item("Figure: recall by similarity to the document", "recall:recall", drawn=True),
    "fig-time": Item("Figure: processing time", "timing:timing", drawn=True),
    "fig-case": Item("Figure: one document under two methods", "case_study:case", drawn=True),
}


def reproduce(item: str, bench: Bench) -> Page:
    """Make one item of the paper again."""
    if item not in ITEMS:
        raise SettingError(unknown("item", item, ITEMS))
    bench.used.clear()
    module, _, name = ITEMS[item].made_by.partition(":")
    page: Page = getattr(import_module(f"{__name__}.{module}"), name)(bench)
    return page
