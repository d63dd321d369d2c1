"""The command that adapts the weights of MUDY+ to texts with keyphrases, and writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mudy._support.storage import dump_json, refuse_inputs
from mudy.cli import evaluation_options as shared
from mudy.cli import parameters
from mudy.cli.console import Output, Screen, text_table
from mudy.extraction.options import Setup

if TYPE_CHECKING:
    from mudy.evaluation.fit import FittedWeights


@click.command("fit", context_settings={"default_map": {"protocol": "none"}})
@click.argument("paths", nargs=-1, required=True, metavar="DATA...")
@click.option("-o", "--output", required=True, metavar="FILE", help="Write the weights here, as JSON.")
@click.option("--cache", metavar="FOLDER", help="Keep the evidence here; fitting again then takes seconds.")
@shared.on_data
@parameters.with_style
@parameters.with_options(Setup, "model", "encoder")
@shared.reading_texts
@parameters.on_machine
@shared.reporting
def fit_command(
    paths: tuple[str, ...],
    output: str,
    cache: str | None,
    data_format: str | None,
    limit: int | None,
    form: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Adapt the weights of a style to your texts with keyphrases, and write them to a file.

    DATA are files or folders, at least three texts: JSON lines, CSV or TSV with the columns text and keyphrases,
    BibTeX, folders of Markdown notes with tags, or data sets as for `mudy evaluate`. The weights of the style are the
    starting point; the more texts there are, the further the new ones may move.

    Prints F1@5/10/15 of the style, of the new weights, and of weights fitted without the texts that they are measured
    on. Only the last says what to expect on other texts; if it is lower than that of the style, the file holds the
    weights of the style. With --speed quick the weights are for that speed alone.

    Use the weights with `--set weights=FILE`, or Extractor(weights="FILE").
    """
    from mudy.evaluation.fit import fit_weights
    from mudy.extraction.extractor import Extractor

    if output == "-":
        raise click.UsageError("--output must be a file: standard output holds the figures.")
    target = Output(output)
    target.check(paths)
    refuse_inputs(output, paths)
    with Screen(quiet) as screen:
        sets = shared.all_loaded(screen, paths, data_format, limit)
        extractor = Extractor("mudyplus", report=screen.report, **options)
        screen.show("Loading mudyplus")
        fitted = fit_weights(extractor, sets, cache=cache, progress=shared.counting(screen))
    with target:
        target.write(dump_json(fitted.adaptation.weights.to_dict(), indent=1) + "\n")
    click.echo(dump_json(fitted.to_dict(), indent=2) if form == "json" else _tables(fitted), nl=form == "json")


def _tables(fitted: FittedWeights) -> str:
    head = ["Data set", "Documents", "Sum", "Before", "Fitted", "Left out"]
    rows = [
        [row.dataset, f"{row.documents:,}", row.sum]
        + ["/".join(f"{f1:.1f}" for f1 in figures) for figures in (row.before, row.fitted, row.left_out)]
        for row in fitted.figures
    ]
    texts, last = sum(fitted.weights.fitted_on.values()), fitted.calibrations[-1]
    parts = [
        f"mudyplus, fitted on {texts:,} texts; micro F1@5/10/15 in per cent; left out: {fitted.left_out}\n",
        text_table(head, rows, {*head} - {"Data set", "Sum"}),
        f"{fitted.adaptation}\n\n",
        *(shared.brier_line(calibration, f"{calibration.name}, texts left out") for calibration in fitted.calibrations),
        f"\nProbabilities of {last.name}, texts left out\n",
        shared.reliability_table(last),
    ]
    return "".join(parts)
