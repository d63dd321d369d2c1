"""RDF/XML -> statements (W3C Recommendation, RDF 1.1 XML Syntax), as far as vocabularies use them.

Nothing is ever fetched: a document type that lies elsewhere, and entities that do, are refused. Entities that stand for
a plain text are read, since editors write namespaces so; one that holds others is refused, because it could grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO
from urllib.parse import urljoin
from xml.parsers import expat

from mudy.cancellation import check
from mudy.errors import InputError
from mudy.vocabularies.triples import RDF, Triple

_XML = "http://www.w3.org/XML/1998/namespace"
_BLOCK = 1 << 16  # bytes read at once
_MOST_ENTITIES, _LONGEST_ENTITY = 200, 300


@dataclass(slots=True)
class Element:
    """An open element: of a resource, or of a property of the resource around it."""

    language: str
    base: str
    resource: str | None = None  # whose properties its children are
    predicate: str | None = None  # of a property
    subject: str = ""
    value: str | None = None  # of a property: the resource that it names or holds
    text: list[str] = field(default_factory=list)


class RdfXmlReader:
    """One walk through a file."""

    def __init__(self) -> None:
        self._open: list[Element] = []
        self._found: list[Triple] = []
        self._entities = self._blank_nodes = 0
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._parser.StartDoctypeDeclHandler = self._document_type
        self._parser.EntityDeclHandler = self._entity
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def triples(self, stream: IO[bytes]) -> Iterator[Triple]:
        """Every statement; InputError names the line of what cannot be read."""
        block = b"?"
        while block:
            check()
            block = stream.read(_BLOCK)
            try:
                self._parser.Parse(block, not block)
            except expat.ExpatError as error:
                raise InputError(f"line {error.lineno}: this is no XML ({expat.ErrorString(error.code)}).") from None
            except ValueError as error:  # of an encoding that is not known
                raise InputError(f"this is no XML that can be read ({error}).") from None
            yield from self._found
            self._found.clear()

    # -- What could reach beyond the file -----------------------------------------------------------------------------

    def _document_type(self, name: str, system: str | None, public: str | None, internal: bool) -> None:  # noqa: ARG002
        if system or public:
            raise InputError(f"the document type {system or public!r} lies elsewhere, and nothing is fetched.")

    def _entity(
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

    # -- Elements -----------------------------------------------------------------------------------------------------

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        around = self._open[-1] if self._open else Element("", "")
        language = attributes.get(f"{_XML}}}lang", around.language).lower()
        element = Element(language, attributes.get(f"{_XML}}}base", around.base))
        self._open.append(element)
        if name == f"{RDF}}}RDF" and len(self._open) == 1:
            return
        if around.resource is not None:
            self._start_property(element, around.resource, name, attributes)
        else:
            self._start_resource(element, around, name, attributes)

    def _start_resource(self, element: Element, around: Element, name: str, attributes: Mapping[str, str]) -> None:
        element.resource = self._named(element, attributes, "about") or self._blank()
        if around.predicate is not None:
            around.value = element.resource
        if name != f"{RDF}}}Description":
            self._found.append(Triple(element.resource, f"{RDF}type", name.replace("}", "", 1)))
        self._literals(element, element.resource, attributes)

    def _start_property(self, element: Element, subject: str, name: str, attributes: Mapping[str, str]) -> None:
        element.predicate, element.subject = name.replace("}", "", 1), subject
        element.value = self._named(element, attributes, "resource")
        if attributes.get(f"{RDF}}}parseType") == "Resource":
            element.value = element.resource = self._blank()
        elif described := [key for key in attributes if not key.startswith((RDF, _XML))]:
            element.value = element.value or self._blank()
            self._literals(element, element.value, {key: attributes[key] for key in described})

    def _named(self, element: Element, attributes: Mapping[str, str], attribute: str) -> str | None:
        """The resource that an element names, if it does."""
        if (iri := attributes.get(f"{RDF}}}{attribute}")) is not None:
            return urljoin(element.base, iri) if element.base else iri
        if attribute == "about" and (fragment := attributes.get(f"{RDF}}}ID")) is not None:
            return urljoin(element.base, f"#{fragment}") if element.base else f"#{fragment}"
        node = attributes.get(f"{RDF}}}nodeID")
        return None if node is None else f"_:{node}"

    def _blank(self) -> str:
        self._blank_nodes += 1
        return f"_:[{self._blank_nodes}]"

    def _literals(self, element: Element, subject: str, attributes: Mapping[str, str]) -> None:
        """Properties that are written as attributes."""
        for name, value in attributes.items():
            if not name.startswith((RDF, _XML)):
                self._found.append(Triple(subject, name.replace("}", "", 1), value, element.language, literal=True))

    def _characters(self, text: str) -> None:
        if self._open and self._open[-1].predicate is not None:
            self._open[-1].text.append(text)

    def _end(self, name: str) -> None:  # noqa: ARG002
        element = self._open.pop()
        if element.predicate is None:
            return
        if element.value is not None:
            self._found.append(Triple(element.subject, element.predicate, element.value))
        else:
            text = "".join(element.text)
            self._found.append(Triple(element.subject, element.predicate, text, element.language, literal=True))
