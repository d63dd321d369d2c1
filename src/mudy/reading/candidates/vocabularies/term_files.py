"""Files -> concepts: tables, JSON, lists of labels; and SKOS and SKOS-XL in files of RDF.

pyoxigraph (extra `vocabularies`) parses RDF. XML goes through expat first: external and nested entities are refused, as
pyoxigraph would expand them without bound, and so is deep nesting, since its time is quadratic in the depth.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from xml.parsers import expat

from mudy._support.callbacks import cancellable
from mudy._support.extras import from_extra
from mudy.errors import InputError, MudyError, SettingError
from mudy.reading.candidates.vocabularies import Concept, concept_of
from mudy.reading.formats import decode

COLUMNS: Mapping[str, tuple[str, ...]] = {  # accepted column names, in lower case without spaces and punctuation
    "id": ("id", "uri", "iri", "code", "notation", "identifier", "concept"),
    "label": ("label", "preflabel", "preferredlabel", "preferred", "term", "name", "tag", "descriptor"),
    "alternatives": ("alternatives", "altlabel", "altlabels", "alternative", "synonyms", "synonym", "aliases"),
    "language": ("language", "lang"),
}
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
        text = plain_xml(data) if suffix in _XML else decode(data, encoding)
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
    parts = map(str.strip, alternatives.split("|" if "|" in alternatives else ";"))
    return Concept(cell("id") or label, label, tuple(part for part in parts if part))


_READERS: Mapping[str, Callable[[str, str], Iterator[Concept]]] = {
    ".txt": _lines,
    ".list": _lines,
    ".json": _json,
    ".jsonl": _json_lines,
    ".csv": _table,
    ".tsv": partial(_table, delimiters="\t"),
}

# -- SKOS -------------------------------------------------------------------------------------------------------------

SKOS, SKOS_XL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2008/05/skos-xl#"
_KINDS = ("prefLabel", "altLabel", "hiddenLabel")
_LABELS = {f"{SKOS}{kind}": kind for kind in _KINDS}
_LABEL_NODES = {f"{SKOS_XL}{kind}": kind for kind in _KINDS}
_FORM = f"{SKOS_XL}literalForm"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_NO_CONCEPTS = frozenset(f"{SKOS}{name}" for name in ("ConceptScheme", "Collection", "OrderedCollection"))

Label = tuple[str, str, str]  # kind, language, text
Triple = tuple[str, str, str, str | None]  # subject, predicate, address or text, and the tag of a text (may be empty)
_NO_BASE = "relative:/"  # base of relative addresses in a file without one; removed again
_LONGEST_ADDRESS = 4_000
_UNDETERMINED = "und"  # BCP 47: no language; pyoxigraph accepts no empty tag in XML
_TRIPLE_TERM, _MOST_TRIPLE_TERMS = "<<(", 100  # in RDF 1.2; many within one another overflow the stack
_DEEPEST, _MOST_ENTITIES, _LONGEST_ENTITY = 100, 200, 300  # in XML
_ESCAPES = str.maketrans({character: f"&#{ord(character)};" for character in '&<>"\t\n\r'})
_SHOWN = 200  # characters of a reason


def skos_concepts(triples: Iterable[Triple], language: str) -> Iterator[Concept]:
    """Each concept with its labels in a language, or without a language tag; with an empty label if it has none."""
    labels: dict[str, list[Label]] = {}  # of each resource
    nodes: dict[str, list[tuple[str, str]]] = {}  # of each resource: kind and label node (SKOS-XL)
    forms: dict[str, tuple[str, str]] = {}  # label node -> language, text
    left_out, other_languages = set[str](), set[str]()
    for subject, predicate, value, tag in triples:
        kind = _LABEL_NODES.get(predicate) if tag is None else _LABELS.get(predicate)
        if kind is not None or (predicate == _TYPE and value == f"{SKOS}Concept"):
            labels.setdefault(subject, [])
        if tag is not None and (kind is not None or predicate == _FORM):
            if not speaks(tag, language):
                other_languages.add(tag)
            elif kind is not None:
                labels[subject].append((kind, tag, value))
            else:
                forms[subject] = tag, value
        elif kind is not None:
            nodes.setdefault(subject, []).append((kind, value))
        elif (predicate == _TYPE and value in _NO_CONCEPTS) or (predicate == _DEPRECATED and value in ("true", "1")):
            left_out.add(subject)
    for subject, named in nodes.items():
        labels[subject] += [(kind, *forms[node]) for kind, node in named if node in forms]
    concepts = {subject: listed for subject, listed in labels.items() if subject not in left_out}
    if other_languages and not any(concepts.values()):
        known = ", ".join(sorted(other_languages))
        raise InputError(f"no label is in the language {language!r}; there are labels in {known}. Choose one of these.")
    blank_nodes = count(1)
    preferred = {language.lower(): 0, "": 1}  # then the language's regions
    for subject, listed in concepts.items():
        listed.sort(key=lambda label: (_KINDS.index(label[0]), preferred.get(label[1], 2)))
        texts = [text for _, _, text in listed]
        name = f"_:{next(blank_nodes)}" if subject.startswith("_:") else subject  # parsers invent names for these
        yield Concept(name, texts[0] if texts else "", tuple(texts[1:]))


def speaks(tag: str, language: str) -> bool:
    """Whether a language tag is the requested language, one of its regions, or empty."""
    tag = tag.lower()
    return tag in ("", language.lower()) or tag.startswith(f"{language.lower()}-")


def rdf_triples(text: str, format_name: str) -> Iterator[Triple]:
    """Every statement of a text in a format of `pyoxigraph.RdfFormat`; RDF_XML comes as `plain_xml` gives it."""
    with from_extra("vocabularies", "SKOS"):
        from pyoxigraph import Literal, RdfFormat, parse
    if text.count(_TRIPLE_TERM) > _MOST_TRIPLE_TERMS:
        raise InputError(f"more than {_MOST_TRIPLE_TERMS} statements are about statements. Leave these out.")
    rdf_format = getattr(RdfFormat, format_name)
    try:
        for quad in cancellable(parse(text, rdf_format, base_iri=_NO_BASE), every=1024):
            subject, predicate, value = _address(quad.subject), quad.predicate.value, quad.object
            if isinstance(value, Literal):
                tag = (value.language or "").lower()
                yield subject, predicate, value.value, "" if tag == _UNDETERMINED else tag
            else:
                yield subject, predicate, _address(value), None
    except SyntaxError as error:
        raise InputError(f"this is not {rdf_format.name} ({str(error.msg)[:_SHOWN]}).") from None


def _address(resource: Any) -> str:
    """The IRI of a resource, or the name of a blank node."""
    address = str(getattr(resource, "value", ""))
    if len(address) > _LONGEST_ADDRESS:  # of a long prefix or base that is used often, all would be copies
        raise InputError(f"an address has more than {_LONGEST_ADDRESS:,} characters: {address[:60]}...")
    return address.removeprefix(_NO_BASE) if type(resource).__name__ == "NamedNode" else f"_:{address}"


def plain_xml(data: bytes) -> str:
    """XML without document type, comments and entities."""
    parser = expat.ParserCreate()
    parser.ordered_attributes = parser.buffer_text = True
    pieces: list[str] = []
    depth = entities = 0

    def document_type(_name: str, system: str | None, public: str | None, _internal: bool) -> None:
        if system or public:
            raise InputError(f"the document type {system or public!r} is external, and nothing is fetched.")

    def entity(name: str, parameter: bool, value: str | None, *origin: str | None) -> None:
        nonlocal entities
        entities += 1
        if parameter or value is None or any(origin):  # base, system, public or notation of an external one
            raise InputError(f"the entity {name!r} is external; nothing is fetched. Leave it out.")
        if "&" in value or len(value) > _LONGEST_ENTITY or entities > _MOST_ENTITIES:
            raise InputError(f"the entity {name!r} could expand without bound, and is refused.")

    def start(name: str, attributes: list[str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise InputError(f"elements are nested more than {_DEEPEST} deep.")
        pieces.append(f"<{name}")
        for key, value in zip(attributes[::2], attributes[1::2], strict=True):
            text = value or _UNDETERMINED if key == "xml:lang" else value
            pieces.append(f' {key}="{text.translate(_ESCAPES)}"')
        pieces.append(">")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        pieces.append(f"</{name}>")

    parser.StartDoctypeDeclHandler, parser.EntityDeclHandler = document_type, entity
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: pieces.append(text.translate(_ESCAPES))
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(f"line {error.lineno}: this is not XML ({expat.ErrorString(error.code)}).") from None
    except (LookupError, ValueError) as error:  # an unknown encoding
        raise InputError(f"this XML cannot be read ({error}).") from None
    return "".join(pieces)
