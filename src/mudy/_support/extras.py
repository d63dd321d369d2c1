"""Optional packages: imported when they are needed; a missing one is named with the command that installs it."""

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from mudy.errors import MissingExtra


@contextmanager
def from_extra(extra: str, what: str | None = None) -> Iterator[None]:
    """Import packages of an extra; a missing one raises MissingExtra, which says `what` needs it."""
    try:
        yield
    except MissingExtra:
        raise
    except ImportError as error:
        raise missing_extra(extra, what, error.name) from error


def missing_extra(extra: str, what: str | None = None, module: str | None = None) -> MissingExtra:
    """The error for an extra that is not installed; `module` is the one that was not found."""
    package = module.partition(".")[0] if module else f"the extra {extra!r}"
    seen = f"{what} needs {package}, which is not installed" if what else f"{package} is not installed"
    return MissingExtra(f"{seen}. Install it: {install_command(extra)}")


def install_command(extra: str) -> str:
    """The command that installs an extra here. It names packages, which works from a clone, a wheel and an index."""
    pip = shutil.which("pip")
    active = pip is not None and Path(pip).parent == Path(sys.executable).parent
    command = "pip" if active else f"{_quoted(sys.executable)} -m pip"
    return " ".join([command, "install", *map(_quoted, _requirements(extra) or [f"mudy[{extra}]"])])


def _requirements(extra: str) -> list[str]:
    """What an extra installs, also through other extras, by the metadata of the installed MUDY."""
    try:
        lines = requires("mudy") or []
    except PackageNotFoundError:
        return []
    requirements: list[str] = []
    for line in lines:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        if re.search(rf"""extra == ['"]{re.escape(extra)}['"]""", marker):
            others = re.fullmatch(r"mudy\[(.+)\]", requirement)
            names = others[1].split(",") if others else ()
            requirements += [more for name in names for more in _requirements(name.strip())] or [requirement]
    return list(dict.fromkeys(requirements))


def _quoted(word: str) -> str:
    """A word for the shell, also that of Windows."""
    return word if re.fullmatch(r"[\w./:\\-]+", word) else f'"{word}"'
