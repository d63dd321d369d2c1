"""SKOS in files of RDF; nothing is ever fetched, and nothing can grow."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mudy import Concept, InputError, MissingExtra, Vocabulary
from mudy.errors import MudyError
from mudy.reading.candidates.vocabularies import term_files as skos
from tests.growth import is_linear

TURTLE = """
@base <http://example.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
PREFIX ex: <http://example.org/ns.1#>
# a comment; with marks [ ] .
<scheme> a skos:ConceptScheme ; skos:prefLabel "Waters"@en .
ex:flood a skos:Concept ;
    skos:prefLabel "flood"@en, "inondation"@fr ;
    skos:altLabel "inundation"@en-GB , \"\"\"a "great"
water\"\"\"@en ; skos:hiddenLabel 'fl\\u006fod water'@en ;
    skos:broader <ice> ; skos:notation "12"^^<http://www.w3.org/2001/XMLSchema#int> ; .
<ice> a skos:Concept ; skos:prefLabel "ice" ; skos:broader ex:flood ; skos:related ( ex:flood <ice> [ a ex:x ] ) .
[] skos:note 1.5, true .
<old> a skos:Concept ; skos:prefLabel "old"@en ; <http://www.w3.org/2002/07/owl#deprecated> true .
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rdf:RDF [ <!ENTITY skos "http://www.w3.org/2004/02/skos/core#"> ]>
<rdf:RDF xml:base="http://example.org/" xmlns:skos="&skos;" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <skos:ConceptScheme rdf:about="scheme"><skos:prefLabel>Waters</skos:prefLabel></skos:ConceptScheme>
  <rdf:Description rdf:about="ns.1#flood" xml:lang="en">
    <rdf:type rdf:resource="&skos;Concept"/>
    <skos:prefLabel>flood</skos:prefLabel><skos:prefLabel xml:lang="fr">inondation</skos:prefLabel>
    <skos:altLabel>a "great" water</skos:altLabel><skos:altLabel xml:lang="en-GB">inundation</skos:altLabel>
    <skos:hiddenLabel>flood water</skos:hiddenLabel>
    <skos:broader><skos:Concept rdf:about="ice" xml:lang="" skos:prefLabel="ice">
      <skos:broader rdf:resource="ns.1#flood"/></skos:Concept></skos:broader>
  </rdf:Description>
