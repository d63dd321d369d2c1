"""A statement of RDF, as both of its readers give it."""

from __future__ import annotations

from typing import NamedTuple

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


class Triple(NamedTuple):
    """Subject, predicate and value: the IRI or blank node of a resource, or the text of a literal."""

    subject: str
    predicate: str
    value: str
    language: str = ""  # the tag of a literal, in lower case
    literal: bool = False
