"""Bytes -> text: plain text, HTML, PDF and Word documents. Offsets of results point into the text that comes out.

What a file is, its bytes say; its name only tells HTML from plain text. Importing this package imports no reader.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePath

from mudy.errors import MissingExtra
from mudy.readers.base import Reading, decode

WEB = (".html", ".htm", ".xhtml")
PLAIN = (".txt", ".md")
NEEDED = {"pdf": "pypdfium2", "html": "trafilatura", "docx": "docx"}  # what each reader imports


def read(data: bytes, name: str = "", encoding: str | None = None) -> Reading:
    """The text of a file; InputError says why it has none, MissingExtra what must be installed to read it."""
    kind = kind_of(data, name)
    if kind == "plain":
        return Reading(decode(data, encoding))
    if find_spec(NEEDED[kind]) is None:
        raise MissingExtra(f'is {kind.upper()}, which needs a reader: pip install "mudy[readers]"')
    reader: Callable[[bytes], Reading] = import_module(f"mudy.readers.{kind}").read
    return reader(data)


def kind_of(data: bytes, name: str) -> str:
    """Which reader a file needs."""
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(b"PK\x03\x04") and _is_word(data):
        return "docx"
    ending = PurePath(name).suffix.lower()
    if ending in WEB or (ending not in PLAIN and data.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html"))):
        return "html"
    return "plain"


def endings() -> tuple[str, ...]:
    """The endings of files that can be read here, with what is installed."""
    known = {"pdf": (".pdf",), "html": WEB, "docx": (".docx",)}
    found = [ending for kind, some in known.items() if find_spec(NEEDED[kind]) for ending in some]
    return (*PLAIN, *found)


def _is_word(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "word/document.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False
