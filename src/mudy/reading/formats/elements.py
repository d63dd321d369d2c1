"""Documents of elements within elements (HTML, DocBook, OpenDocument) -> pieces of text, each of one kind.

And DocBook and other XML of text (TEI, JATS): titles, paragraphs, lists, tables and code; no data about the file.
"""

import re
from collections.abc import Iterable, Mapping
from html.entities import html5
from typing import NamedTuple
from xml.parsers import expat

from mudy.errors import InputError
from mudy.reading.document import BlockKind
from mudy.reading.formats import TextBuilder

_DEEPEST = 1000  # elements within elements; more is no document but a trap
# Which kind a piece is of, if it is in several.
_FIRST: tuple[BlockKind, ...] = ("code", "title", "heading", "table", "quotation", "list")


class Piece(NamedTuple):
    """The text between two breaks of a document."""

    text: str
    kind: BlockKind
    level: int = 0
    menu: bool = False  # whether it is but a short link


class ElementWalker:
    """Collects pieces while it is told of the elements and the text of a document; one subclass per vocabulary."""

    breaks: frozenset[str]  # elements at which a piece of text ends
    skipped: frozenset[str]  # elements without text of the document
    row = "tr"  # the cells of one such element are one piece
    spaces: Mapping[str, str] = {}  # elements that stand for white space
    longest_link = 80  # characters of a piece that is all links, and belongs to a menu

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._inside: list[tuple[str, BlockKind | None, int]] = []  # the elements around: tag, kind and level
        self._buffer: list[str] = []
        self._row: list[str] = []
        self._linked = self._skipped = 0

    def kind(self, tag: str, attributes: Mapping[str, str]) -> tuple[BlockKind | None, int]:
        """The kind of block that an element makes of its text, and the level of a heading."""
        raise NotImplementedError

    def is_skipped(self, tag: str, attributes: Mapping[str, str]) -> bool:  # noqa: ARG002 (others look at them)
        return tag in self.skipped

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self._inside) >= _DEEPEST:
            raise InputError(f"nests more than {_DEEPEST:,} elements, which no document does")
        if tag in self.breaks:
            self.flush()
        if self._skipped or self.is_skipped(tag, attributes):
            self._skipped += 1
        self._inside.append((tag, *self.kind(tag, attributes)))
        self.text(self.spaces.get(tag, ""))

    def end(self, tag: str) -> None:
        if tag in self.breaks:
            self.flush()
        if tag == self.row and self._row:
            self.pieces.append(Piece(" | ".join(self._row), "table"))
            self._row = []
        self._inside.pop()
        self._skipped = max(self._skipped - 1, 0)

    def text(self, text: str) -> None:
        if text and not self._skipped:
            self._buffer.append(text)
            self._linked += len(text.strip()) if any(tag == "a" for tag, _, _ in self._inside) else 0

    def flush(self) -> None:
        text, linked = "".join(self._buffer), self._linked
        self._buffer, self._linked = [], 0
        if not text.strip():
            return
        kinds = {kind: level for _, kind, level in self._inside if kind}
        kind: BlockKind = next((kind for kind in _FIRST if kind in kinds), "prose")
        text = text if kind == "code" else " ".join(text.split())
        if kind == "table":
            self._row.append(text)
        else:
            menu = linked >= len(text) and len(text) < self.longest_link
            self.pieces.append(Piece(text, kind, kinds.get(kind, 0), menu))


def read_xml(builder: TextBuilder, walker: ElementWalker, chunks: Iterable[bytes]) -> None:
    """Add the text of an XML document, of which a walker is told by the names of elements without namespaces."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.UseForeignDTD(True)  # an entity that is not declared is left out

    def start(name: str, attributes: dict[str, str]) -> None:
        walker.start(_local(name), {_local(key): value for key, value in attributes.items()})

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: walker.end(_local(name))
    parser.CharacterDataHandler = walker.text
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise InputError(f"is broken XML ({error})") from None
    walker.flush()
    for piece in walker.pieces:
        builder.add(piece.text, piece.kind, piece.level)


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


# -- DocBook and its like ---------------------------------------------------------------------------------------------

_BREAK_TAGS = """
para simpara p title head subtitle section sect1 sect2 sect3 sect4 sect5 chapter article book appendix preface body sec
listitem item term entry cell row programlisting screen synopsis literallayout cmdsynopsis blockquote note formalpara
abstract caption member question answer qandaentry refsect1 refnamediv refpurpose tp div ab lg l
"""
_SKIPPED_TAGS = """
authorgroup author date releaseinfo copyright legalnotice indexterm keywordset pubdate edition othercredit revhistory
remark comment anchor bibliography ref-list journal-meta contrib-group history permissions teiHeader imagedata email
"""
_SECTION_TAGS = """
book article chapter appendix preface part section sect1 sect2 sect3 sect4 sect5 simplesect refsect1 sec div reference
"""
_KINDS: dict[str, BlockKind] = {
    **dict.fromkeys(("programlisting", "screen", "synopsis", "literallayout", "cmdsynopsis", "code-block"), "code"),
    **dict.fromkeys(("listitem", "item", "member"), "list"),
    **dict.fromkeys(("entry", "cell", "td", "th"), "table"),
}
ENTITY = re.compile(rb"&([A-Za-z][\w.-]{0,60});")
DECLARED = re.compile(rb"""<!ENTITY\s{1,9}([\w.-]{1,60})\s{1,9}["']([^"'<&%]{0,200})["']""")
_KEPT = (b"lt", b"gt", b"amp", b"quot", b"apos")  # that XML itself declares


class XmlWalker(ElementWalker):
    breaks = frozenset(_BREAK_TAGS.split())
    skipped = frozenset(_SKIPPED_TAGS.split())
    row = "row"
    sections = frozenset(_SECTION_TAGS.split())

    def kind(self, tag: str, attributes: Mapping[str, str]) -> tuple[BlockKind | None, int]:  # noqa: ARG002
        if tag in ("title", "head", "article-title"):
            return "heading", min(max(sum(around in self.sections for around, _, _ in self._inside), 1), 6)
        return _KINDS.get(tag), 0


def read_docbook(builder: TextBuilder, data: bytes) -> None:
    """The text of an XML document; an entity that it does not declare stands for its name."""
    declared = dict(DECLARED.findall(data[:100_000]))

    def value(match: re.Match[bytes]) -> bytes:
        name = match[1]
        known = html5.get(f"{name.decode()};", "")
        return match[0] if name in _KEPT else declared.get(name) or known.encode("ascii", "xmlcharrefreplace") or name

    read_xml(builder, XmlWalker(), [ENTITY.sub(value, data)])
