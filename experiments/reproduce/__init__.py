"""The paper's tables and figures, regenerated: each item is a Markdown page with our numbers next to the paper's.

Importing this imports nothing heavy. Every run of a model is kept under `runs/` in the output folder and shared between
items. Run the same command to resume after an interruption.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from mudy.errors import SettingError, unknown

if TYPE_CHECKING:
    from experiments.reproduce.markdown import Page
    from experiments.reproduce.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PaperItem:
    """A table or figure: what it shows, and which function makes it."""

    title: str
    function: str
    drawn: bool = False  # it is a figure, so matplotlib is needed


ITEMS = {
    "table1": PaperItem("Table 1: the data sets", "table1:table1"),
    "table2": PaperItem("Table 2: F1 of all methods", "comparison:table2"),
    "table3": PaperItem("Table 3: what each part adds", "ablation:table3"),
    "table4": PaperItem("Table 4: the size of the local window", "ablation:table4"),
    "table5": PaperItem("Table 5: beside language models that write", "table5:table5"),
    "table6": PaperItem("Table 6: large data sets", "comparison:table6"),
    "fig-sigma": PaperItem("Figure: sensitivity to sigma", "sensitivity:sigma", drawn=True),
    "fig-kappa": PaperItem("Figure: sensitivity to kappa", "sensitivity:kappa", drawn=True),
    "fig-lambda": PaperItem("Figure: sensitivity to lambda", "sensitivity:lambda_", drawn=True),
    "fig-recall": PaperItem("Figure: recall by similarity to the document", "recall:recall", drawn=True),
    "fig-time": PaperItem("Figure: processing time", "timing:timing", drawn=True),
    "fig-case": PaperItem("Figure: one document under two methods", "case_study:case_study", drawn=True),
}


def reproduce(item: str, workspace: Workspace) -> Page:
    """Regenerate one item of the paper."""
    if item not in ITEMS:
        raise SettingError(unknown("item", item, ITEMS))
    workspace.used.clear()
    module, _, name = ITEMS[item].function.partition(":")
    page: Page = getattr(import_module(f"{__name__}.{module}"), name)(workspace)
    return page
