"""Arguments that name files: one name, or a pattern that no shell has expanded."""

from __future__ import annotations

import os
from glob import glob, has_magic
from pathlib import Path


def is_pattern(argument: str) -> bool:
    """Whether an argument stands for any number of files; a file that has such a name goes first."""
    return has_magic(argument) and not os.path.lexists(argument)


def matching_files(argument: str) -> list[str]:
    """The files that an argument names, in order: none for a pattern that matches none."""
    if not is_pattern(argument):
        return [argument]
    pattern = str(Path(argument).expanduser())
    return sorted(path for path in glob(pattern, recursive=True) if not Path(path).is_dir())  # noqa: PTH207 (absolute too)
