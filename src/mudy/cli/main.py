"""The command line: options in, data out on standard output, all else on standard error. It holds no scoring.

Exit codes: 0 good, 1 some inputs failed or a model is unavailable, 2 wrong usage, 130 interrupted, 141 the reader of
our output went away.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

import click

from mudy import __version__
from mudy._support.loading import own_process
from mudy.cli import formats, sources
from mudy.cli.console import Screen
from mudy.cli.corpus_command import corpus_command
from mudy.cli.data_commands import data_command
from mudy.cli.evaluate_command import compare_command, evaluate_command
from mudy.cli.explain_command import explain_command
from mudy.cli.extract_command import ExtractRun
from mudy.cli.fit_command import fit_command
from mudy.cli.list_commands import completion_command, languages_command, methods_command, models_command
from mudy.cli.parameters import (
    ENCODING,
    PHRASE_FILES,
    SET,
    WORKERS,
    given_options,
    on_machine,
    settings,
    with_focus,
    with_options,
)
from mudy.cli.serve_command import mcp_command, serve_command
from mudy.cli.tag_command import tag_command
from mudy.errors import MudyError, SettingError, unknown
from mudy.extraction.options import Options, Setup
from mudy.reading.formats import is_pattern

INTERRUPTED, BROKEN_PIPE = 130, 141
_interrupted = False  # a library may turn the interrupt of its import into an error of its own


def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Handle SIGINT as Python does, and remember it."""
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def run_cli() -> None:
    """What the command `mudy` runs."""
    if not _debugging():
        warnings.simplefilter("ignore")  # of libraries, for their authors
    own_process()
    cli.main(prog_name="mudy")


def _debugging() -> bool:
    return os.environ.get("MUDY_DEBUG", "0") not in ("", "0")


class Commands(click.Group):
    """Commands whose every failure becomes one line on standard error and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        extra |= {"complete_var": complete_var, "windows_expand_args": windows_expand_args}
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, standalone_mode=False, **extra)
        except click.Abort:
            code = INTERRUPTED
        except Exception as error:
            code = INTERRUPTED if _interrupted else _explain(error)
        sys.exit(code)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if not args[0].startswith("-") and args[0] not in self.commands:
            file = f" To read a file: mudy extract {args[0]}" if os.path.exists(args[0]) else ""  # noqa: PTH110 (raises nothing)
            raise click.UsageError(unknown("command", args[0], self.commands) + file, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            formats.silence_stdout()
            ctx.exit(BROKEN_PIPE)


def _explain(error: Exception) -> int:
    """Print an error as one line, and give its exit code."""
    if _debugging():
        traceback.print_exception(error)
    hint = ""
    if isinstance(error, click.ClickException):
        message, code = error.format_message(), error.exit_code
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f"\nTry '{error.ctx.command_path} --help' for help."
    elif isinstance(error, MudyError):
        message, code = str(error), 2 if isinstance(error, SettingError) else 1
    else:
        message, code = f"unexpected {_named(error)}", 1
        hint = "" if _debugging() else "\nSet MUDY_DEBUG=1 to see where it came from."
    with suppress(OSError):
        click.echo(f"mudy: {formats.printable(message)}{hint}", err=True)
    return code


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


_EXAMPLES = """
\b
Examples:
  mudy extract report.txt
  mudy extract "docs/**/*.txt" --format jsonl --output keyphrases.jsonl
  curl -s https://example.org/a.txt | mudy extract --format json | jq '.keyphrases[].text'
  mudy extract --text "Deep learning has changed computer vision." --top-n 3
  mudy explain report.txt --methods promptrank,mudy --html report.html
  mudy models pull smollm2-135m
"""


@click.group(
    cls=Commands,
    invoke_without_command=True,
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="mudy", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Keyphrases of any text, found by a pre-trained language model without training data."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (
    explain_command,
    corpus_command,
    tag_command,
    models_command,
    languages_command,
    methods_command,
    data_command,
    evaluate_command,
    compare_command,
    fit_command,
    serve_command,
    mcp_command,
    completion_command,
):
    cli.add_command(command)

# -- extract ----------------------------------------------------------------------------------------------------------


@cli.command("extract")
@click.argument("files", nargs=-1, metavar="[FILES|-]...")
@click.option("--text", help="Extract from this text instead of files.")
@with_options(Setup)
@with_options(Options)
@with_focus
@click.option("--set", "pairs", **SET)
@click.option("-f", "--format", "form", type=click.Choice(formats.OUTPUT_FORMATS), default="table", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write here instead of standard output.")
@click.option(
    "--save-text",
    metavar="FOLDER",
    help="Keep the texts that offsets refer to here, as NAME.txt: for PDF and the like.",
)
@click.option("--encoding", **ENCODING)
@click.option("--workers", **WORKERS, help="Worker processes for several inputs; each loads its own model.")
@on_machine
@click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings; errors are still shown.")
def extract_command(
    files: tuple[str, ...],
    text: str | None,
    method: str,
    pairs: tuple[str, ...],
    form: str,
    output: str | None,
    save_text: str | None,
    encoding: str | None,
    workers: int,
    quiet: bool,
    **given: Any,
) -> None:
    """Print the keyphrases of texts.

    FILES are names of text files, patterns such as "docs/*.txt" (with ** for folders within folders), or - for standard
    input, which is also read when there are none. Word files are read too, and with the extra `readers` PDF and
    HTML.

    An input that fails is named on standard error and left out of the data; the others are still written, and the exit
    code is 1. JSON is an object for one input, and a list for several or for a pattern; with jsonl each object is
    written as soon as it is ready. Where no input can be read, nothing is written. Offsets count characters (Unicode
    code points) of the file as it is, without a byte-order mark.
    """
    if encoding is not None:
        sources.check_encoding(encoding)
    inputs = sources.text_sources(files, text)
    target = formats.Output(None if output == "-" else output, streaming=form == "jsonl")
    read = [source.name for source in inputs if source.text is None] + [given[name] for name in PHRASE_FILES]
    formats.check_output(target, read)
    texts = formats.Texts(save_text, read) if save_text is not None else None
    if texts is not None:
        texts.check()
    options, focus = given_options(given, encoding)
    several = len(inputs) > 1 or any(map(is_pattern, files))
    with Screen(quiet) as screen:
        extraction = ExtractRun(
            screen,
            formats.format_of(form, several, target.terminal, concepts=options.concepts is not None),
            target,
            extractor={"method": method, **given, **settings(method, pairs), **focus},
            options=options,
            texts=texts,
            workers=workers,
            debug=_debugging(),
        )
        failed = extraction.run(inputs, encoding)
    if failed:
        click.get_current_context().exit(1)
