"""The command for many texts: files in, one row per text out. Resumable: run the same command to continue."""

from __future__ import annotations

import csv
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mudy._support.storage import atomic_output, dump_json, real_path, same_file
from mudy.cli import parameters
from mudy.cli.extract_command import warn_of_vocabulary
from mudy.cli.main import Output, Screen, cli, printable, text_table
from mudy.errors import SettingError
from mudy.extraction.concepts import LabelVectors
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import Options, Setup
from mudy.reading.candidates.vocabularies import Vocabulary
from mudy.reading.languages import AUTO

if TYPE_CHECKING:
    from mudy.corpus.comparison import Comparison, Contrast

PART_FORMATS = ("jsonl", "parquet", "csv", "tsv")


def also_written(name: str, what: str, metavar: str = "FILE") -> parameters.Decorator:
    """An option that names a further file to write."""
    return click.option(f"--{name}", metavar=metavar, help=f"Also write {what}.")


@cli.command("corpus")
@click.argument("names", nargs=-1, required=True, metavar="INPUT... OUTPUT")
@click.option("--text-column", default="text", metavar="NAME", help="Column with the text.")
@click.option("--id-column", default="id", metavar="NAME", help="Column with the id, if any.")
@click.option("--keep", metavar="NAMES|all", help="Columns to copy to the output, separated by commas, or all.")
@click.option("-f", "--format", "form", type=click.Choice(PART_FORMATS), help="Of the parts if OUTPUT is a folder.")
@click.option("--part-rows", **parameters.COUNT, default=500, help="Rows per part; fewer after a minute.")
@also_written("summary", "the phrases of all texts, with their number of documents (.parquet .csv .tsv .jsonl)")
@also_written("tfidf", "the rows with scores weighted by how rare phrases are; same ending as OUTPUT")
@also_written("new-terms", "frequent phrases that the --vocabulary lacks (.csv .tsv .jsonl; - prints them)", "FILE|-")
@also_written("graph", "a graph of phrases that share chunks more often than chance (.parquet .graphml .json)")
@also_written("trends", "how phrases rise and fall over time (.parquet .csv .tsv .jsonl, or .png for a picture)")
@also_written("explore", "a page to search and read phrases and texts (.html)")
@click.option("--time-column", metavar="NAME", help="Column with dates such as 2024, 2024-03 or 2024-03-05T10:00.")
@click.option(
    "--period",
    type=click.Choice(["year", "quarter", "month", "week", "day"]),
    help="Periods of --time-column.  [default: the longest of which there are at least four]",
)
@click.option("--restart", is_flag=True, help="Discard an earlier run to OUTPUT.")
@click.option("--workers", **parameters.COUNT, default=1, help="Worker processes; each loads its own model.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local")
@click.option("--address", metavar="ADDRESS", help="Address of a Ray cluster, or auto.  [default: one on this machine]")
@click.option("--actors", **parameters.COUNT, help="Ray actors; each loads its own model.  [default: CPUs - 1]")
@parameters.with_method
@parameters.with_options(Setup, without=["method", "endpoint"])
@parameters.with_options(Options, without=["per_section"])
@parameters.with_focus
@parameters.with_settings
@parameters.on_machine
@parameters.with_quiet
def corpus_command(
    names: tuple[str, ...],
    text_column: str,
    id_column: str,
    keep: str | None,
    form: str | None,
    new_terms: str | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Extract the keyphrases of a corpus: one output row per input row, in order.

    INPUT is JSON lines, CSV or Parquet (.jsonl .csv .tsv .parquet), documents (.txt .md .html .pdf .docx ...), or a
    folder or a pattern of such files; all but Parquet may be compressed (.gz .zst). OUTPUT ends in .jsonl, .parquet,
    .csv or .tsv, or is a folder. CSV has one line per keyphrase.

    A row that fails has an `error` and does not stop the run; the exit code is then 1. After a kill, a crash or a full
    disk, run the same command to resume; at most one part is computed again. Other settings or inputs are refused.
    """
    from mudy import corpus

    if len(names) < 2:
        raise click.UsageError("An input and an output are needed: mudy corpus INPUT... OUTPUT")
    options = parameters.given_options(given)
    if new_terms is not None:
        _check_new_terms(new_terms, options)
    setup = parameters.given_setup(given)
    with Screen(quiet, lines=True) as screen:
        warn_of_vocabulary(screen, options)
        screen.show("Reading")
        try:
            ended = corpus.run(
                names[:-1],
                names[-1],
                columns=corpus.Columns(text_column, id_column, _kept(keep)),
                form=form,
                report=partial(_show, screen),
                warn=screen.warning,
                options=options,
                **setup,
            )
        except KeyboardInterrupt:
            screen.warning("interrupted; run the same command to resume.")
            raise
        screen.warning(_told(ended))
        if new_terms is not None and options.concepts is not None:
            screen.show("Looking for new terms")
            _report_new_terms(names[-1], form, new_terms, options.concepts, given)
    if ended.failed:
        click.get_current_context().exit(1)


def _check_new_terms(target: str, options: Options) -> None:
    if options.concepts is None or options.only_concepts:
        raise click.UsageError("--new-terms needs a --vocabulary, and --boost (0 changes no score) for other phrases.")
    if target != "-" and Path(target).suffix.lower() not in (".csv", ".tsv", ".jsonl"):
        raise click.UsageError(f"--new-terms {target} does not end in .csv, .tsv or .jsonl, and is not -.")
    Output(None if target == "-" else target, option="--new-terms").check(())


def _report_new_terms(output: str, form: str | None, target: str, known: Vocabulary, given: dict[str, Any]) -> None:
    from mudy.corpus import comparison as report

    nearest = None
    if sum(len(concept.labels) for concept in known.concepts) <= report.MOST_LABELS:
        encoder = Extractor(encoder=given["encoder"]).loader.encoder()
        nearest = LabelVectors(encoder, known).nearest
    language = "en" if given["language"] == AUTO else given["language"].partition("_")[0]
    terms = report.new_terms(output, known, nearest, form, language)
    if target != "-":
        report.write_new_terms(Path(target), terms)
        return
    cells = ([*map(str, term[:2]), term.examples, term.nearest_label or ""] for term in terms)
    click.echo(text_table(["New term", "Documents", "Examples", "Nearest concept"], cells, {"Documents"}), nl=False)


def _kept(keep: str | None) -> tuple[str, ...] | None:
    if keep is None:
        return ()
    return None if keep.strip() == "all" else tuple(name.strip() for name in keep.split(",") if name.strip())


def _show(screen: Screen, progress: Any) -> None:
    rate = progress.new / progress.seconds if progress.seconds else 0.0
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    amount = f"{progress.share:.0%}, {progress.rows:,} rows, {rate:,.1f} per second{failed}"
    screen.show("Extracting", round(1000 * progress.share), 1000, amount=amount)


def _told(summary: Any) -> str:
    failed = f" {summary.failed:,} of them failed: see their `error`." if summary.failed else ""
    if summary.resumed == summary.rows and not summary.seconds:
        return f"{summary.output} was already complete: {summary.rows:,} rows.{failed}"
    before = f", {summary.resumed:,} of them by an earlier run" if summary.resumed else ""
    rate = (summary.rows - summary.resumed) / summary.seconds if summary.seconds else 0.0
    return f"{summary.output}: {summary.rows:,} rows{before}, {rate:,.1f} per second.{failed}"


@cli.command("compare-corpora")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--min-documents", **parameters.COUNT, default=3, help="Documents of A and B that have a phrase.")
@click.option("--top-n", **parameters.COUNT, default=15, help="Phrases of each corpus in the table.")
@click.option("-f", "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table")
@click.option("--html", metavar="FILE", help="Also write a page.")
@parameters.with_quiet
def compare_corpora_command(
    first: str, second: str, min_documents: int, top_n: int, form: str, html: str | None, quiet: bool
) -> None:
    """Compare the phrases of two finished outputs of `mudy corpus`.

    Prints the phrases that A has more often than B and the other way round, the most surprising first (log-likelihood),
    with the difference of their shares of documents, its 95 % interval (Newcombe) and the false discovery rate q. CSV
    and JSON have all phrases.
    """
    from mudy.corpus.comparison import compare_corpora, comparison_page

    if html is not None and any(same_file(Path(html), Path(name)) for name in (first, second)):
        raise SettingError(f"{html} is one of the corpora. Name another file.")
    comparison = compare_corpora(first, second, min_documents)
    with Screen(quiet) as screen:
        for change in comparison.changes:
            screen.warning(f"the runs differ: {change}")
    if html is not None:
        with atomic_output(real_path(html)) as unfinished:
            unfinished.write_text(comparison_page(comparison), encoding="utf-8")
    click.echo(_comparison(comparison, form, top_n), nl=False)


def _comparison(comparison: Comparison, form: str, top_n: int) -> str:
    from mudy.corpus.comparison import Contrast

    rows = [entry._asdict() for entry in comparison.contrasts]
    corpora = list(zip("AB", comparison.names, comparison.sizes, comparison.sides(top_n), strict=True))
    if form == "json":
        named = [{"name": name, "documents": size} for _, name, size, _ in corpora]
        return dump_json({"corpora": named, "phrases": rows}, indent=2) + "\n"
    if form == "csv":
        lines = StringIO()
        table = csv.DictWriter(lines, Contrast._fields, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return lines.getvalue()
    head = ["Phrase", "A", "B", "Difference", "q"]
    return "\n".join(
        f"More in {label}: {printable(name)}, {size:,} documents\n"
        + text_table(head, map(_contrast_cells, side), {*head[1:]})
        for label, name, size, side in corpora
    )


def _contrast_cells(entry: Contrast) -> list[str]:
    interval = f"{100 * entry.difference:+.1f} % [{100 * entry.low:+.1f}, {100 * entry.high:+.1f}]"
    return [entry.phrase, f"{entry.a_documents:,}", f"{entry.b_documents:,}", interval, f"{entry.q_value:.2g}"]
