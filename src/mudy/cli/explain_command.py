"""The command that shows why: `mudy explain`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mudy._support.storage import dump_json
from mudy._support.validation import TopN
from mudy.cli import formats, sources
from mudy.cli.console import Screen
from mudy.cli.extract_command import first_names, shorten, warn_of_vocabulary
from mudy.cli.parameters import (
    ENCODING,
    PHRASE_FILES,
    SEVERAL,
    TOP_N,
    given_options,
    on_machine,
    phrases_option,
    settings_of_each,
    with_focus,
    with_options,
)
from mudy.errors import InputError, MissingExtra
from mudy.extraction.options import DEFAULT_METHOD, Options, Setup
from mudy.extraction.ranking import how_many
from mudy.reading.formats.reading import Reading

if TYPE_CHECKING:
    from mudy.extraction.explanation import Explanation

_EXAMPLES = """
\b
Examples:
  mudy explain report.txt
  mudy explain report.txt --methods promptrank,mudy --html report.html
  mudy explain report.txt --gold "flood wall; beaver dam" --html report.html
  mudy explain report.txt --set lambda_=0.5 --json | jq '.methods[0].keyphrases[0]'
"""


@click.command("explain", epilog=_EXAMPLES)
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option("--text", help="Explain this text instead of a file.")
@click.option(
    "-m",
    "--methods",
    **SEVERAL,
    default=DEFAULT_METHOD,
    show_default=True,
    help="One method, or several to compare, on one loaded model. One is the default because each takes its own time, "
    "and a list with its parts explains itself; promptrank,mudy shows what a place in the text adds.",
)
@with_options(Setup, "model", "encoder", "language", "protocol", "max_words")
@click.option(
    "-n",
    "--top-n",
    **TOP_N,
    default="15",
    show_default=True,
    help="How many phrases are listed: a number, a share of the words such as 0.02 or 2%, auto for those that are "
    "likely enough (mudyplus), or all. The text has the colours of all.",
)
@click.option(
    "--gold",
    metavar="FILE|PHRASES",
    help="Keyphrases known to be right, set in bold italics: a file with one per line, or phrases with ; between them.",
)
@with_options(Options, without=["top_n", "min_score", "distinct", "diversity"])
@with_focus
@click.option(
    "--set",
    "pairs",
    metavar="[METHOD.]NAME=VALUE",
    multiple=True,
    help="A setting of a method (see `mudy methods`), of mudy if none is named; may be repeated. Lists: 1,2,3.",
)
@click.option("--html", metavar="FILE", help="Write a page that needs no network; - for standard output.")
@click.option("--json", "as_json", is_flag=True, help="Print all phrases, places and parts of scores as JSON.")
@click.option("--whole", is_flag=True, help="In the terminal, show all of a long text, not only the best passages.")
@click.option("--encoding", **ENCODING)
@on_machine
@click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings; errors are still shown.")
def explain_command(
    file: str | None,
    text: str | None,
    methods: tuple[str, ...],
    top_n: TopN,
    gold: str | None,
    pairs: tuple[str, ...],
    html: str | None,
    as_json: bool,
    whole: bool,
    encoding: str | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Show where and why phrases of one text matter.

    Every place of every phrase has the colour of its score: the share of the method's places with a lower one, so that
    methods can be compared. The list gives the best place of each phrase with what its score was made of: for mudy the
    likelihood p, the attention G and L that the place receives from the whole text and from its surroundings, and AS,
    which joins them; beside it the rank under the other methods.

    FILE is a text file, or - for standard input, which is also read when there is none. It is shown in the terminal,
    unless --html or --json asks for something else.
    """
    if encoding is not None:
        sources.check_encoding(encoding)
    source = _source(file, text)
    views = _views(html, as_json, whole)
    for view in views:
        formats.check_output(view.target, [source.label, gold, *(given[name] for name in PHRASE_FILES)])
    options, focus = given_options(given, encoding)
    settings = {method: {**values, **focus} for method, values in settings_of_each(methods, pairs).items()}
    right = _gold(gold, encoding)
    read = _read(source, encoding)
    with Screen(quiet) as screen:
        warn_of_vocabulary(screen, options)
        found = _explained(screen, given, settings, read, options, right, source.label)
        _warn(screen, found)
        _write(screen, views, found, how_many(top_n, len(found.text.split())))


# -- Before the work --------------------------------------------------------------------------------------------------


