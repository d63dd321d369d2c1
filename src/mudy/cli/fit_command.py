"""The command that fits weights of MUDY+ on data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from mudy._support.storage import dump_json, refuse_inputs
from mudy.cli import formats
from mudy.cli.console import Screen
from mudy.cli.evaluation_options import (
    all_loaded,
    brier_line,
    counting,
    on_data,
    reading_texts,
    reliability_table,
    reporting,
)
from mudy.cli.parameters import on_machine, with_options
from mudy.extraction.options import Setup

if TYPE_CHECKING:
    from mudy.engines import Speed
    from mudy.evaluation.fit import FittedWeights


@click.command("fit")
@click.argument("paths", nargs=-1, required=True, metavar="DATA...")
@click.option("-o", "--output", required=True, metavar="FILE", help="Write the weights here, as JSON.")
@click.option("--quick", "without_model", is_flag=True, help="Fit without a language model, only for --speed quick.")
@click.option(
    "--fit-all",
    is_flag=True,
    help="Also fit the weights that are set by hand: those of everyday words and of occurrences in longer phrases.",
)
@click.option("--cache", metavar="FOLDER", help="Keep the evidence here; fitting again then takes seconds.")
@on_data
@with_options(Setup, "model", "encoder")
@reading_texts
@on_machine
@reporting
def fit_command(
    paths: tuple[str, ...],
    output: str,
    without_model: bool,
    fit_all: bool,
    cache: str | None,
    data_format: str | None,
    limit: int | None,
    speed: Speed | None,
    form: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit the weights of MUDY+ on data sets with gold keyphrases.

    DATA are files or folders, as for `mudy evaluate`, and read in the same way. Prints F1@5/10/15 of the shipped
    weights, of those fitted, and of weights fitted on the other data sets alone (for a single one: on four fifths of
    its texts). Only the last says what to expect on other texts. Also prints the Brier score, and how often phrases
    of a given probability are right.

    Use the weights with `--set weights=FILE`, or Extractor(weights="FILE").
    """
    from mudy.evaluation.fit import ENOUGH_TEXTS, fit_weights
    from mudy.extraction.extractor import Extractor

    target = _checked_output(output, paths)
    speed = _speed(without_model, speed)
    with Screen(quiet) as screen:
        sets = all_loaded(screen, paths, data_format, limit)
        extractor = Extractor("mudyplus", speed=speed, report=screen.report, **options)
        screen.show("Loading mudyplus")
        fitted = fit_weights(extractor, sets, fit_all=fit_all, cache=cache, progress=counting(screen))
        if fitted.telling < ENOUGH_TEXTS:
            screen.warning(
                f"only {fitted.telling:,} texts have a gold phrase among their candidates; "
                f"with fewer than {ENOUGH_TEXTS} the weights depend on the choice of texts"
            )
    with target:
        target.write(dump_json(fitted.weights.to_dict(), indent=1) + "\n")
    click.echo(dump_json(fitted.to_dict(), indent=2) if form == "json" else _tables(fitted), nl=form == "json")


def _checked_output(output: str, paths: Sequence[str]) -> formats.Output:
    """The file of weights, which must be writable and none of the data."""
    if output == "-":
        raise click.UsageError("--output must be a file: standard output holds the figures.")
    target = formats.Output(output)
    target.check(paths)
    refuse_inputs(output, paths)
    return target


def _speed(quick: bool, speed: Speed | None) -> Speed | None:
    if quick and speed not in (None, "quick"):
        raise click.UsageError(f"--quick fits without a language model, but --speed {speed} needs one.")
    return "quick" if quick else speed


def _tables(fitted: FittedWeights) -> str:
    head = ["Data set", "Documents", "Sum", "Shipped", "Fitted", "Left out"]
    rows = [
        [
            figure.dataset,
            f"{figure.documents:,}",
            figure.sum,
            *map(_f1, (figure.before, figure.fitted, figure.left_out)),
        ]
        for figure in fitted.figures
    ]
    texts = sum(fitted.weights.fitted_on.values())
    last = fitted.calibrations[-1]
    parts = [
        f"mudyplus, fitted on {texts:,} texts; micro F1@5/10/15 in per cent; left out: {fitted.left_out}\n",
        formats.text_table(head, rows, {*head} - {"Data set", "Sum"}),
        "\n",
        *(brier_line(calibration, f"{calibration.name}, texts left out") for calibration in fitted.calibrations),
        f"\nProbabilities of {last.name}, texts left out\n",
        reliability_table(last),
    ]
    return "".join(parts)


def _f1(values: Sequence[float]) -> str:
    return "/".join(f"{value:.1f}" for value in values)
