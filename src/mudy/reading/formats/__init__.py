"""Bytes -> text and its blocks, one reader per format. Offsets of results point into the text that comes out.

Plain text is decoded here and stays as it is, without a byte-order mark. All other formats lose their mark-up, and are
read in a separate process, within limits, because a file can freeze or crash its reader.
"""

import atexit
import codecs
import os
import re
from dataclasses import dataclass
from functools import cache
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from mudy._support.extras import missing_extra
from mudy.errors import InputError, SettingError
from mudy.reading.document import Block, BlockKind, Span
from mudy.reading.structure import PROMPT, finished

if TYPE_CHECKING:
    from mudy.reading.formats.pool import FileRead, ReaderPool


class Format(NamedTuple):
    name: str
    endings: tuple[str, ...]  # of its files
    in_text: bool = False  # whether its files are texts in any encoding; others name their own
    module: str = ""  # that reads it; one of the format's own if empty
    needs: str = ""  # the package that its reader imports


_LANGUAGES = """
.py .c .h .cc .cpp .hpp .cs .go .java .js .ts .jsx .tsx .kt .rs .swift .scala .php .rb .sh .pl .r .lua .sql .css .el
"""
FORMATS = {
    "plain": Format("a plain text", (".txt", ".text", ".log"), in_text=True),
    "markdown": Format("a Markdown document", (".md", ".markdown"), in_text=True),
    "rst": Format("a reStructuredText document", (".rst", ".rest"), in_text=True),
    "asciidoc": Format("an AsciiDoc document", (".adoc", ".asciidoc"), in_text=True),
    "latex": Format("a LaTeX document", (".tex", ".ltx"), in_text=True),
    "wikitext": Format("a wiki article", (".wiki", ".mediawiki"), in_text=True),
    "docbook": Format("an XML document", (".docbook", ".dbk", ".xml"), module="elements"),
    "html": Format("a web page", (".html", ".htm", ".xhtml"), needs="trafilatura"),
    "pdf": Format("a PDF", (".pdf",), needs="pypdfium2"),
    "docx": Format("a Word document", (".docx",)),
    "odt": Format("an OpenDocument text", (".odt",), module="docx"),
    "rtf": Format("an RTF document", (".rtf",)),
    "mail": Format("a message", (".eml", ".mbox")),
    "notebook": Format("a notebook", (".ipynb",), module="markdown"),
    "subtitles": Format("a subtitle file", (".srt", ".vtt"), in_text=True, module="table"),
    "table": Format("a table", (".csv", ".tsv"), in_text=True),
    "source": Format("a source file", tuple(_LANGUAGES.split()), in_text=True),
}
_BY_BYTES = ("pdf", "docx", "odt", "rtf")  # formats that are known by their first bytes, whatever the name
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument.text"  # the first entry of the archive


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a file, where its pages begin, if it has any, and the blocks that it is made of."""

    text: str
    pages: tuple[int, ...] = ()  # offsets of their first characters
    blocks: tuple[Block, ...] | None = None  # None: to be detected in the text


@dataclass(frozen=True, slots=True)
class Limits:
    """How much reading one file that is not plain text may cost; the defaults leave room for ten thousand pages."""

    seconds: float = 60  # with the start of the reader process
    memory: int = 1_000_000_000  # bytes, beside the file and the reader's own; on Linux only
    characters: int = 50_000_000  # of the text

    def too_large(self) -> str:
        return f"needs more than {self.memory / 1e9:g} GB of memory to read"

    def too_long(self) -> str:
        return f"holds more than {self.characters:,} characters of text"


class TextBuilder:
    """Puts the text of a file together from what its reader adds, block by block, with an empty line between them."""

    def __init__(self, limits: Limits, what: str) -> None:
        self.limits, self._what = limits, what  # what: the format, with its article
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []

    def add(self, text: str, kind: BlockKind = "prose", level: int = 0) -> None:
        """Add a block; one without text is left out. Items of lists get a dash; what a shell was told is code."""
        text = text.rstrip().strip("\r\n") if kind == "code" else text.strip()
        if not text.strip():
            return
        if kind == "prose" and PROMPT.match(text):
            kind = "code"
        follows = self._blocks and self._blocks[-1].kind == kind and self._blocks[-1].span.end == self._length
        separator = ("\n" if follows and kind in ("list", "table", "code") else "\n\n") if self._parts else ""
        text = f"- {text}" if kind == "list" else text
        start = self._length + len(separator)
        self._parts += (separator, text)
        self._length = start + len(text)
        if self._length > self.limits.characters:
            raise InputError(self.limits.too_long())
        if separator == "\n":
            self._blocks[-1] = Block(Span(self._blocks[-1].span.start, self._length), kind, level)
        elif kind != "prose":
            self._blocks.append(Block(Span(start, self._length), kind, level))

    def reading(self) -> Reading:
        """The whole; InputError if there is no text."""
        if not self._parts:
            raise InputError(f"is {self._what} that holds no text")
        text = "".join(self._parts)
        _check_text(text)
        return Reading(text, (), finished(text, self._blocks))


def without(text: str, opening: str, closing: str) -> str:
    """The text without what stands between two marks, such as comments; one that is not closed stays."""
    parts, end = [], 0
    while (start := text.find(opening, end)) >= 0 and (closed := text.find(closing, start + len(opening))) >= 0:
        parts.append(text[end:start])
        end = closed + len(closing)
    return "".join(parts) + text[end:]


def read(
    data: bytes,
    name: str = "",
    encoding: str | None = None,
    *,
    pool: "ReaderPool | None" = None,
    file: "FileRead | None" = None,
) -> Reading:
    """The text of a file; InputError says why it has none, MissingExtra what must be installed to read it.

    The processes are those of `pool`, with its limits; `file` lets another thread stop the reading.
    """
    kind = kind_of(data, name)
    if kind == "plain":
        return Reading(decode(data, encoding))
    if not _installed(kind):
        raise missing_extra("readers", f"is {kind.upper()}, which", FORMATS[kind].needs)
    if FORMATS[kind].in_text:
        data = decode(data, encoding).encode(errors="replace")
    return (pool or _shared_pool()).read(kind, data, file)


@cache
def _shared_pool() -> "ReaderPool":
    from mudy.reading.formats.pool import ReaderPool

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
    kind = next((kind for kind, form in FORMATS.items() if ending in form.endings), None)
    if kind is not None:
        return "plain" if kind in _BY_BYTES else kind
    return "html" if data[:1024].lstrip().lower().startswith((b"<!doctype html", b"<html")) else "plain"


def endings() -> tuple[str, ...]:
    """The endings of files that can be read here, with what is installed."""
    return tuple(ending for kind, form in FORMATS.items() if _installed(kind) for ending in form.endings)


def _installed(kind: str) -> bool:
    return not FORMATS[kind].needs or find_spec(FORMATS[kind].needs) is not None


def is_pattern(argument: str) -> bool:
    """Whether an argument is a pattern that no shell has expanded, and not the name of a file."""
    return has_magic(argument) and not os.path.lexists(argument)


def matching_files(argument: str) -> list[str]:
    if not is_pattern(argument):
        return [argument]
    pattern = str(Path(argument).expanduser())
    return sorted(path for path in glob(pattern, recursive=True) if not Path(path).is_dir())  # noqa: PTH207 (absolute too)


_BYTE_ORDER_MARKS = (  # a UTF-32 mark begins with that of UTF-16, so it is looked for first
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
ZIP = b"PK\x03\x04"
_SIGNATURES = {  # how files begin that hold no plain text
    b"\x89PNG\r\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    ZIP: "a ZIP archive (EPUB files are such)",
    b"\x1f\x8b\x08": "a gzip archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"7z\xbc\xaf\x27": "a 7-Zip archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"\xd0\xcf\x11\xe0": "an old Microsoft Office document",
    b"\x7fELF": "a program",
    b"SQLite format 3\x00": "an SQLite database",
}
CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
CONTROL_SHARE = 0.02  # of a text's beginning; above it, the text is none


def decode(data: bytes, encoding: str | None = None) -> str:
    """The text that bytes stand for: in the encoding given, else in that of their byte-order mark, else in UTF-8."""
    for beginning in _SIGNATURES:
        if data.startswith(beginning):
            raise InputError(not_text(beginning))
    mark, marked = next(((m, e) for m, e in _BYTE_ORDER_MARKS if data.startswith(m)), (b"", "utf-8"))
    try:
        given = codecs.lookup(encoding or marked).name
        if encoding is not None and not marked.startswith(given) and not given.startswith(marked):
            mark, marked = b"", encoding  # else it is utf-16-le with utf-16, or utf-8 with utf-8-sig
        if encoding is None and not mark and (nul := data.find(0, 0, 4096)) >= 0:
            reason = f"its byte at offset {nul:,} is NUL; if it is UTF-16, pass --encoding utf-16-le or utf-16-be"
            raise InputError(f"looks like a binary file, not plain text: {reason}")
        text = _decoded(data[len(mark) :], marked, len(mark))
    except LookupError:
        raise SettingError(f"{encoding!r} is not a text encoding; try utf-16, latin-1 or cp1252.") from None
    _check_text(text)
    return text


def not_text(beginning: bytes) -> str:
    """The message for a file that begins like one of another format."""
    return f"looks like {_SIGNATURES[beginning]}, not plain text; convert it to text first"


def _decoded(data: bytes, encoding: str, skipped: int) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        place = f"byte 0x{data[error.start]:02x} at offset {error.start + skipped:,}"
        line = data.count(b"\n", 0, error.start) + 1
        other = "latin-1 or cp1252" if encoding == "utf-8" else "utf-8"
        raise InputError(
            f"is not {encoding.upper()}: {place} (line {line:,}) cannot be decoded; "
            f"name the file's encoding, such as --encoding {other.split()[0]}"
        ) from None
    except LookupError:
        raise
    except Exception as error:  # of whatever kind: some of Python's encodings raise their own
        raise InputError(f"is not {encoding.upper()}: {error}") from None


def _check_text(text: str) -> None:
    if (nul := text.find("\0")) >= 0:
        raise InputError(f"looks like a binary file, not plain text: its character at offset {nul:,} is NUL")
    sample = text[:4096]
    found = len(CONTROL.findall(sample))
    if found > max(2, CONTROL_SHARE * len(sample)):
        raise InputError(
            f"looks like a binary file, not plain text: {found:,} of its first {len(sample):,} characters are control "
            "characters"
        )
