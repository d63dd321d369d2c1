"""KeyBERT's calls, answered without KeyBERT."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from mudy import Extractor, InputError, SettingError
from mudy.integrations.keybert import KeyBERT
from tests.integrations.texts import PARAGRAPHS, TEXT


@pytest.fixture(scope="module")
def keybert() -> KeyBERT:
    return KeyBERT(method="yake")


def test_one_text_gives_a_flat_list_of_phrases_and_scores(keybert: KeyBERT) -> None:
    wanted = Extractor("yake").extract(TEXT, top_n=5).as_tuples()
    assert keybert.extract_keywords(TEXT) == [(phrase, round(score, 4)) for phrase, score in wanted]


def test_several_texts_give_a_list_for_each_and_a_list_of_one_text_a_flat_one(keybert: KeyBERT) -> None:
    assert keybert.extract_keywords(PARAGRAPHS) == [keybert.extract_keywords(text) for text in PARAGRAPHS]
    assert keybert.extract_keywords([TEXT]) == keybert.extract_keywords(TEXT)


@pytest.mark.parametrize("nothing", ["", []])
def test_nothing_gives_an_empty_list(keybert: KeyBERT, nothing: Any) -> None:
    assert keybert.extract_keywords(nothing) == []


@pytest.mark.parametrize("lengths", [(1, 1), (2, 2), (2, 3), (3, 6)])
def test_phrases_have_the_lengths_asked_for_and_stand_in_the_text(keybert: KeyBERT, lengths: tuple[int, int]) -> None:
    squeezed = " ".join(TEXT.split())
    pairs = keybert.extract_keywords(TEXT, keyphrase_ngram_range=lengths, top_n=8)
    assert pairs
    for phrase, _ in pairs:
        assert lengths[0] <= len(phrase.split()) <= lengths[1]
        assert phrase in squeezed


def test_lengths_hold_for_each_of_several_texts(keybert: KeyBERT) -> None:
    together = keybert.extract_keywords(PARAGRAPHS, keyphrase_ngram_range=(2, 3))
    assert together == [keybert.extract_keywords(text, keyphrase_ngram_range=(2, 3)) for text in PARAGRAPHS]


def test_candidates_are_ranked_and_those_not_in_the_text_left_out(keybert: KeyBERT) -> None:
    pairs = keybert.extract_keywords(TEXT, candidates=["Flood Walls", "submarine", "river"])
    assert {phrase.lower() for phrase, _ in pairs} == {"flood walls", "river"}


def test_no_phrase_holds_a_stop_word(keybert: KeyBERT) -> None:
    plain = keybert.extract_keywords(TEXT, top_n=20)
    pairs = keybert.extract_keywords(TEXT, top_n=20, stop_words=["River"])
    assert any("river" in phrase.lower().split() for phrase, _ in plain)
    assert not any("river" in phrase.lower().split() for phrase, _ in pairs)


def test_the_stop_words_of_english_change_nothing(keybert: KeyBERT) -> None:
    assert keybert.extract_keywords(TEXT, stop_words="english") == keybert.extract_keywords(TEXT, stop_words=None)


def test_diversity_counts_only_with_mmr_as_in_keybert(keybert: KeyBERT) -> None:
    plain = keybert.extract_keywords(TEXT, diversity=0.9)
    assert plain == keybert.extract_keywords(TEXT)
    diverse = Extractor("yake").extract(TEXT, top_n=5, diversity=0.9)
    assert [p for p, _ in keybert.extract_keywords(TEXT, use_mmr=True, diversity=0.9)] == [k.text for k in diverse]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"min_df": 2}, "candidates"),
        ({"use_maxsum": True}, "use_mmr=True"),
        ({"nr_candidates": 40}, "use_mmr=True"),
        ({"vectorizer": object()}, "keyphrase_ngram_range"),
        ({"highlight": True}, "to_html"),
        ({"doc_embeddings": np.ones((1, 3))}, "own models"),
        ({"word_embeddings": np.ones((1, 3))}, "own models"),
        ({"threshold": 0.5}, "min_score"),
    ],
)
def test_options_without_a_meaning_raise_and_say_what_to_use(
    keybert: KeyBERT, options: dict[str, Any], told: str
) -> None:
    (name,) = options
    with pytest.raises(SettingError, match=f"{name} has no meaning here.*{told}"):
        keybert.extract_keywords(TEXT, **options)


def test_defaults_of_keybert_may_be_written_out(keybert: KeyBERT) -> None:
    written = keybert.extract_keywords(TEXT, min_df=1, use_maxsum=False, nr_candidates=20, highlight=False)
    assert written == keybert.extract_keywords(TEXT)


def test_other_bad_input_raises(keybert: KeyBERT) -> None:
    with pytest.raises(SettingError, match=r"keyphrase_ngram_range is \(2, 1\)"):
        keybert.extract_keywords(TEXT, keyphrase_ngram_range=(2, 1))
    with pytest.raises(InputError, match="candidates is the single text"):
        keybert.extract_keywords(TEXT, candidates="river")
    with pytest.raises(InputError, match="stop_words is the single text"):
        keybert.extract_keywords(TEXT, stop_words="german")
    with pytest.raises(SettingError, match="extract_embeddings has no meaning"):
        keybert.extract_embeddings(TEXT)
    with pytest.raises(SettingError, match="sentence encoder"):
        KeyBERT(object())  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"llm has no meaning here.*KeyphraseLLM"):
        KeyBERT(llm=object())


def test_neither_keybert_nor_scikit_learn_is_imported() -> None:
    code = "import sys, mudy.integrations.keybert; print({'keybert', 'sklearn', 'torch', 'spacy'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.strip() == "set()"


@pytest.mark.real
def test_seed_keywords_turn_the_ranking_as_seeds_do() -> None:
    wanted = Extractor(speed="quick").extract(TEXT, top_n=5, seeds=["insurance"])
    pairs = KeyBERT(speed="quick").extract_keywords(TEXT, seed_keywords=["insurance"])
    assert [phrase for phrase, _ in pairs] == [keyphrase.text for keyphrase in wanted]
    with pytest.raises(InputError, match="each phrase must be a str"):
        KeyBERT(speed="quick").extract_keywords([TEXT, TEXT], seed_keywords=[["a"], ["b"]])  # type: ignore[list-item]


@pytest.mark.real
def test_the_usual_call_of_keybert_gives_what_the_default_method_finds() -> None:
    wanted = Extractor().extract(PARAGRAPHS[0], top_n=5).as_tuples()
    pairs = KeyBERT(model="all-MiniLM-L6-v2").extract_keywords(PARAGRAPHS[0])
    assert pairs == [(phrase, round(score, 4)) for phrase, score in wanted]
