"""KeyBERT's calls, answered without KeyBERT."""

import re
import subprocess
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from mudy import Extractor, InputError, SettingError
from mudy.integrations.extraction import shared_extractor
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


def test_the_ngrams_of_a_vectorizer_that_occur_in_the_text_are_ranked(keybert: KeyBERT) -> None:
    text = "Dams slow the river. The slow river floods less."
    vectorizer = CountVectorizer(ngram_range=(1, 2), stop_words=["the"])
    ngrams = set(vectorizer.fit([text]).get_feature_names_out())
    found = {phrase.lower() for phrase, _ in keybert.extract_keywords(text, vectorizer=vectorizer, top_n=50)}
    assert "river slow" in ngrams  # across the end of a sentence and a stop word
    assert found <= ngrams
    assert {"river", "slow river", "floods less"} <= found
    assert "river slow" not in found


def test_a_vectorizer_replaces_candidates_and_lengths_as_in_keybert(keybert: KeyBERT) -> None:
    vectorizer = CountVectorizer(ngram_range=(1, 1))
    alone = keybert.extract_keywords(TEXT, vectorizer=vectorizer)
    others: dict[str, Any] = {"candidates": ["flood walls"], "keyphrase_ngram_range": (3, 4)}
    assert keybert.extract_keywords(TEXT, vectorizer=vectorizer, **others) == alone


def test_each_of_several_texts_has_its_own_ngrams(keybert: KeyBERT) -> None:
    together = keybert.extract_keywords(PARAGRAPHS, vectorizer=CountVectorizer(ngram_range=(1, 2)))
    alone = [keybert.extract_keywords(text, vectorizer=CountVectorizer(ngram_range=(1, 2))) for text in PARAGRAPHS]
    assert together == alone


def test_a_rare_ngram_is_left_out_if_the_vectorizer_says_so(keybert: KeyBERT) -> None:
    texts = ["The dam holds the river.", "The river floods the mill."]
    common = keybert.extract_keywords(texts, vectorizer=CountVectorizer(min_df=2, stop_words="english"))
    assert [[phrase for phrase, _ in pairs] for pairs in common] == [["river"], ["river"]]


def test_an_empty_text_with_a_vectorizer_gives_an_empty_list(keybert: KeyBERT) -> None:
    assert keybert.extract_keywords("", vectorizer=CountVectorizer()) == []


def test_no_candidates_give_no_keyphrases(keybert: KeyBERT) -> None:
    assert keybert.extract_keywords(PARAGRAPHS[:2], candidates=[]) == [[], []]


@pytest.mark.real
def test_max_sum_chooses_the_phrases_that_are_the_least_alike_best_first() -> None:
    settings: dict[str, Any] = {"method": "yake", "language": "en"}
    best = KeyBERT(**settings).extract_keywords(TEXT, top_n=8)
    chosen = KeyBERT(**settings).extract_keywords(TEXT, top_n=3, use_maxsum=True, nr_candidates=8)
    vectors = Extractor(**settings).loader.encoder().embed([phrase.lower() for phrase, _ in best])
    sums = {c: vectors[list(c)].sum(axis=0) @ vectors[list(c)].sum(axis=0) for c in combinations(range(8), 3)}
    assert chosen == [best[i] for i in min(sums, key=lambda c: sums[c])]
    assert chosen != best[:3]


@pytest.mark.slow
@pytest.mark.real
def test_max_sum_compares_phrases_of_other_languages_by_the_multilingual_encoder() -> None:
    text = "Die Deiche halten den Fluss zurück. Nach dem Hochwasser zahlt die Versicherung für die Keller der Stadt."
    keybert = KeyBERT(method="yake", language="de")
    best = keybert.extract_keywords(text, top_n=6)
    encoder = shared_extractor(keybert.settings).extractor.loader.multilingual()
    assert encoder is not None
    vectors = encoder.embed([phrase.lower() for phrase, _ in best])
    sums = {c: vectors[list(c)].sum(axis=0) @ vectors[list(c)].sum(axis=0) for c in combinations(range(len(best)), 2)}
    chosen = keybert.extract_keywords(text, top_n=2, use_maxsum=True, nr_candidates=6)
    assert chosen == [best[i] for i in min(sums, key=lambda c: sums[c])]


