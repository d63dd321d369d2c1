"""Word documents: paragraphs and the cells of tables, in their order, with an empty line between them.

The document is read as a stream and never held as a tree, so memory grows with its text alone; cells are not spread
over the columns that they span, and other parts of the file, such as pictures, are not unpacked.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import IO
from xml.parsers import expat

from mudy.errors import InputError
from mudy.reading.formats.reading import ZIP, Limits, Reading, not_text

DOCUMENT = "word/document.xml"
_MAX_BYTES = 100_000_000  # bytes that the document may unpack to; more is no document but a trap
_CHUNK_BYTES = 65536
_DEEPEST = 1000  # elements within elements; more is no document but a trap
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others would unpack any amount at once
_NAMESPACES = (  # the namespaces of Word's own elements
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_MARKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
SKIPPED = ("pPr", "moveFrom")  # a paragraph's properties, and what was moved to another place
ELEMENTS = {  # all that are looked at
    **{f"{namespace} {name}": name for namespace in _NAMESPACES for name in ("p", "t", *_MARKS)},
    **{f"{namespace} {name}": "skipped" for namespace in _NAMESPACES for name in SKIPPED},
    "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback": "skipped",  # the same for older programs
}
BREAKS = tuple(
    f"{namespace} type" for namespace in _NAMESPACES
)  # the attributes that tell a page break from a line break


def read_docx(data: bytes, limits: Limits) -> Reading:
    """The text of a document's body."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if DOCUMENT not in archive.namelist():
            raise InputError(not_text(ZIP))
        entry = archive.getinfo(DOCUMENT)
        if entry.compress_type not in _COMPRESSIONS or entry.flag_bits & 1:
            raise InputError("is a Word document that is encrypted or packed in an unusual way; save it as .docx again")
        with archive.open(entry) as stream:
            paragraphs = [text for text in _paragraphs(stream, limits) if text.strip()]
    if not paragraphs:
        raise InputError("is a Word document that holds no text")
    return Reading("\n\n".join(paragraphs))


def _paragraphs(stream: IO[bytes], limits: Limits) -> Iterator[str]:
    """The text of each paragraph. Sizes are those of what was unpacked, never those that the file states."""
    body, unpacked, characters = Body(), 0, 0
    while chunk := stream.read(_CHUNK_BYTES):
        unpacked += len(chunk)
        if unpacked > _MAX_BYTES:
            raise InputError(f"unpacks to more than {_MAX_BYTES:,} bytes, which no document does")
        body.parser.Parse(chunk, False)
        characters += sum(map(len, body.finished))
        if characters + body.unfinished > limits.characters:
            raise InputError(limits.too_long())
        yield from body.finished
        body.finished.clear()
    body.parser.Parse(b"", True)
    yield from body.finished


class Body:
    """Collects the text of paragraphs while the document is parsed.

    A text box stands inside a paragraph and holds paragraphs of its own: these come first.
    """

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.unfinished = 0  # characters of paragraphs that have not ended
        self._open: list[list[str]] = []  # the paragraphs around this place
        self._depth = self._in_text = self._skipped = 0  # how deep this place is in elements, and in some of them
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.buffer_text = True

    def _doctype(self, *_: object) -> None:
        raise InputError("is a Word document with a DTD, which Word does not write; save it as .docx again")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InputError(f"nests more than {_DEEPEST:,} elements, which no document does")
        match ELEMENTS.get(name):
            case None:
                pass
            case "p":
                self._open.append([])
            case "t":
                self._in_text += 1
            case "skipped":
                self._skipped += 1
            case mark:
                if all(attributes.get(kind, "textWrapping") == "textWrapping" for kind in BREAKS):
                    self._add(_MARKS[mark])

    def _end(self, name: str) -> None:
        self._depth -= 1
        match ELEMENTS.get(name):
            case "p":
                text = "".join(self._open.pop())
                self.unfinished -= len(text)
                self.finished.append(text)
            case "t":
                self._in_text -= 1
            case "skipped":
                self._skipped -= 1

    def _characters(self, text: str) -> None:
        if self._in_text:
            self._add(text)

    def _add(self, text: str) -> None:
        if self._open and not self._skipped:
            self._open[-1].append(text)
            self.unfinished += len(text)
