"""The commands that measure: one run over data sets, and the difference between two runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mudy._support.storage import dump_json, refuse_inputs
from mudy.cli import formats
from mudy.cli.calibration_tables import brier_line, drawn_reliability
from mudy.cli.console import Screen
from mudy.cli.data_commands import FORM, loaded, sentence_encoder
from mudy.cli.parameters import (
    ENDPOINT,
    LANGUAGE,
    METHOD,
    MODEL_OPTION,
    PRESET,
    SET,
    Measured,
    measured,
    on_machine,
    settings,
)
from mudy.errors import InputError
from mudy.extraction.options import DEFAULT_ENCODER, DEFAULT_METHOD, DEFAULT_MODEL

if TYPE_CHECKING:
    from mudy.evaluation.comparison import Comparison
    from mudy.evaluation.datasets import Dataset
    from mudy.evaluation.measures import Interval, Measure, NamedMeasure
    from mudy.evaluation.runs import GoldKind, Run
    from mudy.extraction.extractor import Extractor

_SIGNIFICANT = 0.05  # p of a significant difference is below


@click.command("evaluate")
@click.argument("paths", nargs=-1, required=True, metavar="DATA...")
@click.option("-m", "--method", **METHOD, default=DEFAULT_METHOD, show_default=True, help="See `mudy methods`.")
@click.option("--model", **MODEL_OPTION, default=DEFAULT_MODEL, show_default=True, help="As for `mudy extract`.")
@click.option(
    "--encoder",
    **MODEL_OPTION,
    default=DEFAULT_ENCODER,
    show_default=True,
    help="For methods that embed, and for SemF1.",
)
@click.option("--endpoint", **ENDPOINT, help="As for `mudy extract`.")
@click.option("--preset", **PRESET)
@click.option("--set", "pairs", **SET)
@click.option("--limit", type=click.IntRange(1), help="Only the first documents of each data set.  [default: all]")
@click.option("-o", "--output", metavar="FILE", help="Keep the run here, as JSON. Resumable after an interruption.")
@click.option("--restart", is_flag=True, help="Throw away what the output holds.")
@click.option("--places", is_flag=True, help="Keep every occurrence with the parts of its score.")
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
@measured
@click.option("-f", "--format", "form_out", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings; errors are still shown.")
@click.pass_context
def evaluate_command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    output: str | None,
    form: str | None,
    limit: int | None,
    named: list[NamedMeasure],
    averaging: str,
    gold: GoldKind,
    depths: tuple[int, ...],
    form_out: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Measure a method on data sets with gold keyphrases.

    DATA are files or folders, as for `mudy data describe`. Prints F1, or other --measures, with a 95 % interval
    (bootstrap over documents), the ceiling (the share of gold phrases that are among the candidates) and the
    CPU-seconds per document; for mudyplus, whose scores are probabilities, also the Brier score and how often
    phrases of each range of probability are right.

    With --output every document is saved as soon as it is done. Resumable: the same command continues after an
    interruption, and adds documents if --limit has grown; an output of other settings or another model is refused.

    All data sets are read before the first document is computed; if one cannot be, nothing is. The exit code is then 1,
    and also if a document failed.
    """
    if output is not None:
        refuse_inputs(output, paths)
    with Screen(quiet) as screen:
        sets = loaded(screen, paths, form, limit)
        if len(sets) < len(paths):
            screen.error("Nothing was computed: all data sets must be there, and of a known form.")
            ctx.exit(1)
        extractor, run = _evaluated(screen, sets, output, **options)
        _warn_of_documents(screen, run)
        measured_run = _measured(screen, run, extractor, Measured(named, averaging, gold, depths))
    if form_out == "json":
        named_here = ctx.get_parameter_source("named") is not ParameterSource.DEFAULT
        measures = {"measures": measured_run.to_dict()} if named_here else {}
        click.echo(dump_json({"title": run.title, **measures, **run.to_dict()}, indent=2))
    else:
        click.echo(_table(run, measured_run), nl=False)
    if any(document.error for document in run.documents):
        ctx.exit(1)


