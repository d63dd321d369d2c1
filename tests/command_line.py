"""The command line in tests: run in this process or in one of its own."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from mudy.cli.main import cli

VISION = "Deep learning has changed computer vision. Convolutional neural networks learn features of natural images.\n"
TRADE = "The European Union agreed on a carbon border tax. Trade partners of the EU criticised carbon border taxes.\n"
SMALL = ("--model", "smollm2-135m", "--method", "promptrank", "--threads", "1")


def run(*arguments: str | Path, stdin: bytes | str = "") -> Result:
    """The command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)


def spawn(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "mudy", *map(str, arguments)]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **(streams | options))
