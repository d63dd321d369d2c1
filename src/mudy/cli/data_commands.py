"""The commands about data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mudy._support.storage import dump_json
from mudy.cli import formats
from mudy.cli.console import Screen
from mudy.cli.evaluation_options import counting, loaded, on_data, reporting, sentence_encoder
from mudy.cli.parameters import with_options
from mudy.engines import Compute
from mudy.extraction.options import DEFAULT_ENCODER

if TYPE_CHECKING:
    from mudy.evaluation.statistics import Description

_HEAD = ("Data set", "Documents", "Words", "Sentences", "Keyphrases", "Absent %", "Noun phrases %", "Topic drift")


@click.group("data")
def data_command() -> None:
    """Inspect data sets with gold keyphrases."""


@data_command.command("describe")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@on_data
@click.option("--no-drift", is_flag=True, help="Leave out the topic drift, which needs a sentence encoder.")
@with_options(Compute, "threads")
@reporting
@click.pass_context
def describe_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    data_format: str | None,
    limit: int | None,
    no_drift: bool,
    threads: int | None,
    form: str,
    quiet: bool,
) -> None:
    """Print the figures of the paper's Table 1 for data sets.

    PATHS are files or folders, in the format of this project (JSON lines with id, title, text, keyphrases) or in that
    of DUC2001, SemEval2017, Inspec, NUS, Krapivin, SemEval2010, KP20k, KPTimes, StackExchange or WikiHow as they were
    published. Words, sentences and keyphrases are means per document; absent and noun phrases are shares of the gold.

    Bad rows are reported on standard error and left out. The exit code is 1 if a path could not be read at all.
    """
    from mudy.evaluation.statistics import describe
    from mudy.reading.tagging import Tagger

    with Screen(quiet) as screen:
        sets = loaded(screen, paths, data_format, limit)
        rows: list[Description] = []
        if sets:
            encoder = None if no_drift else sentence_encoder(screen, threads, DEFAULT_ENCODER)
            tagger, show = Tagger("en"), counting(screen, "Reading ")
            rows = [describe(data, tagger, encoder, show) for data in sets]
    if rows and form == "json":
        click.echo(dump_json([row.to_dict() for row in rows], indent=2))
    elif rows:
        click.echo(formats.text_table(_HEAD, map(_cells, rows), set(_HEAD[1:])), nl=False)
    if len(sets) < len(paths):
        ctx.exit(1)


def _cells(row: Description) -> tuple[str, ...]:
    return (
        row.name,
        f"{row.documents:,}",
        f"{row.words:,.0f}",
        f"{row.sentences:,.0f}",
        f"{row.keyphrases:.1f}",
        f"{row.absent:.1f}",
        f"{row.noun_phrases:.1f}",
        "–" if row.drift is None else f"{row.drift:.2f}",
    )
