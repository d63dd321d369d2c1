"""File names, patterns and standard input -> texts; and what is wrong with those that hold none."""

import errno
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from mudy.errors import InputError
from mudy.reading.formats import Reading, matching_files, read

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """Where one text is to come from, or why it cannot."""

    name: str
    problem: str | None = None
    text: str | None = None  # given by itself, not in a file

    @property
    def label(self) -> str | None:
        return self.name if self.text is None else None

    @property
    def shown_name(self) -> str:
        return self.name or repr(self.name)

    def read(self, encoding: str | None = None) -> Reading:
        """The text; InputError or MissingExtra says why there is none."""
        if self.text is not None:
            return Reading(self.text)
        if self.problem:
            raise InputError(self.problem)
        return read(_content(self.name), self.name, encoding)


def text_sources(files: Sequence[str], text: str | None) -> list[Source]:
    """One source per file; a pattern that no shell has expanded gives its files in order."""
    if text is not None:
        if files:
            raise click.UsageError("--text and FILES cannot be given together.")
        return [Source("--text", text=text)]
    if not files:
        if sys.stdin is None or sys.stdin.isatty():
            raise click.UsageError("No input: give files, or - to type a text, or --text, or pipe a text in.")
        files = [STDIN]
    if files.count(STDIN) > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    missing = "no file matches this pattern"
    found = {name: [Source(match) for match in matching_files(name)] for name in files}
    return [source for name in files for source in found[name] or [Source(name, missing)]]


def phrases_in(path: str, encoding: str | None = None) -> list[str]:
    """The phrases of a file, one per line; blank lines and those that start with # are left out."""
    lines = (line.strip() for line in read(_content(path), ".txt", encoding).text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _content(name: str) -> bytes:
    if name == STDIN and sys.stdin is None:
        raise InputError("standard input is closed")
    if name == STDIN:
        return sys.stdin.buffer.read()
    if not name:
        raise InputError("an empty file name was given")
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise InputError("no such file" + _perhaps_a_text(name)) from None
    except IsADirectoryError:
        raise InputError(f'is a directory; to read its files, pass "{name.rstrip("/") or "/"}/*.txt"') from None
    except PermissionError:
        raise InputError("may not be read (permission denied)") from None
    except OSError as error:
        hint = _perhaps_a_text(name) if error.errno == errno.ENAMETOOLONG else ""
        raise InputError(f"cannot be read ({error.strerror or error}){hint}") from None


def _perhaps_a_text(name: str) -> str:
    return "; to extract from a text itself, use --text" if " " in name.strip() else ""
