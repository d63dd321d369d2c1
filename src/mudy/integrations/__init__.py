"""MUDY inside other tools: one module for each, imported only by who uses it.

Every module takes the same plain settings, see `extraction`. A tool that is not installed is named with its extra.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from mudy.errors import MissingExtra


@contextmanager
def from_extra(name: str) -> Iterator[None]:
    """Import what an extra installs; where it is missing, the error says how to get it."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(f'{error.name or name} is not installed. Install it: pip install "mudy[{name}]"') from error