</rdf:RDF>
"""
HEAD = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="http://www.w3.org/2004/02/skos/core#">'
)
FLOOD = Concept("http://example.org/ns.1#flood", "flood", ('a "great" water', "inundation", "flood water"))
ICE = Concept("http://example.org/ice", "ice")


def loaded(folder: Path, name: str, content: str, **options: str) -> Vocabulary:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return Vocabulary.load(path, **options)


@pytest.mark.parametrize(("name", "content"), [("a.ttl", TURTLE), ("a.rdf", XML)])
def test_concepts_are_read_with_all_labels_though_broader_goes_round(tmp_path: Path, name: str, content: str) -> None:
    found = {concept.id: concept for concept in loaded(tmp_path, name, content).concepts}
    assert set(found) == {FLOOD.id, ICE.id}
    assert found[ICE.id] == ICE
    assert found[FLOOD.id].label == "flood"
    assert set(found[FLOOD.id].alternatives) == set(FLOOD.alternatives)


LABEL = '<http://e.org/1> <http://www.w3.org/2004/02/skos/core#prefLabel> "caf\\u00E9 \\U0001F30A"@en'


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.nt", f"{LABEL} ."), ("a.ttl", f"{LABEL} ."), ("a.trig", f"<a:g> {{ {LABEL} }}"), ("a.nq", f"{LABEL} <a:g> .")],
)
def test_every_notation_gives_the_same_concepts(tmp_path: Path, name: str, content: str) -> None:
    assert loaded(tmp_path, name, content).concepts == (Concept("http://e.org/1", "café 🌊"),)


@pytest.mark.parametrize(
    ("head", "subject", "name"),
    [
        ("@base <http://ex.org/voc> . @prefix : <#> .", ":a", "http://ex.org/voc#a"),
        ("@base <http://ex.org/voc> .", "<a>", "http://ex.org/a"),
        ("@base <http://ex.org/a/b/> . BASE <../c/>", "<d>", "http://ex.org/a/c/d"),
        ("@base <urn:voc> . @prefix : <#> .", ":a", "urn:voc#a"),
        ("@base <urn:voc:> .", "<#a>", "urn:voc:#a"),
        ("", "<#a>", "#a"),
        ("", "<a>", "a"),
    ],
)
def test_ids_are_resolved_against_the_base(tmp_path: Path, head: str, subject: str, name: str) -> None:
    content = f"{head} {subject} <{skos.SKOS}prefLabel> 'x'@en ."
    assert [concept.id for concept in loaded(tmp_path, "a.ttl", content).concepts] == [name]


def test_an_id_in_xml_without_a_base_stays_as_it_is_written(tmp_path: Path) -> None:
    content = f'{HEAD}<s:Concept rdf:ID="a" s:prefLabel="x"/></rdf:RDF>'
    assert loaded(tmp_path, "a.rdf", content).concepts == (Concept("#a", "x"),)


def test_blank_nodes_have_the_same_ids_in_every_run(tmp_path: Path) -> None:
    content = f"[] <{skos.SKOS}prefLabel> 'x'@en . [ <{skos.SKOS}prefLabel> 'y'@en ] ."
    first, second = (loaded(tmp_path, "a.ttl", content) for _ in range(2))
    assert [concept.id for concept in first.concepts] == ["_:1", "_:2"]
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_xml_is_decoded_as_it_says(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.rdf").write_bytes(
        f'<?xml version="1.0" encoding="{encoding}"?>{HEAD}<s:Concept rdf:about="a:1"><s:prefLabel>inond<!-- -->é '
        "<![CDATA[<&]]> &#x26;</s:prefLabel></s:Concept></rdf:RDF>".encode(encoding)
    )
    assert Vocabulary.load(tmp_path / "a.rdf").concepts == (Concept("a:1", "inondé <& &"),)


@pytest.mark.parametrize(("name", "content"), [("a.ttl", TURTLE), ("a.rdf", XML)])
def test_labels_of_the_language_asked_for_are_taken(tmp_path: Path, name: str, content: str) -> None:
    found = {concept.id: concept for concept in loaded(tmp_path, name, content, language="fr").concepts}
    assert found[FLOOD.id] == Concept(FLOOD.id, "inondation")
    assert found[ICE.id].label == "ice"  # in no language


def test_a_language_that_no_label_has_names_those_that_there_are(tmp_path: Path) -> None:
    content = '@prefix s: <http://www.w3.org/2004/02/skos/core#> . <a:1> s:prefLabel "eau"@fr, "acqua"@it .'
    with pytest.raises(InputError, match="no label is in the language 'en'; there are labels in fr, it"):
        loaded(tmp_path, "a.ttl", content)


def test_labels_of_skos_xl_are_read(tmp_path: Path) -> None:
    content = """@prefix xl: <http://www.w3.org/2008/05/skos-xl#> . <a:1> xl:prefLabel <a:2> ; xl:altLabel <a:3> .
    <a:2> xl:literalForm "flood"@en . <a:3> a xl:Label ; xl:literalForm "deluge"@en ."""
    assert loaded(tmp_path, "a.ttl", content).concepts == (Concept("a:1", "flood", ("deluge",)),)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.rdf", f'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>{HEAD}&x;</rdf:RDF>', "is external"),
        ("a.rdf", f'<!DOCTYPE r [<!ENTITY % x SYSTEM "http://e.org/x">%x;]>{HEAD}</rdf:RDF>', "is external"),
        ("a.rdf", f'<!DOCTYPE r SYSTEM "http://e.org/x.dtd">{HEAD}</rdf:RDF>', "nothing is fetched"),
        ("a.rdf", f'<!DOCTYPE r [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>{HEAD}</rdf:RDF>', "could expand"),
        ("a.rdf", f'<!DOCTYPE r [<!ENTITY a "{"b" * 1000}">]>{HEAD}</rdf:RDF>', "could expand"),
        ("a.rdf", f"{HEAD}<s:Concept>\n", "line 2: this is not XML"),
        ("a.rdf", f"{HEAD}&undefined;</rdf:RDF>", "undefined entity"),
        ("a.rdf", "not XML", "this is not XML"),
        (
            "a.rdf",
            f'{HEAD}<s:Concept rdf:about="a 2"/></rdf:RDF>',
            "not RDF/XML .*'a 2'",
        ),
        ("a.rdf", HEAD + "<s:a>" * 200, "nested more than 100 deep"),
        ("a.ttl", "<a:1> skos:prefLabel 'x' .", "this is not Turtle .*line 1.*prefix skos: has not been declared"),
        ("a.ttl", "<a:1> <a:2>\n'x' ", "line 2"),
        ("a.ttl", "<a:1> <a:2>\n\n'x", "line 3"),
        ("a.ttl", "'x' <a:2> <a:3> .", "not a valid subject"),
        ("a.ttl", "<a:1> <a:2> " + "[<a:3> " * 200_000, "Unexpected end"),
        ("a.ttl", "<a:1> <a:2> (", "Unexpected end"),
        ("a.ttl", f"<a:1> <a:2> ({'true1' * 10_000}) .", "true1"),
        ("a.ttl", f"<a:1> <a:2> {'<<( <a:1> <a:2> ' * 50_000}1{')>>' * 50_000} .", "are about statements"),
        ("a.ttl", f"@prefix p: <a:{'b' * 5000}> . p:c <a:2> 'x' .", "more than 4,000 characters"),
        ("a.ttl", r"<a:1> <a:2> 'a\qb' .", r"escape character '\\q'"),
        ("a.ttl", r"<a:1> <a:2> 'a\uD800' .", "not a valid unicode character"),
        ("a.ttl", r"<a:1> <a:2> 'a\U00110000' .", "not a valid unicode character"),
        ("a.ttl", r"<a:\u0020> <a:2> 'a' .", "line 1"),
        ("a.nt", "<a> <a:2> <a:3> .", "this is not N-Triples .*line 1"),
    ],
)
def test_what_is_dangerous_or_broken_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loaded(tmp_path, name, content)


def test_a_missing_parser_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    for name, content in (("a.ttl", TURTLE), ("a.rdf", XML)):
        with pytest.raises(MissingExtra, match=r"pyoxigraph.*pip install"):
            loaded(tmp_path, name, content)


PIECES = st.sampled_from(
    [*"<>[](){}.;,:@'\"\\#^ \n", "<a:1>", "@prefix", "a", "s:x", "'x'", '"""', "_:b", "1.5", "@en", "<<(", ")>>", "{|"]
)


def turtle(text: str) -> None:
    list(skos.rdf_triples(text, "TURTLE"))


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_turtle_is_read_or_refused_in_our_words(text: str) -> None:
    with suppress(MudyError):
        turtle(text)


@pytest.mark.parametrize(
    "piece", ["<a:1> <a:2> 'x'@en .\n", "'", '"""', "a.", "a:a.b.", "\\", "# c\n", '"""a""', "true1"]
)
def test_the_time_to_read_turtle_grows_with_it(piece: str) -> None:
    def read(text: str) -> None:
        with suppress(MudyError):
            turtle(text)

    assert is_linear(read, lambda size: piece * size, 16_000)
