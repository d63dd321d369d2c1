"""Starting Python processes without code from the current folder.

Python looks for modules there first when it runs `-m` or `-c`, so that a pip.py in a folder of downloads would be run.
"""

import os
import sys
from pathlib import Path
from typing import IO, Any


def python_command(*arguments: str) -> list[str]:
    """The running Python with some arguments, and without the current folder among the places of modules."""
    return [sys.executable, "-P", *arguments]


def python_environment(**more: str) -> dict[str, str]:
    """The environment for such a process: PYTHONPATH without entries that mean the current folder."""
    environment = os.environ | {"PYTHONSAFEPATH": "1"} | more
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in entries if Path(entry).is_absolute())
    return environment


def package_environment() -> dict[str, str]:
    """The environment for a process that runs a module of this very package, the last place to import from.

    An empty entry of PYTHONPATH stands for the current folder, whose files are nobody's program: it is left out.
    """
    given = [str(Path(entry).absolute()) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    home = str(Path(__file__).absolute().parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*given, home])}


def private_stdout() -> IO[bytes]:
    """The standard output of this process for answers alone: what a library prints goes nowhere."""
    own = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return own


def how_it_ended(code: int | None) -> str:
    """The end of a process in words."""
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def usable_cpus() -> int:
    """How many CPUs this process may use."""
    affinity: Any = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1
