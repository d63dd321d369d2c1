"""The command line: options in, data out on standard output, all else on standard error. It holds no scoring.

Exit codes: 0 good, 1 some inputs failed or a model is unavailable, 2 wrong usage, 130 interrupted, 141 the reader of
our output went away.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from types import FrameType
from typing import Any

import click

from mudy import __version__
from mudy._support.this_process import own_process
from mudy.cli.console import debugging, printable, silence_stdout
from mudy.errors import MudyError, SettingError, unknown
from mudy.extraction.outcomes import error_message

INTERRUPTED, BROKEN_PIPE = 130, 141
_interrupted = False  # a library may turn the interrupt of its import into an error of its own


def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Handle SIGINT as Python does, and remember it."""
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt


def run_cli() -> None:
    if not debugging():
        warnings.simplefilter("ignore")  # of libraries, for their authors
    own_process()
    if isinstance(sys.stdout, TextIOWrapper):  # a file or pipe on Windows has a code page, which few characters fit
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # as `Output` writes
    cli.main(prog_name="mudy")


class Commands(click.Group):
    """Commands whose every failure becomes one line on standard error and an exit code."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]  # the others by name
        standalone = extra.pop("standalone_mode", True)
        try:
            code: Any = super().main(args, prog_name, standalone_mode=False, **extra)
        except Exception as error:
            if not standalone:
                raise
            code = INTERRUPTED if _interrupted or isinstance(error, click.Abort) else _explain(error)
        return sys.exit(code) if standalone else code

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if not args[0].startswith("-") and args[0] not in self.commands:
            file = f" To read a file: mudy extract {args[0]}" if os.path.exists(args[0]) else ""  # noqa: PTH110 (raises nothing)
            raise click.UsageError(unknown("command", args[0], self.commands) + file, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            silence_stdout()
            ctx.exit(BROKEN_PIPE)


def _explain(error: Exception) -> int:
    if debugging():
        traceback.print_exception(error)
    hint = ""
    if isinstance(error, click.ClickException):
        message, code = error.format_message(), error.exit_code
        if isinstance(error, click.UsageError) and error.ctx is not None:
            hint = f"\nTry '{error.ctx.command_path} --help' for help."
    elif isinstance(error, MudyError):
        message, code = str(error), 2 if isinstance(error, SettingError) else 1
    else:
        message, code = error_message(error), 1
        hint = "" if debugging() else "\nSet MUDY_DEBUG=1 to see where it came from."
    with suppress(OSError):
        click.echo(f"mudy: {printable(message)}{hint}", err=True)
    return code


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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, "-V", "--version", prog_name="mudy", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Extract keyphrases from any text with a pre-trained language model, without training data."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
