"""Starting Python processes without code from the current folder.

Python looks for modules there first when it runs `-m` or `-c`, so that a pip.py in a folder of downloads would be run.
"""

import os
import sys
from pathlib import Path


def python_command(*arguments: str) -> list[str]:
    """The running Python with some arguments, and without the current folder among the places of modules."""
    return [sys.executable, "-P", *arguments]


def python_environment(**more: str) -> dict[str, str]:
    """The environment for such a process: PYTHONPATH without entries that mean the current folder."""
    environment = os.environ | {"PYTHONSAFEPATH": "1"} | more
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in entries if Path(entry).is_absolute())
    return environment
