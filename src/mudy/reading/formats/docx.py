"""Word and OpenDocument texts, read as streams: headings, paragraphs, lists and the cells of tables, in their order."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from xml.parsers import expat

from mudy.errors import InputError
from mudy.reading.document import Block, BlockKind, Span
from mudy.reading.formats import ZIP, Reading, TextBuilder, not_text
from mudy.reading.formats.elements import ElementWalker, read_xml
from mudy.reading.structure import finished

DOCUMENT = "word/document.xml"
_MAX_BYTES = 100_000_000  # bytes that the document may unpack to; more is no document but a trap
_CHUNK_BYTES = 65536
_BETWEEN = "\n\n"  # two paragraphs
_DEEPEST = 1000  # elements within elements; more is no document but a trap
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others would unpack any amount at once
_NAMESPACES = (  # the namespaces of Word's own elements
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_MARKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
SKIPPED = ("pPr", "moveFrom")  # a paragraph's properties, and what was moved to another place
STYLES = "word/styles.xml"
STYLE = re.compile(
    rb'<w:style\s[^<>]{0,300}w:styleId="([^"]{1,100})"[^<>]{0,300}>\s{0,20}<w:name w:val="([^"]{1,100})"'
)
_HEADING = re.compile(r"heading ?([1-9])|title", re.I)  # a style by its name, which is English in any language
_LOOKED_AT = {name: name for name in ("p", "t", "pStyle", "numPr", "tbl", *_MARKS)} | dict.fromkeys(SKIPPED, "skipped")
ELEMENTS = {f"{space} {name}": meaning for space in _NAMESPACES for name, meaning in _LOOKED_AT.items()}
ELEMENTS["http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"] = "skipped"  # as older programs see it
BREAKS = tuple(f"{space} type" for space in _NAMESPACES)  # the attributes that tell a page break from a line break


@dataclass
class Paragraph:
    kind: BlockKind
    level: int = 0
    parts: list[str] = field(default_factory=list)


def read_docx(_builder: TextBuilder, data: bytes) -> Reading:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if DOCUMENT not in archive.namelist():
            raise InputError(not_text(ZIP))
        styles = b"".join(unpacked(archive, STYLES)) if STYLES in archive.namelist() else b""
        body = Body({key.decode(): name.decode() for key, name in STYLE.findall(styles)})
        for chunk in unpacked(archive, DOCUMENT):
            body.parser.Parse(chunk, False)
        body.parser.Parse(b"", True)
    kept = [(p, text) for p in body.paragraphs if (text := "".join(p.parts)).strip()]
    if not kept:
        raise InputError("is a Word document that holds no text")
    starts = accumulate((len(text) + len(_BETWEEN) for _, text in kept), initial=0)
    placed = [(Span(start, start + len(text)), p) for start, (p, text) in zip(starts, kept, strict=False)]
    text = _BETWEEN.join(text for _, text in kept)
    return Reading(text, (), finished(text, [Block(at, p.kind, p.level) for at, p in placed if p.kind != "prose"]))


def unpacked(archive: zipfile.ZipFile, name: str, what: str = "a Word document") -> Iterator[bytes]:
    """A file of an archive, in chunks. Its size is that of what was unpacked, never that which the archive states."""
    entry, size = archive.getinfo(name), 0
    if entry.compress_type not in _COMPRESSIONS or entry.flag_bits & 1:
        raise InputError(f"is {what} that is encrypted or packed in an unusual way; save it again")
    with archive.open(entry) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > _MAX_BYTES:
                raise InputError(f"unpacks to more than {_MAX_BYTES:,} bytes, which no document does")
            yield chunk


class Body:
    """Collects paragraphs while the document is parsed; those of a text box come before the one around it."""

    def __init__(self, styles: Mapping[str, str]) -> None:
        self.paragraphs: list[Paragraph] = []
        self._styles = styles
        self._open: list[Paragraph] = []  # the paragraphs around this place
        self._depth = 0  # elements around this place
        self._inside = Counter[str]()  # those of them that are looked at, by name
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
        element = ELEMENTS.get(name, "")
        self._inside[element] += 1
        if element == "p":
            self._open.append(Paragraph("table" if self._inside["tbl"] else "prose"))
        elif element in ("pStyle", "numPr") and self._open:
            value = next((attributes[key] for key in attributes if key.endswith(" val")), "")
            self._style(self._open[-1], element, self._styles.get(value, value))
        elif element in _MARKS and all(attributes.get(kind, "textWrapping") == "textWrapping" for kind in BREAKS):
            self._add(_MARKS[element])

    def _end(self, name: str) -> None:
        self._depth -= 1
        element = ELEMENTS.get(name, "")
        self._inside[element] -= 1
        if element == "p":
            self.paragraphs.append(self._open.pop())

    def _style(self, paragraph: Paragraph, element: str, style: str) -> None:
        if heading := _HEADING.fullmatch(style):
            paragraph.kind = "heading" if heading[1] else "title"
            paragraph.level = min(int(heading[1] or 0), 6)
        elif element == "numPr" and paragraph.kind == "prose":
            paragraph.kind = "list"

    def _characters(self, text: str) -> None:
        if self._inside["t"]:
            self._add(text)

    def _add(self, text: str) -> None:
        if self._open and not self._inside["skipped"]:
            self._open[-1].parts.append(text)


CONTENT = "content.xml"
_STYLES: dict[str, BlockKind] = {"Title": "title", "Preformatted_20_Text": "code", "Quotations": "quotation"}


class TextWalker(ElementWalker):
    """An OpenDocument text."""

    breaks = frozenset(("h", "p", "list-item", "table-cell", "table-row"))
    skipped = frozenset(
        ("annotation", "tracked-changes", "note-citation", "table-of-content", "forms", "scripts", "automatic-styles")
    )
    row = "table-row"
    spaces: Mapping[str, str] = {"s": " ", "tab": "\t", "line-break": "\n"}

    def __init__(self) -> None:
        super().__init__()
        self._parents: dict[str, str] = {}  # automatic style -> the style that it changes

    def kind(self, tag: str, attributes: Mapping[str, str]) -> tuple[BlockKind | None, int]:
        if tag == "style":
            self._parents[attributes.get("name", "")] = attributes.get("parent-style-name", "")
        elif tag == "h":
            level = attributes.get("outline-level", "1")
            return "heading", min(int(level), 6) if level.isdigit() else 1
        elif tag == "p":
            style = attributes.get("style-name", "")
            return _STYLES.get(self._parents.get(style) or style), 0
        return {"list-item": "list", "table-cell": "table"}.get(tag), 0  # type: ignore[return-value]


def read_odt(builder: TextBuilder, data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if CONTENT not in archive.namelist():
            raise InputError("is an OpenDocument file without content")
        read_xml(builder, TextWalker(), unpacked(archive, CONTENT, "an OpenDocument text"))