def _evaluated(
    screen: Screen,
    sets: Sequence[Dataset],
    output: str | None,
    *,
    method: str,
    pairs: tuple[str, ...],
    protocol: str,
    restart: bool,
    places: bool,
    **machine_and_model: Any,
) -> tuple[Extractor, Run]:
    from mudy.evaluation.experiment import evaluate
    from mudy.extraction.extractor import Extractor

    extractor = Extractor(
        method,
        protocol="promptrank" if protocol == "promptrank" else None,
        report=screen.report,
        **machine_and_model,
        **settings(method, pairs),
    )
    screen.show(f"Loading {method}")
    try:
        run = evaluate(extractor, sets, output, places=places, restart=restart, progress=_progress(screen))
    except KeyboardInterrupt:
        if output:
            screen.error(f"Stopped. Finished documents are kept beside {output}; the same command continues.")
        raise
    return extractor, run


def _progress(screen: Screen) -> Callable[[str, int, int], None]:
    def show(name: str, done: int, total: int) -> None:
        screen.show(f"Evaluating {name}", done, total, amount=f"{done:,} of {total:,}")

    return show


def _warn_of_documents(screen: Screen, run: Run) -> None:
    for document in run.documents:
        if document.error:
            screen.error(f"{document.data}: document {document.id!r} failed: {document.error}")
    for name in run.names:
        if empty := sum(not document.occurrences and not document.error for document in run.of(name)):
            screen.warning(f"{name}: {empty:,} documents have no candidates; they count as found nothing")
        if dropped := sum(document.dropped for document in run.of(name)):
            screen.warning(f"{name}: {dropped:,} phrases were written that do not stand in the text; they are left out")


@dataclass(frozen=True)
class _MeasuredRun:
    """The measures of each data set of a run; None where no document has such gold."""

    measured: Measured
    measures: Sequence[Measure]
    intervals: Mapping[str, Sequence[Interval] | None]
    documents: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {
            name: {
                "averaging": self.measured.averaging_name,
                "gold": self.measured.gold,
                "documents": self.documents[name],
                **{str(m): asdict(i) for m, i in zip(self.measures, intervals or (), strict=intervals is not None)},
            }
            for name, intervals in self.intervals.items()
        }


def _measured(screen: Screen, run: Run, extractor: Extractor, measured: Measured) -> _MeasuredRun:
    screen.show("Measuring")
    measures = measured.measures(lambda phrases: extractor.loader.encoder().embed(phrases))
    outcomes = {name: run.outcomes(name, measured.gold) for name in run.names}
    intervals = {
        name: [measure.interval(given, measured.averaging) for measure in measures] if given else None
        for name, given in outcomes.items()
    }
    return _MeasuredRun(measured, measures, intervals, {name: len(given) for name, given in outcomes.items()})


def _table(run: Run, found: _MeasuredRun) -> str:
    from mudy.evaluation.runs import ceiling

    head = ["Data set", "Documents", *map(str, found.measures), "Ceiling %", "CPU-s"]
    rows = []
    for name, intervals in found.intervals.items():
        documents = run.of(name)
        values = map(str, intervals) if intervals else ["–"] * len(found.measures)
        cost = sum(document.cpu_seconds for document in documents) / len(documents)
        rows.append([name, f"{found.documents[name]:,}", *values, f"{ceiling(documents):.1f}", f"{cost:.2f}"])
    note = f"{run.title}; {found.measured.title}\n"
    return note + formats.text_table(head, rows, set(head[1:]), sys.stdout.isatty()) + _calibrations(run)


def _calibrations(run: Run) -> str:
    """Of each data set, where scores are probabilities."""
    return "".join(
        f"\n{brier_line(own, own.name)}{drawn_reliability(own, sys.stdout.isatty())}" for own in run.calibrations
    )


# -- compare ----------------------------------------------------------------------------------------------------------


