"""What the commands that read data sets share: options, loading, progress, measures, and a table of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from mudy import engines, models
from mudy.cli import parameters
from mudy.cli.console import Screen
from mudy.cli.formats import text_table
from mudy.engines import Compute
from mudy.errors import InputError, SettingError
from mudy.evaluation.datasets import DATASET_FORMATS, Dataset, load
from mudy.extraction.options import Setup

if TYPE_CHECKING:
    from mudy.engines.interfaces import SentenceEncoder
    from mudy.evaluation.measures import Averaging, Calibration, Measure, NamedMeasure
    from mudy.evaluation.runs import GoldKind

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


def loaded(screen: Screen, paths: Sequence[str], data_format: str | None, limit: int | None) -> list[Dataset]:
    """The data sets that can be read; the others are reported, and rows that cannot be used."""
    sets: list[Dataset] = []
    for path in paths:
        try:
            sets.append(load(path, data_format, limit=limit))
        except InputError as error:
            screen.error(str(error))
            continue
        problems = sets[-1].problems
        for problem in problems[:_PROBLEMS_SHOWN]:
            screen.warning(str(problem))
        if (more := len(problems) - _PROBLEMS_SHOWN) > 0:
            screen.warning(f"{sets[-1].name}: {more:,} more rows could not be used")
    return sets


def all_loaded(screen: Screen, paths: Sequence[str], data_format: str | None, limit: int | None) -> list[Dataset]:
    sets = loaded(screen, paths, data_format, limit)
    if len(sets) < len(paths):
        screen.error("Nothing was computed: every data set must exist and have a known format.")
        click.get_current_context().exit(1)
    return sets


def counting(screen: Screen, doing: str = "") -> Callable[[str, int, int], None]:
    return lambda step, done, total: screen.show(f"{doing}{step}", done, total, amount=f"{done:,} of {total:,}")


def sentence_encoder(screen: Screen, threads: int | None, name: str) -> SentenceEncoder:
    return engines.load_encoder(models.locate(name, report=screen.report), Compute(threads=threads), name)


@dataclass(frozen=True)
class Measured:
    named: Sequence[NamedMeasure]
    averaging: Averaging
    gold: GoldKind
    depths: Sequence[int]

    @property
    def title(self) -> str:
        names = ", ".join(dict.fromkeys(name for name, _ in self.named))
        gold = "" if self.gold == "all" else f", {self.gold} gold only"
        return f"{self.averaging.name} {names} in per cent [95 % interval]{gold}"

    def measures(self, embed: Callable[[Sequence[str]], Any]) -> list[Measure]:
        from mudy.evaluation.measures import DEPTHS, PhraseVectors, named_measures

        return named_measures(self.named, self.depths or DEPTHS, PhraseVectors(embed))


def _parsed_measures(ctx: click.Context, param: click.Parameter, value: str) -> list[NamedMeasure]:
    from mudy.evaluation.measures import parse_measure

    try:
        return [parse_measure(text) for text in value.split(",")]
    except SettingError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def measured(command: parameters.Command) -> parameters.Command:
    """Add the options that say what is measured of a run; the command gets them as `measured`."""

    @click.option(
        "--measures",
        "named",
        metavar="NAME,NAME",
        callback=_parsed_measures,
        default="F1",
        help="P, R, F1, MAP, nDCG, SemP, SemR or SemF1; with a depth: F1@10, F1@M (all) or F1@O (as many as gold).",
    )
    @click.option("--averaging", type=click.Choice(["micro", "macro"]), default="micro")
    @click.option("--gold", type=click.Choice(["all", "present", "absent"]), default="all", help="Which gold counts.")
    @click.option(
        "-k", "depths", **parameters.COUNT, multiple=True, help="Measure the first K; repeatable.  [default: 5, 10, 15]"
    )
    @wraps(command)
    def bundled(*arguments: Any, named: Any, averaging: str, gold: GoldKind, depths: Any, **options: Any) -> Any:
        from mudy.evaluation.measures import AVERAGINGS

        return command(*arguments, measured=Measured(named, AVERAGINGS[averaging], gold, depths), **options)

    return bundled


def brier_line(calibration: Calibration, subject: str) -> str:
    score, constant = calibration.brier, calibration.brier_of_mean
    return f"Brier score of {subject}: {score:.4f} ({constant:.4f} if all phrases had the same probability)\n"


def reliability_table(calibration: Calibration) -> str:
    head = ["Probability", "Mean", "Right", "Phrases"]
    bins = calibration.reliability.items()
    rows = [[name, f"{mean:.3f}", f"{right:.3f}", f"{count:,}"] for name, (mean, right, count) in bins]
    return text_table(head, rows, {*head[1:]})
