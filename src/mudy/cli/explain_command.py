"""The command that shows why: `mudy explain`."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from mudy._support.storage import dump_json
from mudy._support.validation import TopN
from mudy.cli import parameters
from mudy.cli.extract_command import warn_of_vocabulary
from mudy.cli.main import Output, Screen, captured, cli, first_phrases, made_extractor
from mudy.cli.parameters import STDIN, text_sources
from mudy.errors import InputError, MissingExtra
from mudy.extraction.explanation import Explanation, gold_places
from mudy.extraction.options import DEFAULT_METHOD, Options, Setup
from mudy.extraction.ranking import how_many

Drawing = Callable[[Explanation, int | None], str]  # of the first phrases, or of all
_EXAMPLES = """
\b
Examples:
  mudy explain report.txt
  mudy explain report.txt --methods promptrank,mudy --html report.html
  mudy explain report.txt --gold "flood wall; beaver dam" --html report.html
  mudy explain report.txt --set lambda_=0.5 --json | jq '.methods[0].keyphrases[0]'
"""


@cli.command("explain", epilog=_EXAMPLES)
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option("--text", help="Explain this text instead of a file.")
@click.option(
    "-m",
    "--methods",
    type=parameters.METHODS_LISTED,
    metavar="NAME,NAME",
    default=DEFAULT_METHOD,
    help="One method, or several to compare, such as promptrank,mudy. The default is one because each takes its time.",
)
@parameters.with_style
@parameters.with_options(Setup, "model", "encoder", "language", "protocol", "max_words", "history")
@parameters.declared_option(Options, "top_n", default="15")
@click.option("--gold", metavar="FILE|PHRASES", help="Correct keyphrases: a file with one per line, or separated by ;")
@parameters.with_options(Options, without=["top_n", "min_score", "distinct", "diversity", "per_section"])
@parameters.with_focus
@click.option("--set", "pairs", metavar="[METHOD.]NAME=VALUE", multiple=True, help=parameters.SETTING)
@click.option("--html", metavar="FILE", help="Write a page that needs no network; - for standard output.")
@click.option("--json", "as_json", is_flag=True, help="Print all phrases, occurrences and parts of scores as JSON.")
@click.option("--whole", is_flag=True, help="In the terminal, show all of a long text, not only the best passages.")
@parameters.with_encoding
@parameters.on_machine
@parameters.with_quiet
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

    Every occurrence of a phrase is coloured by its score: by the share of the method's occurrences with a lower one, so
    that methods can be compared. The list gives the best occurrence of each phrase with the parts of its score and its
    rank under the other methods. `--set NAME=VALUE` is for mudy, or for the only method.

    FILE is a text file, or - for standard input, which is also read if no file is given.
    """
    sources = text_sources([] if file is None else [file], text)
    if len(sources) > 1:
        raise click.UsageError(f"{file} matches {len(sources):,} files, but one text is explained at a time.")
    (source,) = sources
    outputs = _outputs(html, as_json, whole)
    for target, _ in outputs:
        target.check([source.label, gold, *(given[name] for name in parameters.PHRASE_FILES)])
    options = parameters.given_options(given, encoding)
    settings = parameters.settings_of_each(methods, pairs, parameters.given_focus(given))
    gold_phrases = _gold(gold, encoding)
    try:
        reading = source.read(encoding)
    except (InputError, MissingExtra) as error:
        raise type(error)(f"{source.shown_name}: {error}") from error
    with Screen(quiet) as screen:
        warn_of_vocabulary(screen, options)
        screen.show(f"Loading {given['model']}")
        base = made_extractor(screen, method=methods[0], **given)
        document = base.read(reading.text, blocks=reading.blocks)
        explained = []  # each method with its settings, on one tagger and one model
        for done, (method, values) in enumerate(settings.items()):
            extractor = base.using(method, **values)
            prepared = extractor.prepare(document, options, source=source.label, pages=reading.pages)
            if prepared.candidates:
                extractor.load()
            screen.show("Explaining", done, len(settings), detail=method)
            explained.append(extractor.explained(prepared))
        gold_spans = gold_places(document, gold_phrases)
        explanation = Explanation(document.text, tuple(explained), gold_spans, source.label)
        _warn(screen, explanation)
        screen.show("Drawing")
        listed = how_many(top_n, len(explanation.text.split()))
        drawn = [(target, draw(explanation, listed)) for target, draw in outputs]  # all, before the first is written
        with screen.paused(), ExitStack() as stack:
            for target, data in drawn:
                stack.enter_context(target).write(data)


def _gold(given: str | None, encoding: str | None) -> list[str]:
    """The phrases of the file of this name; if there is none, those of the option itself."""
    if given is None:
        return []
    if Path(given).is_file():
        phrases = parameters.phrases_option("--gold", given, encoding) or []
    else:
        phrases = [phrase for part in given.split(";") if (phrase := part.strip())]
    if not phrases:
        raise click.BadParameter(f"{given!r} contains no phrases.", param_hint="'--gold'")
    return phrases


def _outputs(html: str | None, as_json: bool, whole: bool) -> list[tuple[Output, Drawing]]:
    """Where the requested views go, and what draws them; the terminal if none is requested."""
    if html == STDIN and as_json:
        raise click.UsageError("--html - and --json would both be written to standard output.")

    def drawn(explanation: Explanation, top_n: int | None) -> str:
        from rich.console import Console

        from mudy.extraction.render import terminal

        console = Console()
        return captured(console, terminal.drawing(explanation, console, top_n, whole))

    outputs: list[tuple[Output, Drawing]] = []
    if html is not None:
        outputs.append((Output(None if html == STDIN else html, option="--html"), Explanation.to_html))
    screen = Output(None, option="--html")
    if as_json:
        outputs.append((screen, lambda explanation, _: dump_json(explanation.to_dict(), indent=2) + "\n"))
    return outputs or [(screen, drawn)]


def _warn(screen: Screen, explanation: Explanation) -> None:
    for warning in explanation.methods[0].result.warnings:
        screen.warning(warning)
    absent = {"gold phrases not found in the text": [phrase.text for phrase in explanation.gold if not phrase.spans]}
    for method in explanation.methods:
        absent["candidates not found in the text"] = list(method.result.not_found)
        absent[f"phrases of {method.result.method} not in the text"] = list(method.result.dropped)
    for what, phrases in absent.items():
        if phrases:
            screen.warning(f"{what}: {first_phrases(phrases)}")