@click.command("compare")
@click.argument("first", metavar="A.json")
@click.argument("second", metavar="B.json")
@click.option("--encoder", **MODEL_OPTION, default=DEFAULT_ENCODER, show_default=True, help="For SemP, SemR and SemF1.")
@measured
@click.option("-f", "--format", "form_out", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No warnings; errors are still shown.")
def compare_command(
    first: str,
    second: str,
    encoder: str,
    named: list[NamedMeasure],
    averaging: str,
    gold: GoldKind,
    depths: tuple[int, ...],
    form_out: str,
    quiet: bool,
) -> None:
    """Say whether two runs of `mudy evaluate` differ.

    Over the documents that both have: the measure of each run (F1 unless --measures says otherwise), the difference
    B - A with its 95 % interval by paired bootstrap, and two-sided p of a paired t-test on the documents' values and of
    the bootstrap. A difference is called significant where
    both are below 0.05. Each row is tested alone: of twenty rows without any difference, one may look like one.
    """
    from mudy.evaluation.runs import Run

    a, b = Run.load(first), Run.load(second)
    common = [name for name in a.names if name in b.names]
    if not common:
        raise InputError(f"{first} has {', '.join(a.names)} and {second} {', '.join(b.names)}: no data set in common.")
    with Screen(quiet) as screen:
        for name in sorted({*a.names, *b.names} - {*common}):
            screen.warning(f"{name} is in one of the runs only, and left out")
        measured = Measured(named, averaging, gold, depths)
        measures = measured.measures(_embedder(screen, encoder))
        rows = [(name, row) for name in common for row in _compared(a, b, name, measures, measured)]
        for name, comparison in rows[:: len(measures)]:
            if comparison.unmatched:
                screen.warning(f"{name}: {comparison.unmatched:,} documents are in one of the runs only, and left out")
    if form_out == "json":
        click.echo(dump_json([_as_dict(name, row) for name, row in rows], indent=2))
        return
    head = ["Data set", "Documents", "Measure", "A", "B", "B - A", "p (t-test)", "p (bootstrap)", "Verdict"]
    cells = [_cells(name, row) for name, row in rows]
    click.echo(f"A: {a.title}\nB: {b.title}")
    click.echo(formats.text_table(head, cells, {*head[1:2], *head[3:8]}, sys.stdout.isatty()), nl=False)


def _embedder(screen: Screen, encoder: str) -> Callable[[Sequence[str]], Any]:
    """Embed phrases; the encoder is loaded on first use."""
    loaded = cache(lambda: sentence_encoder(screen, None, encoder))
    return lambda phrases: loaded().embed(phrases)


def _compared(a: Run, b: Run, name: str, measures: Sequence[Measure], measured: Measured) -> list[Comparison]:
    from mudy.evaluation.comparison import compare

    one, other = a.outcomes(name, measured.gold), b.outcomes(name, measured.gold)
    if not one or not other:
        raise InputError(f"{name}: no document has gold that is {measured.gold}.")
    return [compare(measure, one, other, measured.averaging) for measure in measures]


def verdict(comparison: Comparison) -> str:
    """What the tests say, in words."""
    if max(comparison.p_t_test, comparison.p_bootstrap) >= _SIGNIFICANT:
        return "no significant difference"
    return "B is better" if comparison.difference.value > 0 else "A is better"


def _cells(name: str, comparison: Comparison) -> list[str]:
    return [
        name,
        f"{comparison.documents:,}",
        str(comparison.measure),
        f"{comparison.first:.2f}",
        f"{comparison.second:.2f}",
        signed(comparison.difference),
        f"{comparison.p_t_test:.4f}",
        f"{comparison.p_bootstrap:.4f}",
        verdict(comparison),
    ]


def signed(interval: Interval) -> str:
    return f"{interval.value:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"


def _as_dict(name: str, comparison: Comparison) -> dict[str, Any]:
    return {
        "data": name,
        "documents": comparison.documents,
        "unmatched": comparison.unmatched,
        "measure": str(comparison.measure),
        "averaging": comparison.averaging.name,
        "a": comparison.first,
        "b": comparison.second,
        "difference": comparison.difference.value,
        "low": comparison.difference.low,
        "high": comparison.difference.high,
        "p_t_test": comparison.p_t_test,
        "p_bootstrap": comparison.p_bootstrap,
        "verdict": verdict(comparison),
    }