def test_max_sum_gives_all_phrases_where_there_are_too_few(keybert: KeyBERT) -> None:
    text = "The dam holds the river."
    assert keybert.extract_keywords(text, use_maxsum=True) == keybert.extract_keywords(text)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"nr_candidates": 4}, "nr_candidates is 4, but must be at least top_n, which is 5"),
        ({"nr_candidates": 100}, "75,287,520 ways to choose 5 of 100 phrases.*nr_candidates"),
        ({"use_mmr": True}, "Leave out one of them"),
        ({"top_n": 0.5}, "top_n is 0.5"),
        ({"nr_candidates": "20"}, "nr_candidates is '20'"),
    ],
)
def test_max_sum_refuses_what_cannot_be_meant(keybert: KeyBERT, options: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        keybert.extract_keywords(TEXT, use_maxsum=True, **options)


def highlighted(printed: str) -> list[str]:
    """What a terminal shows in black on yellow."""
    return re.findall(r"\x1b\[30;48;2;255;255;0m(.*?)\x1b\[0m", printed)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLORTERM": "truecolor", "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.usefixtures("terminal")
def test_every_occurrence_of_a_keyphrase_is_highlighted(keybert: KeyBERT, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["A dam [1] holds the river; the Dam is old.", "The mill burns."]
    returned = keybert.extract_keywords(texts, candidates=["dam", "mill"], highlight=True)
    first, second = capsys.readouterr().out.splitlines()
    assert highlighted(first) == ["dam", "Dam"]
    assert highlighted(second) == ["mill"]
    assert re.sub(r"\x1b\[[\d;]*m", "", first) == texts[0]
    assert returned == keybert.extract_keywords(texts, candidates=["dam", "mill"])


@pytest.mark.usefixtures("terminal")
def test_a_highlighted_text_moves_no_cursor(keybert: KeyBERT, capsys: pytest.CaptureFixture[str]) -> None:
    keybert.extract_keywords("Old\x1b[2Jdams\x07\r slow the river.", candidates=["river"], highlight=True)
    printed = capsys.readouterr().out
    assert highlighted(printed) == ["river"]
    assert "\x1b[2J" not in printed
    assert "\x07" not in printed


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"min_df": 2}, "candidates"),
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
    written = keybert.extract_keywords(
        TEXT, min_df=1, use_maxsum=False, nr_candidates=20, highlight=False, threshold=None
    )
    assert written == keybert.extract_keywords(TEXT)


def test_other_bad_input_raises(keybert: KeyBERT) -> None:
    with pytest.raises(SettingError, match=r"keyphrase_ngram_range is \(2, 1\)"):
        keybert.extract_keywords(TEXT, keyphrase_ngram_range=(2, 1))
    with pytest.raises(InputError, match="candidates is the single text"):
        keybert.extract_keywords(TEXT, candidates="river")
    with pytest.raises(InputError, match="stop_words is the single text"):
        keybert.extract_keywords(TEXT, stop_words="german")
    with pytest.raises(SettingError, match=r"vectorizer is .*CountVectorizer"):
        keybert.extract_keywords(TEXT, vectorizer=object())
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


@pytest.mark.real
def test_each_text_can_have_seeds_of_its_own() -> None:
    keybert = KeyBERT(speed="quick")
    texts, seeds = PARAGRAPHS[:3], [["insurance"], [], ["animals", "rivers"]]
    alone = [keybert.extract_keywords(t, seed_keywords=s) for t, s in zip(texts, seeds, strict=True)]
    assert keybert.extract_keywords(texts, seed_keywords=seeds) == alone
    assert keybert.extract_keywords(texts, seed_keywords=["insurance"])[0] == alone[0]
    assert keybert.extract_keywords(texts)[0] != alone[0]


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ([["a"], ["b"], ["c"]], "seed_keywords has 3 lists, but there are 2 texts"),
        (["a", ["b"]], "each phrase must be a str"),
        ([["a"], [1]], "each phrase must be a str"),
        ("river", "seed_keywords is the single text"),
    ],
)
def test_seeds_that_fit_no_text_raise(keybert: KeyBERT, seeds: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        keybert.extract_keywords(PARAGRAPHS[:2], seed_keywords=seeds)


@pytest.mark.real
def test_the_usual_call_of_keybert_gives_what_the_default_method_finds() -> None:
    wanted = Extractor().extract(PARAGRAPHS[0], top_n=5).as_tuples()
    pairs = KeyBERT(model="all-MiniLM-L6-v2").extract_keywords(PARAGRAPHS[0])
    assert pairs == [(phrase, round(score, 4)) for phrase, score in wanted]
