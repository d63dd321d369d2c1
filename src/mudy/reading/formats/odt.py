"""OpenDocument text: headings, paragraphs, lists and tables of its content."""

import io
import zipfile
from collections.abc import Mapping

from mudy.errors import InputError
from mudy.reading.document import BlockKind
from mudy.reading.formats.docx import unpacked
from mudy.reading.formats.elements import ElementWalker, read_xml
from mudy.reading.formats.reading import Limits, Reading

CONTENT = "content.xml"
_STYLES: dict[str, BlockKind] = {"Title": "title", "Preformatted_20_Text": "code", "Quotations": "quotation"}


class TextWalker(ElementWalker):
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


def read_odt(data: bytes, limits: Limits) -> Reading:
    what = "an OpenDocument text"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if CONTENT not in archive.namelist():
            raise InputError("is an OpenDocument file without content")
        return read_xml(TextWalker(), unpacked(archive, CONTENT, what), limits, what)
