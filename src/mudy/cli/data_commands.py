"""The commands about data sets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from mudy._support.storage import dump_json
from mudy.cli import formats
from mudy.cli.console import Screen
from mudy.cli.parameters import THREADS
from mudy.errors import InputError
from mudy.extraction.options import DEFAULT_ENCODER

if TYPE_CHECKING:
    from mudy.engines.encoder import SentenceEncoder
    from mudy.evaluation.datasets import Dataset
    from mudy.evaluation.statistics import Description

_PROBLEMS_SHOWN = 5  # problems named of each data set
_HEAD = ("Data set", "Documents", "Words", "Sentences", "Keyphrases", "Absent %", "Noun phrases %", "Topic drift")


def known_form(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The name of a form of data sets."""
    from mudy.errors import unknown
    from mudy.evaluation.datasets import DATASET_FORMATS

    if value is not None and value not in DATASET_FORMATS:
        raise click.BadParameter(unknown("form", value, DATASET_FORMATS), ctx, param)
    return value


FORM: dict[str, Any] = {"callback": known_form, "metavar": "NAME"}


@click.group("data")
def data_command() -> None:
    """Look at data sets of documents with gold keyphrases."""


@data_command.command("describe")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--form", **FORM, help="The format of the data.  [default: detected from the contents]")
@click.option("--limit", type=click.IntRange(1), help="Only the first documents of each.  [default: all]")
@click.option("--no-drift", is_flag=True, help="Leave out the topic drift, which needs a sentence encoder.")
@click.option("--threads", **THREADS)
@click.option("-f", "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings; errors are still shown.")
@click.pass_context
def describe_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    form: str | None,
    limit: int | None,
    no_drift: bool,
    threads: int | None,
    output: str,
    quiet: bool,
) -> None:
    """Print the figures of the paper's Table 1 for data sets.

    PATHS are files or folders, in the form of this project (JSON lines with id, title, text, keyphrases) or in that of
    DUC2001, SemEval2017, Inspec, NUS, Krapivin, SemEval2010, KP20k, KPTimes, StackExchange or WikiHow as they were
    published. Words, sentences and keyphrases are means a document; absent and noun phrases are shares of the gold.

    Bad rows are named on standard error and left out. The exit code is 1 if a path could not be read at all.
    """
    from mudy.evaluation.statistics import describe
    from mudy.reading.tagging import Tagger

    with Screen(quiet) as screen:
        sets = loaded(screen, paths, form, limit)
        rows: list[Description] = []
        if sets:
            tagger, encoder = Tagger("en"), None if no_drift else sentence_encoder(screen, threads)
            for one in sets:
                show = _Progress(screen, one)
                rows.append(describe(one, tagger, encoder, show))
    if rows:
        click.echo(_as_json(rows) if output == "json" else _as_table(rows), nl=False)
    if len(sets) < len(paths):
        ctx.exit(1)


class _Progress:
    def __init__(self, screen: Screen, dataset: Dataset) -> None:
        self._screen, self._name, self._total = screen, dataset.name, len(dataset.documents)

    def __call__(self, done: int) -> None:
        self._screen.show(f"Reading {self._name}", done, self._total, amount=f"{done:,} of {self._total:,}")


def loaded(screen: Screen, paths: Sequence[str], form: str | None, limit: int | None) -> list[Dataset]:
    """The data sets that can be read; the others are named, and rows that cannot be used."""
    from mudy.evaluation.datasets import load

    sets: list[Dataset] = []
    for path in paths:
        try:
            sets.append(load(path, form, limit=limit))
        except InputError as error:
            screen.error(str(error))
        else:
            _warn(screen, sets[-1])
    return sets


def _warn(screen: Screen, dataset: Dataset) -> None:
    for problem in dataset.problems[:_PROBLEMS_SHOWN]:
        screen.warning(str(problem))
    if (more := len(dataset.problems) - _PROBLEMS_SHOWN) > 0:
        screen.warning(f"{dataset.name}: {more:,} more rows could not be used")


def sentence_encoder(screen: Screen, threads: int | None, name: str = DEFAULT_ENCODER) -> SentenceEncoder:
    """An encoder by name, fetched if need be, and loaded."""
    from mudy import engines, models
    from mudy.engines.compute import Compute

    path = models.locate(name, report=screen.report)
    return engines.load_encoder(path, Compute(threads=threads), name)


def _as_json(rows: list[Description]) -> str:
    return dump_json([row.to_dict() for row in rows], indent=2) + "\n"


def _as_table(rows: list[Description]) -> str:
    cells = [
        (
            row.name,
            f"{row.documents:,}",
            f"{row.words:,.0f}",
            f"{row.sentences:,.0f}",
            f"{row.keyphrases:.1f}",
            f"{row.absent:.1f}",
            f"{row.noun_phrases:.1f}",
            "–" if row.drift is None else f"{row.drift:.2f}",
        )
        for row in rows
    ]
    return formats.text_table(_HEAD, cells, set(_HEAD[1:]), sys.stdout.isatty())
