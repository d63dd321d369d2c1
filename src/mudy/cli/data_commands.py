"""The commands `data` and `fit`, and what they share with `evaluate`: data sets, and tables of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mudy import engines, models
from mudy._support.storage import dump_json, refuse_inputs
from mudy.cli import parameters
from mudy.cli.main import Output, Screen, cli, text_table
from mudy.engines import Compute
from mudy.errors import InputError
from mudy.evaluation.datasets import DATASET_FORMATS, Dataset, Description, describe, load
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import DEFAULT_ENCODER, Setup
from mudy.reading.tagging import Tagger

if TYPE_CHECKING:
    from mudy.engines.interfaces import SentenceEncoder
    from mudy.evaluation.fit import FittedWeights
    from mudy.evaluation.measures import Calibration

_PROBLEMS_SHOWN = 5  # per data set
_FORM = parameters.KnownName("form", lambda: DATASET_FORMATS)

on_data = parameters.together(
    click.option("--form", "data_format", type=_FORM, help="The format of the data.  [default: detected]"),
    click.option("--limit", **parameters.COUNT, help="Only the first documents of each data set.  [default: all]"),
)
reading_texts = parameters.together(
    parameters.declared_option(
        Setup,
        "protocol",
        type=click.Choice(["promptrank", "none"]),
        default="promptrank",
        show_default=True,
        callback=lambda _ctx, _param, value: None if value == "none" else value,
        help="Read texts as in published experiments (512 words), or whole and unchanged.",
    ),
    parameters.with_options(Setup, "language"),
    parameters.declared_option(Setup, "max_words", help="Read only the first words of each text."),
)
reporting = parameters.together(parameters.with_format, parameters.with_quiet)


def loaded(screen: Screen, paths: Sequence[str], given: dict[str, Any]) -> list[Dataset]:
    """The data sets that can be read, by options taken out of those given; what cannot be used is reported."""
    form, limit = given.pop("data_format"), given.pop("limit")
    sets: list[Dataset] = []
    for path in paths:
        try:
            sets.append(load(path, form, limit=limit))
        except InputError as error:
            screen.error(str(error))
            continue
        problems = sets[-1].problems
        for problem in problems[:_PROBLEMS_SHOWN]:
            screen.warning(str(problem))
        if (more := len(problems) - _PROBLEMS_SHOWN) > 0:
            screen.warning(f"{sets[-1].name}: {more:,} more rows could not be used")
    return sets


def all_loaded(screen: Screen, paths: Sequence[str], given: dict[str, Any]) -> list[Dataset]:
    sets = loaded(screen, paths, given)
    if len(sets) < len(paths):
        screen.error("Nothing was computed: every data set must exist and have a known format.")
        click.get_current_context().exit(1)
    return sets


def counting(screen: Screen, doing: str = "") -> Callable[[str, int, int], None]:
    return lambda step, done, total: screen.show(f"{doing}{step}", done, total, amount=f"{done:,} of {total:,}")


def sentence_encoder(screen: Screen, threads: int | None, name: str) -> SentenceEncoder:
    return engines.load_encoder(models.locate(name, report=screen.report), Compute(threads=threads), name)


def brier_line(calibration: Calibration, subject: str) -> str:
    score, constant = calibration.brier, calibration.brier_of_mean
    return f"Brier score of {subject}: {score:.4f} ({constant:.4f} if all phrases had the same probability)\n"


def reliability_table(calibration: Calibration) -> str:
    head = ["Probability", "Mean", "Right", "Phrases"]
    bins = calibration.reliability.items()
    rows = [[name, f"{mean:.3f}", f"{right:.3f}", f"{count:,}"] for name, (mean, right, count) in bins]
    return text_table(head, rows, {*head[1:]})


@cli.group("data")
def data_command() -> None:
    """Inspect data sets with gold keyphrases."""


@data_command.command("describe")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@on_data
@click.option("--no-drift", is_flag=True, help="Leave out the topic drift, which needs a sentence encoder.")
@parameters.with_options(Compute, "threads")
@reporting
def describe_command(
    paths: tuple[str, ...], no_drift: bool, threads: int | None, form: str, quiet: bool, **given: Any
) -> None:
    """Print the figures of the paper's Table 1 for data sets.

    PATHS are files or folders: JSON lines with id, title, text and keyphrases, or SemEval2017, NUS, Krapivin,
    SemEval2010, KP20k, KPTimes, StackExchange or WikiHow as they were published. Words, sentences and keyphrases are
    means per document; absent and noun phrases are shares of the gold. The exit code is 1 if a path cannot be read.
    """
    with Screen(quiet) as screen:
        sets = loaded(screen, paths, given)
        rows: list[Description] = []
        if sets:
            encoder = None if no_drift else sentence_encoder(screen, threads, DEFAULT_ENCODER)
            tagger, show = Tagger("en"), counting(screen, "Reading ")
            rows = [describe(data, tagger, encoder, show) for data in sets]
    if rows and form == "json":
        click.echo(dump_json([asdict(row) for row in rows], indent=2))
    elif rows:
        sizes = ["Documents", "Words", "Sentences", "Keyphrases", "Absent %", "Noun phrases %", "Topic drift"]
        click.echo(text_table(["Data set", *sizes], map(_description_cells, rows), set(sizes)), nl=False)
    if len(sets) < len(paths):
        click.get_current_context().exit(1)


def _description_cells(row: Description) -> list[str]:
    sizes = [f"{row.documents:,}", f"{row.words:,.0f}", f"{row.sentences:,.0f}", f"{row.keyphrases:.1f}"]
    drift = "–" if row.drift is None else f"{row.drift:.2f}"
    return [row.name, *sizes, f"{row.absent:.1f}", f"{row.noun_phrases:.1f}", drift]


@cli.command("fit", context_settings={"default_map": {"protocol": "none"}})
@click.argument("paths", nargs=-1, required=True, metavar="DATA...")
@click.option("-o", "--output", required=True, metavar="FILE", help="Write the weights here, as JSON.")
@click.option("--cache", metavar="FOLDER", help="Keep the evidence here; fitting again then takes seconds.")
@on_data
@parameters.with_style
@parameters.with_options(Setup, "model", "encoder")
@reading_texts
@parameters.on_machine
@reporting
def fit_command(paths: tuple[str, ...], output: str, cache: str | None, form: str, quiet: bool, **options: Any) -> None:
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

    if output == "-":
        raise click.UsageError("--output must be a file: standard output holds the figures.")
    target = Output(output)
    target.check(paths)
    refuse_inputs(output, paths)
    with Screen(quiet) as screen:
        sets = all_loaded(screen, paths, options)
        extractor = Extractor("mudyplus", report=screen.report, **options)
        screen.show("Loading mudyplus")
        fitted = fit_weights(extractor, sets, cache=cache, progress=counting(screen))
    with target:
        target.write(dump_json(fitted.adaptation.weights.to_dict(), indent=1) + "\n")
    click.echo(dump_json(fitted.to_dict(), indent=2) if form == "json" else _fit_tables(fitted), nl=form == "json")


def _fit_tables(fitted: FittedWeights) -> str:
    head = ["Data set", "Documents", "Sum", "Before", "Fitted", "Left out"]
    rows = [
        [row.dataset, f"{row.documents:,}", row.sum]
        + ["/".join(f"{f1:.1f}" for f1 in figures) for figures in (row.before, row.fitted, row.left_out)]
        for row in fitted.figures
    ]
    texts, last = sum(fitted.weights.fitted_on.values()), fitted.calibrations[-1]
    return "".join(
        [
            f"mudyplus, fitted on {texts:,} texts; micro F1@5/10/15 in per cent; left out: {fitted.left_out}\n",
            text_table(head, rows, {*head} - {"Data set", "Sum"}),
            f"{fitted.adaptation}\n\n",
            *(brier_line(calibration, f"{calibration.name}, texts left out") for calibration in fitted.calibrations),
            f"\nProbabilities of {last.name}, texts left out\n",
            reliability_table(last),
        ]
    )