def _source(file: str | None, text: str | None) -> sources.Source:
    found = sources.text_sources(() if file is None else (file,), text)
    if len(found) > 1:
        raise click.UsageError(f"{file} stands for {len(found):,} files, but one text is explained at a time.")
    return found[0]


def _read(source: sources.Source, encoding: str | None) -> Reading:
    try:
        return source.read(encoding)
    except (InputError, MissingExtra) as error:
        raise type(error)(f"{source.name or repr(source.name)}: {error}") from error


def _gold(given: str | None, encoding: str | None) -> list[str]:
    """The phrases of a file of this name; if there is none, those that stand in the option itself."""
    if given is None:
        return []
    if Path(given).is_file():
        found = phrases_option("--gold", given, encoding) or []
    else:
        found = [phrase for part in given.split(";") if (phrase := part.strip())]
    if not found:
        raise click.BadParameter(f"{given!r} holds no phrases.", param_hint="'--gold'")
    return found


@dataclass(frozen=True)
class View:
    """One way to see an explanation, and where it goes."""

    target: formats.Output
    drawn: Callable[[Explanation, int | None], str]


def _views(html: str | None, as_json: bool, whole: bool) -> list[View]:
    """The requested views; the terminal if none is."""
    if html == sources.STDIN and as_json:
        raise click.UsageError("--html - and --json would both be written to standard output.")
    views = []
    if html is not None:
        target = formats.Output(None if html == sources.STDIN else html, option="--html")
        views.append(View(target, lambda found, top_n: found.to_html(top_n)))
    if as_json:
        views.append(View(formats.Output(None, option="--html"), _json))
    if not views:
        views.append(View(formats.Output(None, option="--html"), lambda found, top_n: _terminal(found, top_n, whole)))
    return views


# -- The work ---------------------------------------------------------------------------------------------------------


def _explained(
    screen: Screen,
    machine_and_model: dict[str, Any],
    settings: dict[str, dict[str, Any]],
    read: Reading,
    options: Options,
    gold: Sequence[str],
    label: str | None,
) -> Explanation:
    """One text by several methods, each with its settings, on one tagger and one model."""
    from mudy.extraction.explanation import Explanation, gold_places
    from mudy.extraction.extractor import Extractor

    first, *_ = settings
    screen.show(f"Loading {machine_and_model['model']}")
    base = Extractor(first, **machine_and_model, report=screen.report)
    document = base.read(read.text)
    explained = []
    for done, (method, values) in enumerate(settings.items()):
        extractor = base.using(method, **values)
        prepared = extractor.prepare(document, options, source=label, pages=read.pages)
        if prepared.candidates:
            extractor.load()
        screen.show("Explaining", done, len(settings), detail=method)
        explained.append(extractor.explained(prepared))
    return Explanation(document.text, tuple(explained), gold_places(document, gold), label)


def _warn(screen: Screen, found: Explanation) -> None:
    """Say how the text was misread, what was given but does not stand in it, and what a model wrote in vain."""
    for warning in found.methods[0].result.warnings:
        screen.warning(warning)
    absent = {"gold phrases not found in the text": [phrase.text for phrase in found.gold if not phrase.spans]}
    for method in found.methods:
        absent["candidates not found in the text"] = list(method.result.not_found)
        absent[f"phrases of {method.result.method} not in the text"] = list(method.result.dropped)
    for what, phrases in absent.items():
        if phrases:
            screen.warning(f"{what}: {first_names([repr(shorten(phrase, 60)) for phrase in phrases])}")


def _write(screen: Screen, views: Sequence[View], found: Explanation, top_n: int | None) -> None:
    """All is drawn before the first is written, and every output is whole before one takes its name."""
    screen.show("Drawing")
    drawn = [view.drawn(found, top_n) for view in views]
    try:
        for view, data in zip(views, drawn, strict=True):
            with screen.paused():
                view.target.write(data)
        for view in views:
            view.target.close()
    except BaseException:
        for view in views:
            view.target.discard()
        raise


# -- Views ------------------------------------------------------------------------------------------------------------


def _json(found: Explanation, top_n: int | None) -> str:  # noqa: ARG001
    return dump_json(found.to_dict(), indent=2) + "\n"


def _terminal(found: Explanation, top_n: int | None, whole: bool) -> str:
    from rich.console import Console

    from mudy.render import terminal

    console = Console()
    return formats.captured(console, terminal.drawing(found, console, top_n, whole))
