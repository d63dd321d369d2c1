"""DocBook and other XML of text (TEI, JATS): titles, paragraphs, lists, tables and code; no data about the file."""

import re
from collections.abc import Mapping
from html.entities import html5

from mudy.reading.document import BlockKind
from mudy.reading.formats.elements import ElementWalker, read_xml
from mudy.reading.formats.reading import Limits, Reading

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


def read_docbook(data: bytes, limits: Limits) -> Reading:
    """The text of an XML document; an entity that it does not declare stands for its name."""
    declared = dict(DECLARED.findall(data[:100_000]))

    def value(match: re.Match[bytes]) -> bytes:
        name = match[1]
        known = html5.get(f"{name.decode()};", "")
        return match[0] if name in _KEPT else declared.get(name) or known.encode("ascii", "xmlcharrefreplace") or name

    return read_xml(XmlWalker(), [ENTITY.sub(value, data)], limits, "an XML document")
