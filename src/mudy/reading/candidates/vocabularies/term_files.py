"""Files -> concepts: tables, JSON, lists of labels, and SKOS."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mudy.errors import InputError, MudyError, SettingError
from mudy.reading.candidates.vocabularies import Concept, concept_of
from mudy.reading.candidates.vocabularies.skos import plain_xml, rdf_triples, skos_concepts, speaks
from mudy.reading.formats import decode

COLUMNS: Mapping[str, tuple[str, ...]] = {  # accepted column names, in lower case without spaces and punctuation
    "id": ("id", "uri", "iri", "code", "notation", "identifier", "concept"),
    "label": ("label", "preflabel", "preferredlabel", "preferred", "term", "name", "tag", "descriptor"),
    "alternatives": ("alternatives", "altlabel", "altlabels", "alternative", "synonyms", "synonym", "aliases"),
    "language": ("language", "lang"),
}
_SEPARATORS = ("|", ";")  # between alternatives in one cell
_LONGEST_CELL = 1 << 20
_RDF_FORMATS = {".ttl": "TURTLE", ".nt": "N_TRIPLES", ".trig": "TRIG", ".nq": "N_QUADS"}
_XML = (".rdf", ".xml")


def concepts_in(path: Path, language: str, encoding: str | None) -> Iterator[Concept]:
    """The concepts of a file, read by its suffix; every error begins with its name."""
    suffix = path.suffix.lower()
    if suffix not in (*_READERS, *_RDF_FORMATS, *_XML):
        known = ", ".join(sorted((*_READERS, *_RDF_FORMATS, *_XML)))
        raise SettingError(f"{path}: a vocabulary file ends in one of {known}.")
    try:
        if suffix in _XML and encoding is not None:
            raise SettingError("XML declares its own encoding; pass none.")
        data = path.read_bytes()
        try:
            text = plain_xml(data) if suffix in _XML else decode(data, encoding)
        except LookupError:
            raise SettingError(f"{encoding!r} is not a text encoding; try utf-16, latin-1 or cp1252.") from None
        if suffix in _READERS:
            yield from _READERS[suffix](text, language)
        else:
            yield from skos_concepts(rdf_triples(text, _RDF_FORMATS.get(suffix, "RDF_XML")), language)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except RecursionError:
        raise InputError(f"{path}: it is nested too deeply.") from None
    except MudyError as error:
        raise type(error)(f"{path}: {error}") from None


def _lines(text: str, _language: str) -> Iterator[Concept]:
    """One label per line; blank lines and lines that start with # are skipped."""
    lines = (line.strip() for line in text.splitlines())
    return (Concept(line, line) for line in lines if line and not line.startswith("#"))


def _json(text: str, _language: str) -> Iterator[Concept]:
    value = _parsed(text)
    if isinstance(value, Mapping) and ("@context" in value or "@graph" in value):
        raise InputError("this is JSON-LD, which is not supported. Export the vocabulary as Turtle (.ttl).")
    entries = value.get("concepts") if isinstance(value, Mapping) else value
    if not isinstance(entries, list):
        raise InputError('a list of labels or objects is needed, or {"concepts": [...]}.')
    return map(concept_of, entries)


def _json_lines(text: str, _language: str) -> Iterator[Concept]:
    return (concept_of(_parsed(line)) for line in text.split("\n") if line.strip())


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"this is not JSON ({error}).") from None


def _table(text: str, language: str, delimiters: str = ",;\t") -> Iterator[Concept]:
    """Rows below a header that names a column of labels; rows with the same id are one concept."""
    delimiter = max(delimiters, key=text.split("\n", 1)[0].count)
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = _columns(next(rows, []))
        for row in rows:
            if any(cell.strip() for cell in row):
                yield _row_concept(row, columns, language)
    except csv.Error as error:
        raise InputError(f"line {rows.line_num}: {error}.") from None


def _columns(header: list[str]) -> dict[str, int]:
    names = ["".join(filter(str.isalnum, name.lower())) for name in header]
    found = {meaning: [names.index(name) for name in known if name in names] for meaning, known in COLUMNS.items()}
    columns = {meaning: numbers[0] for meaning, numbers in found.items() if numbers}
    if "label" not in columns:
        shown = ", ".join(map(repr, header[:8])) or "nothing"
        raise InputError(
            f"the header has no column `label`, but {shown}. Known columns are {', '.join(COLUMNS)}; for labels alone, "
            "one per line, use a .txt file."
        )
    return columns


def _row_concept(row: list[str], columns: Mapping[str, int], language: str) -> Concept:
    def cell(name: str) -> str:
        column = columns.get(name, len(row))
        return row[column].strip() if column < len(row) else ""

    label = cell("label") if speaks(cell("language"), language) else ""
    alternatives = cell("alternatives") if label else ""
    separator = next((mark for mark in _SEPARATORS if mark in alternatives), "|")
    parts = map(str.strip, alternatives.split(separator))
    return Concept(cell("id") or label, label, tuple(part for part in parts if part))


_READERS: Mapping[str, Callable[[str, str], Iterator[Concept]]] = {
    ".txt": _lines,
    ".list": _lines,
    ".json": _json,
    ".jsonl": _json_lines,
    ".csv": _table,
    ".tsv": partial(_table, delimiters="\t"),
}
