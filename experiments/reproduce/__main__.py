"""The command that regenerates the paper's tables and figures, in a clone of the repository:

python -m experiments.reproduce table2 fig-lambda --data DIR --model gemma3-270m --limit 60
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from experiments.reproduce import ITEMS, reproduce
from experiments.reproduce.figures import require_matplotlib
from experiments.reproduce.paper import DATASET_TITLES
from experiments.reproduce.workspace import ReproduceOptions, Workspace
from mudy.cli.main import Screen, printable
from mudy.cli.parameters import MODEL, declared_option, with_options
from mudy.engines import Compute
from mudy.errors import InputError, MudyError, unknown
from mudy.extraction.options import DEFAULT_MODEL, Setup

ALL = "all"
COMMAND = "python -m experiments.reproduce"


def known_items(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Names of tables and figures, each once, in order; all of them for `all`."""
    for value in values:
        if value not in ITEMS and value != ALL:
            raise click.BadParameter(unknown("item", value, [*ITEMS, ALL]), ctx, param)
    return tuple(ITEMS) if ALL in values else tuple(dict.fromkeys(values))


def limits(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str | None, int]:
    """Numbers of documents: for every data set (None), or for one by its name."""
    counts: dict[str | None, int] = {}
    for value in values:
        name, equals, count = value.rpartition("=")
        if not re.fullmatch("[1-9][0-9]*", count) or (equals and not name):
            raise click.BadParameter(f"{value!r} is neither a number from 1 up nor NAME=NUMBER.", ctx, param)
        if equals and name not in DATASET_TITLES:
            raise click.BadParameter(unknown("data set", name, DATASET_TITLES), ctx, param)
        counts[name if equals else None] = int(count)
    return counts


def each_once(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    return tuple(dict.fromkeys(values))


MODELS: dict[str, Any] = {"type": MODEL, "callback": each_once}


@click.command(COMMAND)
@click.argument("items", nargs=-1, required=True, metavar="ITEM...", callback=known_items)
@click.option(
    "--data",
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with data sets.",
)
@click.option("--model", "names", multiple=True, **MODELS, help=f"May be repeated.  [default: {DEFAULT_MODEL}]")
@declared_option(Setup, "encoder", help="For methods that embed.")
@click.option(
    "--limit",
    "counts",
    multiple=True,
    metavar="[SET=]NUMBER",
    callback=limits,
    help="Only the first documents of each data set, or of one; may be repeated.  [default: all]",
)
@with_options(Compute, "dtype", "threads", "speed")
@click.option("--endpoint", metavar="URL", help="A chat completions server, for table5.")
@click.option("--endpoint-model", metavar="NAME", help="The model's name on that server.")
@click.option("--kept", is_flag=True, help="Compute nothing: use the existing runs as they are.")
@click.option("--document", metavar="ID", help="For fig-case.  [default: the first of the first data set]")
@click.option("--timed", type=click.IntRange(1), default=5, show_default=True, help="Documents for fig-time.")
@click.option("-o", "--output", default="reproduced", show_default=True, metavar="DIR", help="For pages and runs.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no file names; errors are still shown.")
@click.pass_context
def reproduce_command(
    ctx: click.Context,
    /,
    items: tuple[str, ...],
    data: Path,
    names: tuple[str, ...],
    counts: dict[str | None, int],
    output: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Regenerate tables and figures of the paper, with the paper's numbers next to ours.

    ITEMs: table1 to table6, fig-sigma, fig-kappa, fig-lambda, fig-recall, fig-time, fig-case, or all. Each becomes a
    Markdown page, and each figure also a PNG, in the output folder; the page is printed too.

    Data sets are looked up in DIR by name: duc2001.jsonl, wikihow.jsonl, nus.jsonl, semeval2017.jsonl, inspec.jsonl,
    kptimes.jsonl, stackexchange.jsonl, kp20k.jsonl, or in their published format under such a name. Cells that cannot
    be computed stay empty, and the page says why.

    Runs are kept in the output folder and shared between items. Run the same command to resume after an interruption.
    """
    if (options["endpoint"] is None) != (options["endpoint_model"] is None):
        raise click.UsageError("--endpoint and --endpoint-model are needed together.")
    settings = ReproduceOptions(
        data,
        names or (DEFAULT_MODEL,),
        Path(output),
        limit=counts.get(None),
        limits={name: count for name, count in counts.items() if name is not None},
        command=command(ctx),
        **options,
    )
    with Screen(quiet) as screen:
        try:
            if any(ITEMS[item].drawn for item in items):
                require_matplotlib()
            _write_pages(items, _checked_workspace(ctx, settings, items, screen), screen)
        except MudyError as error:
            raise click.ClickException(str(error)) from error


def _checked_workspace(
    ctx: click.Context, settings: ReproduceOptions, items: Sequence[str], screen: Screen
) -> Workspace:
    """The workspace; wrong usage if a data set is missing or would be overwritten."""

    def show(step: str, done: int, total: int) -> None:
        screen.show(step, done, total, amount=f"{done:,} of {total:,}")

    try:
        workspace = Workspace(settings, show, screen.report)
        for name in (f"{item}{ending}" for item in items for ending in (".md", ".png")):
            workspace.check_output(settings.output / name)
    except InputError as error:
        raise click.BadParameter(str(error), ctx) from error
    return workspace


def _write_pages(items: Sequence[str], workspace: Workspace, screen: Screen) -> None:
    for number, item in enumerate(items):
        page = reproduce(item, workspace)
        paths = page.write(workspace.options.output)
        with screen.paused():
            click.echo(("\n" if number else "") + printable(page.markdown()), nl=False)
        for path in paths:
            screen.warning(f"wrote {path}")


def command(ctx: click.Context) -> str:
    """The command as it can be typed again; defaults are left out."""
    words = [*COMMAND.split(), *ctx.params["items"]]
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)
        if not isinstance(parameter, click.Option) or name == "quiet" or not given:
            continue
        value = ctx.params[name]
        if parameter.is_flag:
            words.append(max(parameter.opts, key=len))
            continue
        if name == "counts":
            value = tuple(f"{key}={count}" if key else str(count) for key, count in value.items())
        for one in value if isinstance(value, tuple) else (value,):
            words += [max(parameter.opts, key=len), str(one)]
    return shlex.join(words)


if __name__ == "__main__":
    reproduce_command(prog_name=COMMAND)
