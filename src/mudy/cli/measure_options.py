"""The options that say what is measured of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mudy.cli.parameters import Command
from mudy.errors import SettingError

if TYPE_CHECKING:
    from mudy.evaluation.measures import Averaging, Measure, NamedMeasure
    from mudy.evaluation.runs import GoldKind

_AVERAGINGS = ("micro", "macro")
_GOLD_KINDS = ("all", "present", "absent")
_DEFAULT = "F1"


def _parsed(ctx: click.Context, param: click.Parameter, value: str) -> list[NamedMeasure]:
    from mudy.evaluation.measures import parse_measure

    try:
        return [parse_measure(text) for text in value.split(",")]
    except SettingError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def measured(command: Command) -> Command:
    """Add the options that say what is measured of a run."""
    depth: dict[str, Any] = {"type": click.IntRange(1), "multiple": True}
    options = (
        click.option(
            "--measures",
            "named",
            metavar="NAME,NAME",
            callback=_parsed,
            default=_DEFAULT,
            show_default=True,
            help="P, R, F1, MAP, nDCG, SemP, SemR or SemF1; with a depth, F1@10, F1@M (all) or F1@O (as many as gold).",
        ),
        click.option("--averaging", type=click.Choice(_AVERAGINGS), default="micro", show_default=True),
        click.option(
            "--gold", type=click.Choice(_GOLD_KINDS), default="all", show_default=True, help="Which gold counts."
        ),
        click.option("-k", "depths", **depth, help="Measure the first K; may be repeated.  [default: 5, 10 and 15]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True)
class Measured:
    """What is measured of a run, and how."""

    named: Sequence[NamedMeasure]
    averaging_name: str
    gold: GoldKind
    depths: Sequence[int]

    @property
    def averaging(self) -> Averaging:
        from mudy.evaluation.measures import AVERAGINGS

        return AVERAGINGS[self.averaging_name]

    @property
    def title(self) -> str:
        """In words."""
        names = ", ".join(dict.fromkeys(name for name, _ in self.named))
        gold = "" if self.gold == "all" else f", {self.gold} gold alone"
        return f"{self.averaging_name} {names} in per cent [95 % interval]{gold}"

    def measures(self, embed: Callable[[Sequence[str]], Any]) -> list[Measure]:
        """The measures; `embed` is called only by those that compare meanings."""
        from mudy.evaluation.measures import DEPTHS, PhraseVectors, named_measures

        return named_measures(self.named, self.depths or DEPTHS, PhraseVectors(embed))
