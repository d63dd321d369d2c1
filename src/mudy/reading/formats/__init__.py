"""Bytes -> text and its blocks, one module per format. Offsets of results point into the text that comes out.

The format is detected from the bytes where they tell it, else from the ending of the name. Plain text is decoded here
and stays as it is; all other formats are read in a separate process, within limits, because a file can freeze or crash
its reader, and lose their mark-up. Importing this package imports no reader and starts no process.
"""

import atexit
import os
from functools import cache
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path, PurePath

from mudy._support.extras import missing_extra
from mudy.errors import InputError, MudyError
from mudy.reading.formats.pool import FileRead as FileRead
from mudy.reading.formats.pool import ReaderPool as ReaderPool
from mudy.reading.formats.reading import ZIP, decode
from mudy.reading.formats.reading import Limits as Limits
from mudy.reading.formats.reading import Reading as Reading

ENDINGS = {  # of the files of each format, which is the name of its module
    "plain": (".txt", ".text", ".log"),
    "markdown": (".md", ".markdown"),
    "rst": (".rst", ".rest"),
    "asciidoc": (".adoc", ".asciidoc"),
    "latex": (".tex", ".ltx"),
    "wikitext": (".wiki", ".mediawiki"),
    "docbook": (".docbook", ".dbk", ".xml"),
    "html": (".html", ".htm", ".xhtml"),
    "pdf": (".pdf",),
    "docx": (".docx",),
    "odt": (".odt",),
    "rtf": (".rtf",),
    "mail": (".eml", ".mbox"),
    "notebook": (".ipynb",),
    "subtitles": (".srt", ".vtt"),
    "table": (".csv", ".tsv"),
    "source": (
        *(".py", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".java", ".js", ".ts", ".jsx", ".tsx", ".kt", ".rs"),
        *(".swift", ".scala", ".php", ".rb", ".sh", ".pl", ".r", ".lua", ".sql", ".css", ".el"),
    ),
}
MARKUP = frozenset(
    ("markdown", "rst", "asciidoc", "latex", "wikitext", "subtitles", "table", "source")
)  # formats in any encoding of text; the others name their own
_BY_BYTES = ("pdf", "docx", "odt", "rtf")  # formats that are known by their first bytes, whatever the name
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument.text"  # the first entry of the archive
NEEDED = {"pdf": "pypdfium2", "html": "trafilatura"}  # the packages that readers import


def read(
    data: bytes,
    name: str = "",
    encoding: str | None = None,
    *,
    pool: ReaderPool | None = None,
    file: FileRead | None = None,
) -> Reading:
    """The text of a file; InputError says why it has none, MissingExtra what must be installed to read it.

    The processes are those of `pool`, with its limits; `file` lets another thread stop the reading.
    """
    kind = kind_of(data, name)
    if kind == "plain":
        return Reading(_decoded(data, encoding))
    if not _installed(kind):
        raise missing_extra("readers", f"is {kind.upper()}, which", NEEDED[kind])
    if kind in MARKUP:
        data = _decoded(data, encoding).encode(errors="replace")
    return (pool or _shared_pool()).read(kind, data, file)


@cache
def _shared_pool() -> ReaderPool:
    pool = ReaderPool()
    atexit.register(pool.close)
    return pool


def kind_of(data: bytes, name: str) -> str:
    """Which reader a file needs; any other ZIP archive needs that of Word documents, which tells that it is none."""
    ending = PurePath(name).suffix.lower()
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(ZIP):
        return "odt" if data[30:77] == _OPEN_DOCUMENT else "docx"
    if data.startswith(b"{\\rtf"):
        return "rtf"
    kind = next((kind for kind, endings in ENDINGS.items() if ending in endings), None)
    if kind is not None:
        return "plain" if kind in _BY_BYTES else kind
    return "html" if data[:1024].lstrip().lower().startswith((b"<!doctype html", b"<html")) else "plain"


def endings() -> tuple[str, ...]:
    """The endings of files that can be read here, with what is installed."""
    return tuple(ending for kind, endings in ENDINGS.items() if _installed(kind) for ending in endings)


def _installed(kind: str) -> bool:
    return kind not in NEEDED or find_spec(NEEDED[kind]) is not None


def _decoded(data: bytes, encoding: str | None) -> str:
    try:
        return decode(data, encoding)
    except MudyError:
        raise
    except Exception as error:  # of whatever kind: some of Python's encodings raise their own
        raise InputError(f"cannot be decoded as {encoding or 'UTF-8'} ({type(error).__name__})") from error


def is_pattern(argument: str) -> bool:
    """Whether an argument is a pattern that no shell has expanded, and not the name of a file."""
    return has_magic(argument) and not os.path.lexists(argument)


def matching_files(argument: str) -> list[str]:
    if not is_pattern(argument):
        return [argument]
    pattern = str(Path(argument).expanduser())
    return sorted(path for path in glob(pattern, recursive=True) if not Path(path).is_dir())  # noqa: PTH207 (absolute too)
