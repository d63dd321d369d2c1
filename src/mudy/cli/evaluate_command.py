"""The commands that measure: one run over data sets, and the difference between two runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from mudy.cli import formats
from mudy.cli.console import Screen
from mudy.cli.data_commands import FORM, loaded
from mudy.cli.parameters import ENDPOINT, LANGUAGE, METHOD, MODEL, PRESET, SET, Command, on_machine, settings
from mudy.errors import InputError
from mudy.extractor import DEFAULT_ENCODER, DEFAULT_METHOD, DEFAULT_MODEL
from mudy.storage import dump_json, refuse_inputs

if TYPE_CHECKING:
    from mudy.evaluation.measures import Averaging, Comparison, Interval
    from mudy.evaluation.runs import GoldKind, Run

_AVERAGINGS = ("micro", "macro")
_GOLD_KINDS = ("all", "present", "absent")
SURE = 0.05  # below, a difference is called significant


def measured(command: Command) -> Command:
    """The options that say what is measured of a run."""
    depth: dict[str, Any] = {"type": click.IntRange(1), "multiple": True}
    options = (
        click.option("--averaging", type=click.Choice(_AVERAGINGS), default="micro", show_default=True),
        click.option(
            "--gold", type=click.Choice(_GOLD_KINDS), default="all", show_default=True, help="Which gold counts."
        ),
        click.option("-k", "depths", **depth, help="F1 of the first K; may be repeated.  [default: 5, 10 and 15]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command("evaluate")
@click.argument("paths", nargs=-1, required=True, metavar="DATA...")
@click.option("-m", "--method", **METHOD, default=DEFAULT_METHOD, show_default=True, help="See `mudy methods`.")
@click.option("--model", **MODEL, default=DEFAULT_MODEL, show_default=True, help="As for `mudy extract`.")
@click.option("--encoder", **MODEL, default=DEFAULT_ENCODER, show_default=True, help="For methods that embed.")
@click.option("--endpoint", **ENDPOINT, help="As for `mudy extract`.")
@click.option("--preset", **PRESET)
@click.option("--set", "pairs", **SET)
@click.option("--limit", type=click.IntRange(1), help="Only the first documents of each data set.  [default: all]")
@click.option(
    "-o", "--output", metavar="FILE", help="Keep the run here, as JSON; a run that was killed goes on from it."
)
@click.option("--restart", is_flag=True, help="Throw away what the output holds.")
@click.option("--places", is_flag=True, help="Keep every occurrence with what its score was made of.")
@click.option(
    "--protocol",
    type=click.Choice(["promptrank", "none"]),
    default="promptrank",
    show_default=True,
    help="Read texts as published experiments did (512 words), or whole and as they stand.",
)
@click.option("--max-words", type=click.IntRange(1), help="Read only the first words of each text.")
@click.option("--form", **FORM, help="How the data lie on the disk.  [default: told from their contents]")
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
    method: str,
    pairs: tuple[str, ...],
    limit: int | None,
    output: str | None,
    restart: bool,
    places: bool,
    protocol: str,
    form: str | None,
    averaging: str,
    gold: GoldKind,
    depths: tuple[int, ...],
    form_out: str,
    quiet: bool,
    **machine_and_model: Any,
) -> None:
    """Measure a method on data sets with gold keyphrases.

    DATA are files or folders, as for `mudy data describe`. Prints F1 with its 95 % interval (bootstrap over documents),
    the ceiling (the share of gold phrases that are among the candidates) and the CPU-seconds a document.

    With --output every document is saved as soon as it is done. The same command again goes on where a killed one
    stopped, and adds documents if --limit has grown; an output of other settings or of another model is refused.

    All data sets are read before the first document is computed; if one cannot be, nothing is. The exit code is then 1,
    and also if a document failed.
    """
    from mudy.evaluation.experiment import evaluate
    from mudy.evaluation.measures import DEPTHS
    from mudy.extractor import Extractor

    if output is not None:
        refuse_inputs(output, paths)
    with Screen(quiet) as screen:
        sets = loaded(screen, paths, form, limit)
        if len(sets) < len(paths):
            screen.error("Nothing was computed: all data sets must be there, and of a known form.")
            ctx.exit(1)
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
                screen.error(f"Stopped. What was done is kept beside {output}; the same command goes on from there.")
            raise
        _warn_of_documents(screen, run)
    if form_out == "json":
        click.echo(dump_json({"title": run.title, **run.to_dict()}, indent=2))
    else:
        click.echo(_table(run, averaging, gold, depths or DEPTHS), nl=False)
    if any(document.error for document in run.documents):
        ctx.exit(1)


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


def _averaging(name: str) -> Averaging:
    from mudy.evaluation.measures import AVERAGINGS

    return AVERAGINGS[name]


def _table(run: Run, averaging: str, gold: GoldKind, depths: Sequence[int]) -> str:
    from mudy.evaluation.measures import F1
    from mudy.evaluation.runs import ceiling

    measures = [F1 @ k for k in depths]
    head = ["Data set", "Documents", *map(str, measures), "Ceiling %", "CPU-s"]
    rows = []
    for name in run.names:
        documents, outcomes = run.of(name), run.outcomes(name, gold)
        found = [str(m.interval(outcomes, _averaging(averaging))) if outcomes else "–" for m in measures]
        cost = sum(document.cpu_seconds for document in documents) / len(documents)
        rows.append([name, f"{len(outcomes):,}", *found, f"{ceiling(documents):.1f}", f"{cost:.2f}"])
    note = f"{run.title}; {averaging} F1 in per cent [95 % interval]{'' if gold == 'all' else f', {gold} gold alone'}\n"
    return note + formats.table(head, rows, set(head[1:]), sys.stdout.isatty())


# -- compare ----------------------------------------------------------------------------------------------------------


@click.command("compare")
@click.argument("first", metavar="A.json")
@click.argument("second", metavar="B.json")
@measured
@click.option("-f", "--format", "form_out", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No warnings; errors are still shown.")
def compare_command(
    first: str, second: str, averaging: str, gold: GoldKind, depths: tuple[int, ...], form_out: str, quiet: bool
) -> None:
    """Say whether two runs of `mudy evaluate` differ.

    Over the documents that both have: F1 of each, the difference B - A with its 95 % interval by paired bootstrap, and
    two-sided p of a paired t-test on the documents' F1 and of the bootstrap. A difference is called significant where
    both are below 0.05. Each row is tested alone: of twenty rows without any difference, one may look like one.
    """
    from mudy.evaluation.measures import DEPTHS
    from mudy.evaluation.runs import Run

    a, b = Run.load(first), Run.load(second)
    common = [name for name in a.names if name in b.names]
    if not common:
        raise InputError(f"{first} has {', '.join(a.names)} and {second} {', '.join(b.names)}: no data set in common.")
    with Screen(quiet) as screen:
        for name in sorted({*a.names, *b.names} - {*common}):
            screen.warning(f"{name} is in one of the runs only, and left out")
        rows = [(name, row) for name in common for row in _compared(a, b, name, averaging, gold, depths or DEPTHS)]
        for name, found in rows[:: len(depths or DEPTHS)]:
            if found.unmatched:
                screen.warning(f"{name}: {found.unmatched:,} documents are in one of the runs only, and left out")
    if form_out == "json":
        click.echo(dump_json([_as_dict(name, found) for name, found in rows], indent=2))
        return
    head = ["Data set", "Documents", "Measure", "A", "B", "B - A", "p (t-test)", "p (bootstrap)", "Verdict"]
    cells = [_cells(name, found) for name, found in rows]
    click.echo(f"A: {a.title}\nB: {b.title}")
    click.echo(formats.table(head, cells, {*head[1:2], *head[3:8]}, sys.stdout.isatty()), nl=False)


def _compared(a: Run, b: Run, name: str, averaging: str, gold: GoldKind, depths: Sequence[int]) -> list[Comparison]:
    from mudy.evaluation.measures import F1, compare

    one, other = a.outcomes(name, gold), b.outcomes(name, gold)
    if not one or not other:
        raise InputError(f"{name}: no document has gold that is {gold}.")
    return [compare(F1 @ k, one, other, _averaging(averaging)) for k in depths]


def verdict(found: Comparison) -> str:
    """What the tests say, in words."""
    if max(found.p_t_test, found.p_bootstrap) >= SURE:
        return "no significant difference"
    return "B is better" if found.difference.value > 0 else "A is better"


def _cells(name: str, found: Comparison) -> list[str]:
    return [
        name,
        f"{found.documents:,}",
        str(found.measure),
        f"{found.first:.2f}",
        f"{found.second:.2f}",
        signed(found.difference),
        f"{found.p_t_test:.4f}",
        f"{found.p_bootstrap:.4f}",
        verdict(found),
    ]


def signed(interval: Interval) -> str:
    return f"{interval.value:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"


def _as_dict(name: str, found: Comparison) -> dict[str, Any]:
    return {
        "data": name,
        "documents": found.documents,
        "unmatched": found.unmatched,
        "measure": str(found.measure),
        "averaging": found.averaging.name,
        "a": found.first,
        "b": found.second,
        "difference": found.difference.value,
        "low": found.difference.low,
        "high": found.difference.high,
        "p_t_test": found.p_t_test,
        "p_bootstrap": found.p_bootstrap,
        "verdict": verdict(found),
    }
