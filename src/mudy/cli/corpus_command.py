"""The command for many texts: files in, one row each out. Resumable: the same command goes on after a kill."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mudy.cli.console import Screen
from mudy.cli.extract_command import warn_of_vocabulary
from mudy.cli.parameters import SET, WORKERS, given_options, on_machine, settings, with_focus, with_options
from mudy.extraction.options import Options, Setup


@click.command("corpus")
@click.argument("names", nargs=-1, required=True, metavar="INPUT... OUTPUT")
@click.option("--text-column", default="text", show_default=True, metavar="NAME", help="Where tables hold the text.")
@click.option("--id-column", default="id", show_default=True, metavar="NAME", help="If there is none: file and line.")
@click.option("--keep", metavar="NAMES|all", help="Columns to carry through, with commas between them, or all.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["jsonl", "parquet", "csv", "tsv"]),
    help="For a folder of parts as OUTPUT.",
)
@click.option(
    "--part-rows",
    type=click.IntRange(1),
    default=500,
    show_default=True,
    help="Rows written at once; after a minute, fewer.",
)
@click.option(
    "--summary",
    metavar="FILE",
    help="Also write the phrases of the whole corpus, with the number of their documents (.parquet .csv .tsv .jsonl).",
)
@click.option(
    "--tfidf",
    metavar="FILE",
    help="Also write the rows with scores weighed by how rare phrases are; it ends like OUTPUT.",
)
@click.option("--restart", is_flag=True, help="Throw away what an earlier run to OUTPUT has done.")
@click.option("--workers", **WORKERS, help="Processes that compute, a model each. The rows are the same.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--address", metavar="ADDRESS", help="Of a Ray cluster, or auto.  [default: one on this machine]")
@click.option("--actors", type=click.IntRange(1), help="Of Ray, a model each.  [default: CPUs - 1]")
@with_options(Setup, without=["endpoint"])
@with_options(Options)
@with_focus
@click.option("--set", "pairs", **SET)
@on_machine
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary; errors are still shown.")
def corpus_command(
    names: tuple[str, ...],
    text_column: str,
    id_column: str,
    keep: str | None,
    form: str | None,
    summary: str | None,
    tfidf: str | None,
    method: str,
    pairs: tuple[str, ...],
    quiet: bool,
    **given: Any,
) -> None:
    """Find the keyphrases of a corpus, and write one row for each row of it, in its order.

    INPUT is JSON lines, CSV or Parquet (.jsonl .csv .tsv .parquet), documents (.txt .md .html .pdf .docx), or a folder
    or a pattern of such; all but Parquet may be packed (.gz .zst). OUTPUT ends in .jsonl, .parquet, .csv or .tsv, or is
    a folder. In CSV each keyphrase has a line of its own.

    A row that fails has an `error` and stops nothing; the exit code is then 1. The same command again goes on after a
    kill, a crash or a full disk, and repeats at most one part; other settings or another input are refused.
    """
    if len(names) < 2:
        raise click.UsageError("An input and an output are needed: mudy corpus INPUT... OUTPUT")
    options, focus = given_options(given)
    from mudy import corpus
    from mudy.corpus.checkpoint import Parts
    from mudy.corpus.row_sources import Files
    from mudy.corpus.row_writers import writer_for
    from mudy.corpus.views import Views

    output = Path(names[-1])
    parts = Parts(output, writer_for(output, form))
    views = Views.of(summary, tfidf, output, parts.form)
    source = Files.of(names[:-1], lambda file: parts.owns(file) or views.owns(file))
    with Screen(quiet, lines=True) as screen:
        _warn_of_ignored(screen, source.ignored)
        warn_of_vocabulary(screen, options)
        screen.show("Reading")
        try:
            ended = corpus.run(
                source,
                output,
                columns=corpus.Columns(text_column, id_column, _kept(keep)),
                form=form,
                report=lambda progress: _show(screen, progress),
                options=options.shared(),
                summary=summary,
                tfidf=tfidf,
                method=method,
                **given,
                **settings(method, pairs),
                **focus,
            )
        except KeyboardInterrupt:
            screen.warning("interrupted; the same command goes on from here.")
            raise
        screen.warning(_told(ended))
    if ended.failed:
        click.get_current_context().exit(1)


def _warn_of_ignored(screen: Screen, files: Sequence[str]) -> None:
    if files:
        screen.warning(f"{len(files):,} files of unknown kind are not read: {', '.join(files[:3])}")


def _kept(keep: str | None) -> tuple[str, ...] | None:
    if keep is None:
        return ()
    return None if keep.strip() == "all" else tuple(name.strip() for name in keep.split(",") if name.strip())


def _show(screen: Screen, progress: Any) -> None:
    rate = progress.new / progress.seconds if progress.seconds else 0.0
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    amount = f"{progress.share:.0%}, {progress.rows:,} rows, {rate:,.1f} a second{failed}"
    screen.show("Extracting", round(1000 * progress.share), 1000, amount=amount)


def _told(summary: Any) -> str:
    failed = f" {summary.failed:,} of them failed: see their `error`." if summary.failed else ""
    if summary.resumed == summary.rows and not summary.seconds:
        return f"{summary.output} was done before: {summary.rows:,} rows.{failed}"
    before = f", {summary.resumed:,} of them by an earlier run" if summary.resumed else ""
    rate = (summary.rows - summary.resumed) / summary.seconds if summary.seconds else 0.0
    return f"{summary.output}: {summary.rows:,} rows{before}, {rate:,.1f} a second.{failed}"
