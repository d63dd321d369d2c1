"""The command that fits weights of MUDY+ on data sets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from mudy._support.storage import dump_json, refuse_inputs
from mudy.cli import formats
from mudy.cli.calibration_tables import brier_line, drawn_reliability
from mudy.cli.console import Screen
from mudy.cli.data_commands import FORM, loaded
from mudy.cli.parameters import LANGUAGE, MODEL_OPTION, on_machine
from mudy.extraction.options import DEFAULT_ENCODER, DEFAULT_MODEL

if TYPE_CHECKING:
    from mudy.evaluation.datasets import Dataset
    from mudy.evaluation.fit import FittedWeights
    from mudy.evaluation.probabilities import Calibration


@click.command("fit")
@click.argument("paths", nargs=-1, required=True, metavar="DATA...")
@click.option("-o", "--output", required=True, metavar="FILE", help="Write the weights here, as JSON.")
@click.option("--quick", is_flag=True, help="Without a language model; the weights are then for --speed quick alone.")
@click.option(
    "--fit-all",
    is_flag=True,
    help="Fit the weights too that are set by hand: of everyday words and of places in longer phrases.",
)
@click.option("--cache", metavar="FOLDER", help="Keep the evidence here: fitting again then takes seconds.")
@click.option("--limit", type=click.IntRange(1), help="Only the first documents of each data set.  [default: all]")
@click.option("--model", **MODEL_OPTION, default=DEFAULT_MODEL, show_default=True, help="As for `mudy extract`.")
@click.option("--encoder", **MODEL_OPTION, default=DEFAULT_ENCODER, show_default=True, help="As for `mudy extract`.")
@click.option(
    "--protocol",
    type=click.Choice(["promptrank", "none"]),
    default="promptrank",
    show_default=True,
    help="Read texts as published experiments did (512 words), or whole and as they stand.",
)
@click.option("--max-words", type=click.IntRange(1), help="Read only the first words of each text.")
@click.option("--form", **FORM, help="The format of the data.  [default: detected from the contents]")
@click.option("--language", **LANGUAGE)
@on_machine
@click.option("-f", "--format", "form_out", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings; errors are still shown.")
@click.pass_context
def fit_command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    output: str,
    form: str | None,
    limit: int | None,
    form_out: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Fit the weights of MUDY+ on data sets with gold keyphrases.

    DATA are files or folders, as for `mudy evaluate`, and read in the same way. Prints F1@5/10/15 of the shipped
    weights, of those fitted, and of weights fitted on the other data sets alone (for a single one: on four fifths of
    its texts). Only the last says what to expect of other texts. Then the Brier score, and how often phrases of a given
    probability are right.

    Use the weights with `--set weights=FILE`, or Extractor(weights="FILE").
    """
    target = _checked_output(output, paths)
    speed = _speed(options.pop("quick"), options.pop("speed"))
    with Screen(quiet) as screen:
        sets = loaded(screen, paths, form, limit)
        if len(sets) < len(paths):
            screen.error("Nothing was fitted: all data sets must be there, and of a known form.")
            ctx.exit(1)
        fitted = _fitted(screen, sets, speed=speed, **options)
        _warn(screen, fitted)
    target.write(dump_json(fitted.weights.to_dict(), indent=1) + "\n")
    target.close()
    click.echo(dump_json(fitted.to_dict(), indent=2) if form_out == "json" else _tables(fitted), nl=form_out == "json")


def _checked_output(output: str, paths: Sequence[str]) -> formats.Output:
    """The file of weights: it can be written, and is none of the data."""
    if output == "-":
        raise click.UsageError("--output must be a file: standard output holds the figures.")
    target = formats.Output(output)
    formats.check_output(target, paths)
    refuse_inputs(output, paths)
    return target


def _speed(quick: bool, speed: str | None) -> str | None:
    if quick and speed not in (None, "quick"):
        raise click.UsageError(f"--quick fits without a language model, but --speed {speed} asks one.")
    return "quick" if quick else speed


def _fitted(
    screen: Screen, sets: Sequence[Dataset], *, protocol: str, fit_all: bool, cache: str | None, **options: Any
) -> FittedWeights:
    from mudy.evaluation.fit import fit_weights
    from mudy.extraction.extractor import Extractor

    extractor = Extractor(
        "mudyplus", protocol="promptrank" if protocol == "promptrank" else None, report=screen.report, **options
    )
    screen.show("Loading mudyplus")
    return fit_weights(extractor, sets, fit_all=fit_all, cache=cache, progress=_progress(screen))


def _progress(screen: Screen) -> Callable[[str, int, int], None]:
    def show(step: str, done: int, total: int) -> None:
        screen.show(step, done, total, amount=f"{done:,} of {total:,}")

    return show


def _warn(screen: Screen, fitted: FittedWeights) -> None:
    from mudy.evaluation.fit import ENOUGH_TEXTS

    if fitted.telling < ENOUGH_TEXTS:
        screen.warning(
            f"only {fitted.telling:,} texts have a gold phrase among their candidates; "
            f"with fewer than {ENOUGH_TEXTS} the weights depend on which texts they are"
        )


def _tables(fitted: FittedWeights) -> str:
    terminal = sys.stdout.isatty()
    head = ["Data set", "Documents", "Sum", "Shipped", "Fitted", "Left out"]
    rows = [
        [own.dataset, f"{own.documents:,}", own.sum, *map(_f1, (own.before, own.fitted, own.left_out))]
        for own in fitted.figures
    ]
    texts = sum(fitted.weights.fitted_on.values())
    last = fitted.calibrations[-1]
    parts = [
        f"mudyplus, fitted on {texts:,} texts; micro F1@5/10/15 in per cent; left out: {fitted.left_out}\n",
        formats.text_table(head, rows, {*head} - {"Data set", "Sum"}, terminal),
        "\n",
        *map(_brier, fitted.calibrations),
        f"\nProbabilities of {last.name}, texts left out\n",
        drawn_reliability(last, terminal),
    ]
    return "".join(parts)


def _f1(values: Sequence[float]) -> str:
    return "/".join(f"{value:.1f}" for value in values)


def _brier(own: Calibration) -> str:
    return brier_line(own, f"{own.name}, texts left out")
