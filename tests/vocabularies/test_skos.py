"""SKOS as Turtle, N-Triples and RDF/XML; nothing is ever fetched."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mudy import Concept, InputError, Vocabulary
from mudy.errors import MudyError
from mudy.vocabularies.turtle import turtle_triples
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


def test_n_triples_are_turtle_too(tmp_path: Path) -> None:
    line = '<http://e.org/1> <http://www.w3.org/2004/02/skos/core#prefLabel> "caf\\u00E9 \\U0001F30A"@en .\n'
    assert loaded(tmp_path, "a.nt", line).concepts == (Concept("http://e.org/1", "café 🌊"),)


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


HEAD = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.rdf", f'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>{HEAD}&x;</rdf:RDF>', "lies elsewhere"),
        ("a.rdf", f'<!DOCTYPE r [<!ENTITY % x SYSTEM "http://e.org/x">%x;]>{HEAD}</rdf:RDF>', "lies elsewhere"),
        ("a.rdf", f'<!DOCTYPE r SYSTEM "http://e.org/x.dtd">{HEAD}</rdf:RDF>', "nothing is fetched"),
        ("a.rdf", f'<!DOCTYPE r [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>{HEAD}</rdf:RDF>', "could grow"),
        ("a.rdf", f'<!DOCTYPE r [<!ENTITY a "{"b" * 1000}">]>{HEAD}</rdf:RDF>', "could grow"),
        ("a.rdf", f"{HEAD}<a>", "line 1: this is no XML"),
        ("a.rdf", f"{HEAD}&undefined;</rdf:RDF>", "undefined entity"),
        ("a.rdf", "not XML", "this is no XML"),
        ("a.ttl", "<a:1> skos:prefLabel 'x' .", "prefix 'skos:' is not declared"),
        ("a.ttl", "<a:1> <a:2>\n'x' ", "line 2: '.' is needed"),
        ("a.ttl", "<a:1> <a:2> 'x", "no Turtle"),
        ("a.ttl", "'x' <a:2> <a:3> .", "cannot be a text"),
        ("a.ttl", "<a:1> <a:2> " + "[<a:3> " * 200, "too deep"),
        ("a.ttl", "<a:1> <a:2> (", "is needed"),
    ],
)
def test_what_is_dangerous_or_broken_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loaded(tmp_path, name, content)


PIECES = st.sampled_from(
    [*"<>[](){}.;,:@'\"\\#^ \n", "<a:1>", "@prefix", "a", "s:x", "'x'", '"""', "_:b", "1.5", "@en"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_turtle_is_read_or_refused_in_our_words(text: str) -> None:
    with suppress(MudyError):
        list(turtle_triples(text))


@pytest.mark.parametrize("piece", ["<a:1> <a:2> 'x'@en .\n", "'", '"""', "a.", "a:a.b.", "\\", "# c\n", '"""a""'])
def test_the_time_to_read_turtle_grows_with_it(piece: str) -> None:
    def read(text: str) -> None:
        with suppress(MudyError):
            list(turtle_triples(text))

    assert is_linear(read, lambda size: piece * size, 16_000)
