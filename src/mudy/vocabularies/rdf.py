"""RDF files -> statements, read by pyoxigraph (extra `vocabularies`). Nothing is fetched, and nothing can grow.

XML goes through expat first, which decodes it, replaces entities and removes the document type. Entities that lie
elsewhere or hold others are refused, and so is deep nesting: pyoxigraph would expand the one without bound, and takes
the square of the depth for the other.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import IO, Any, NamedTuple, cast
from xml.parsers import expat

from mudy._support.cancellation import check
from mudy._support.extras import from_extra
from mudy.errors import InputError

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_NO_BASE = "relative:/"  # stands before relative addresses in a file without a base, and is taken away again
_MOST_CHARACTERS, _MOST_TRIPLES, _LONGEST_ADDRESS = 2_000_000_000, 50_000_000, 4_000
_UNDETERMINED = "und"  # BCP 47: for no language, which pyoxigraph does not let be empty in XML
_TRIPLE_TERM, _MOST_TRIPLE_TERMS = "<<(", 100  # in RDF 1.2; many within one another overflow the stack
_DEEPEST, _MOST_ENTITIES, _LONGEST_ENTITY = 100, 200, 300  # in XML
_ESCAPES = str.maketrans({character: f"&#{ord(character)};" for character in '&<>"\t\n\r'})
_POSITION = re.compile(r"^Parser error at .*?: |[. ]*\(line \d+\)$")
_SHOWN = 200  # characters of a reason


class Triple(NamedTuple):
    """Subject, predicate and value: the IRI or blank node of a resource, or the text of a literal."""

    subject: str
    predicate: str
    value: str
    language: str | None  # the tag of a literal, in lower case and perhaps empty; None for a resource


def rdf_triples(blocks: Iterable[str], format_name: str, predicates: Container[str]) -> Iterator[Triple]:
    """Every statement with one of the predicates; InputError names the line of what cannot be read.

    The format is an attribute of `pyoxigraph.RdfFormat`; RDF_XML comes as the blocks of `plain_xml`.
    """
    with from_extra("vocabularies", "SKOS"):
        from pyoxigraph import Literal, RdfFormat, parse
    rdf_format, source = getattr(RdfFormat, format_name), RdfSource(blocks)
    try:
        for number, quad in enumerate(parse(cast(IO[str], source), rdf_format, base_iri=_NO_BASE)):
            if number >= _MOST_TRIPLES:
                raise InputError(f"there are more than {_MOST_TRIPLES:,} statements. Leave out all but the labels.")
            subject, predicate, value = _address(quad.subject), quad.predicate.value, quad.object
            if isinstance(value, Literal):
                text, language = value.value, _language(value.language)
            else:
                text, language = _address(value), None
            if predicate in predicates:
                yield Triple(subject, predicate, text, language)
    except SyntaxError as error:
        reason = _POSITION.sub("", str(error.msg))[:_SHOWN]
        raise InputError(f"line {error.lineno or source.block}: this is no {rdf_format.name} ({reason}).") from None


def _address(resource: Any) -> str:
    """The IRI of a resource, or the name of a blank node."""
    address = str(getattr(resource, "value", ""))
    if len(address) > _LONGEST_ADDRESS:  # of a long prefix or base that is used often, all would be copies
        raise InputError(f"an address has more than {_LONGEST_ADDRESS:,} characters: {address[:60]}...")
    return address.removeprefix(_NO_BASE) if type(resource).__name__ == "NamedNode" else f"_:{address}"


def _language(tag: str | None) -> str:
    return "" if tag is None or tag == _UNDETERMINED else tag.lower()


class RdfSource:
    """Blocks of text as a file that pyoxigraph reads."""

    def __init__(self, blocks: Iterable[str]) -> None:
        self._blocks = iter(blocks)
        self._text, self._position = "", 0  # of the block that is read
        self._characters = self._triple_terms = 0
        self.block = 0  # its number

    def read(self, size: int) -> str:
        """At most so many characters; none at the end of the last block."""
        if self._position >= len(self._text):
            check()
            self._text, self._position = self._next(), 0
        piece = self._text[self._position : self._position + size]
        self._position += size
        return piece

    def _next(self) -> str:
        """The next block that is not empty."""
        for block in self._blocks:
            self.block += 1
            self._characters += len(block)
            self._triple_terms += (self._text[-2:] + block).count(_TRIPLE_TERM)
            if self._characters > _MOST_CHARACTERS:
                raise InputError(f"there are more than {_MOST_CHARACTERS:,} characters. Leave out all but the labels.")
            if self._triple_terms > _MOST_TRIPLE_TERMS:
                raise InputError(f"more than {_MOST_TRIPLE_TERMS} statements are about statements. Leave these out.")
            if block:
                return block
        return ""


def plain_xml(stream: IO[bytes]) -> Iterator[str]:
    """XML without document type, comments and entities, a block for each line."""
    parser = expat.ParserCreate()
    parser.ordered_attributes = parser.buffer_text = True
    plain = PlainXml()
    parser.StartDoctypeDeclHandler = plain.document_type
    parser.EntityDeclHandler = plain.entity
    parser.StartElementHandler = plain.start
    parser.EndElementHandler = plain.end
    parser.CharacterDataHandler = plain.characters
    line = b"?"
    while line:
        line = stream.readline()
        try:
            parser.Parse(line, not line)
        except expat.ExpatError as error:
            raise InputError(f"line {error.lineno}: this is no XML ({expat.ErrorString(error.code)}).") from None
        except (LookupError, ValueError) as error:  # of an encoding that is not known
            raise InputError(f"this is no XML that can be read ({error}).") from None
        yield "".join(plain.pieces)
        plain.pieces.clear()


class PlainXml:
    """What expat reports, written again."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._depth = self._entities = 0

    def document_type(self, name: str, system: str | None, public: str | None, internal: bool) -> None:  # noqa: ARG002
        if system or public:
            raise InputError(f"the document type {system or public!r} lies elsewhere, and nothing is fetched.")

    def entity(
        self,
        name: str,
        parameter: bool,
        value: str | None,
        base: str | None,  # noqa: ARG002
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
        if parameter or value is None or system or public or notation:
            raise InputError(f"the entity {name!r} lies elsewhere; nothing is fetched. Leave it out.")
        self._entities += 1
        if "&" in value or len(value) > _LONGEST_ENTITY or self._entities > _MOST_ENTITIES:
            raise InputError(f"the entity {name!r} could grow without bound, and is refused.")

    def start(self, name: str, attributes: list[str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InputError(f"more than {_DEEPEST} elements are within one another.")
        self.pieces.append(f"<{name}")
        for key, value in zip(attributes[::2], attributes[1::2], strict=True):
            text = value or _UNDETERMINED if key == "xml:lang" else value
            self.pieces.append(f' {key}="{text.translate(_ESCAPES)}"')
        self.pieces.append(">")

    def end(self, name: str) -> None:
        self._depth -= 1
        self.pieces.append(f"</{name}>")

    def characters(self, text: str) -> None:
        self.pieces.append(text.translate(_ESCAPES))
