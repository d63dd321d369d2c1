"""What a sentence encoder tells: similarity to the windows of a text, to seeds and to a query."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from mudy import Extractor, InputError, SettingError
from mudy.methods.mudy import Mudy
from mudy.methods.mudyplus.evidence import Numbers
from mudy.methods.mudyplus.near import (
    SHORT,
    WINDOW,
    Keyphraseness,
    WindowCosines,
    alike,
    content_words,
    keyphraseness_for,
    repeated,
    seed_similarity,
    unit_vectors,
    vectors_alone,
    vectors_of,
    windows,
)
from mudy.methods.promptrank import PromptRank
from mudy.reading.document import Block, Document, Span
from mudy.reading.untagged import UntaggedReader
from tests import small
from tests.command_line import run as mudy
from tests.tagged import tagged, unspaced
from tests.taggers import english

TEXT = Path("examples/floodplain.txt").read_text(encoding="utf-8")


# -- Seeds and a query ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def extractor() -> Extractor:
    made = Extractor(speed="quick", language=english())
    made.loader.in_memory["encoder"] = small.bert()
    return made


def log_odds(score: float) -> float:
    return float(np.log(score / (1 - score)))


def test_seed_similarity_is_the_best_cosine_less_the_mean() -> None:
    phrases = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    half = np.sqrt(0.5)
    assert np.allclose(seed_similarity(phrases, phrases[:1]), np.array([1, 0, half]) - (1 + half) / 3)
    assert np.allclose(seed_similarity(phrases, phrases[:2]), np.array([1, 1, half]) - (2 + half) / 3)


def test_no_seeds_change_nothing(extractor: Extractor) -> None:
    assert extractor.extract(TEXT, seeds=[], query=None) == extractor.extract(TEXT)


def test_a_seed_is_a_contribution_of_its_weight_times_the_centred_cosine(extractor: Extractor) -> None:
    (explained,) = extractor.explain(TEXT, seeds=["river gauge"], distinct=False, merge=False).methods
    assert explained.settings["seeds"] == ["river gauge"]
    phrases = [k.text.lower() for k in explained.result]
    added = np.array([k.occurrences[0].parts["seeds"] for k in explained.result])
    vectors = vectors_alone(small.bert(), ["river gauge", *phrases])
    cosines = vectors[1:] @ vectors[0] / np.linalg.norm(vectors[1:], axis=1) / np.linalg.norm(vectors[0])
    assert np.allclose(added - added[0], 8.0 * (cosines - cosines[0]), atol=1e-4)


def test_seeds_of_another_language_are_compared_by_the_multilingual_encoder() -> None:
    class Constant:
        name = "constant"

        def embed(self, texts: Sequence[str]) -> Any:
            return np.array([[1.0, 3.0 * ("ville" in text)] for text in texts], dtype=np.float32)

        def end_of_window(self, text: str) -> int:
            return len(text)

    made = Extractor(speed="quick", language=UntaggedReader("fr"))
    made.loader.in_memory.update({"encoder": small.bert(), "multilingual": Constant()})
    result = made.extract("La rivière inonde la ville. Le pont traverse la rivière.", 3, seeds=["ville"])
    assert result.keyphrases[0].text == "ville"
    assert made.extract("La rivière inonde la ville. Le pont traverse la rivière.", 3).keyphrases[0].text == "rivière"


def test_a_score_is_still_the_sum_of_its_contributions(extractor: Extractor) -> None:
    for keyphrase in extractor.extract(TEXT, 10, seeds=["ice"], query="What does the council pay?"):
        for occurrence in keyphrase.occurrences:
            assert {"seeds", "query"} <= occurrence.parts.keys()
            assert sum(occurrence.parts.values()) == pytest.approx(log_odds(occurrence.score), abs=1e-4)


def test_extract_explain_and_many_agree_and_the_extractor_stays_as_it_is(extractor: Extractor) -> None:
    before = extractor.extract(TEXT)
    turned = extractor.extract(TEXT, None, query="Who pays for the gauges?")
    (explained,) = extractor.explain(TEXT, query="Who pays for the gauges?").methods
    (many,) = extractor.extract_many([TEXT], None, query="Who pays for the gauges?")
    assert turned == explained.result == many
    assert extractor.extract(TEXT) == before


@pytest.mark.parametrize("method", ["yake", "textrank", "embedrank"])
def test_a_method_that_takes_no_seeds_says_which_one_does(method: str) -> None:
    made = Extractor(method, language=english())
    with pytest.raises(SettingError, match=f"{method} takes no seeds: only mudyplus"):
        made.extract(TEXT, seeds=["ice"])
    with pytest.raises(SettingError, match=f"{method} takes no query: only mudyplus"):
        made.extract(TEXT, query="what?")
    with pytest.raises(SettingError, match="takes no seeds"):
        Extractor(method, seeds=("ice",))


@pytest.mark.parametrize("wish", [{"seeds": "ice"}, {"seeds": [5]}, {"seeds": [" "]}, {"query": 5}])
def test_wishes_of_the_wrong_type_are_refused(extractor: Extractor, wish: dict[str, Any]) -> None:
    with pytest.raises((InputError, SettingError)):
        extractor.extract(TEXT, **wish)


def test_the_words_of_a_question_are_those_that_are_no_stop_words() -> None:
    assert content_words("What about the costs of it?", "en") == ["costs"]
    assert content_words("What is it?", "en") == []


def test_a_blank_text_and_one_phrase_can_be_asked(extractor: Extractor) -> None:
    assert len(extractor.extract("", seeds=["ice"])) == 0
    assert len(extractor.extract("Ice.", seeds=["ice"], query="what is it?")) == 1


def test_the_command_line_refuses_seeds_for_other_methods() -> None:
    result = mudy("extract", "examples/floodplain.txt", "-m", "yake", "--seed", "ice")
    assert result.exit_code == 2
    assert "only mudyplus" in result.stderr


@pytest.mark.parametrize("template", ["no place", "{} after", "before {}", "two {} of {} them"])
@pytest.mark.parametrize("method", [PromptRank, Mudy])
def test_a_template_needs_one_place_with_words_around_it(template: str, method: type[PromptRank] | type[Mudy]) -> None:
    with pytest.raises(SettingError, match="template"):
        method(small.decoder("llama"), template=template)


def test_a_template_is_what_the_language_model_is_asked_with() -> None:
    assert PromptRank(small.decoder("llama"), template="Topics: {}.").backbone.template == " Topics: {}."
    assert PromptRank(small.t5(), template="Topics: {} .").backbone.template == "Topics: {} ."
    assert PromptRank(small.decoder("llama")).backbone.template == small.decoder("llama").template


# -- Windows ----------------------------------------------------------------------------------------------------------


def of_words(number: int, *headings: int) -> Document:
    """A text of numbered words, in which some are headings."""
    document = tagged(" ".join(f"w{i}" for i in range(number)))
    spans = document.word_spans
    return replace(document, blocks=tuple(Block(spans[i], "heading", 1) for i in headings))


def sizes(document: Document) -> list[int]:
    return [len(window.of(document.text).split()) for window in windows(document)]


@pytest.mark.parametrize("words", [1, 150, SHORT])
def test_a_short_text_is_one_window_whatever_its_headings(words: int) -> None:
    document = of_words(words, 0, words // 2)
    assert windows(document) == [Span(0, len(document.text))]


def test_a_blank_text_has_no_window() -> None:
    assert windows(tagged("")) == []


@settings(deadline=None)
@drawn(st.integers(SHORT + 1, 1500), st.data())
def test_every_word_is_in_exactly_one_window(words: int, data: st.DataObject) -> None:
    headings = data.draw(st.lists(st.integers(0, words - 1), max_size=12, unique=True).map(sorted))
    document = of_words(words, *headings)
    parts = [window.of(document.text).split() for window in windows(document)]
    assert [word for part in parts for word in part] == document.text.split()
    *before, last = map(len, parts)
    assert all(WINDOW // 2 <= size <= WINDOW for size in before)
    assert WINDOW // 2 <= last < WINDOW + WINDOW // 2


@pytest.mark.parametrize(
    ("words", "headings", "expected"),
    [
        (201, [], [100, 101]),
        (600, [], [150] * 4),
        (300, [100], [100, 100, 100]),  # 200 words behind the heading are two windows
        (300, [0, 20, 74], [150, 150]),  # headings shortly behind the beginning of a window
        (300, [75], [75, 112, 113]),
        (300, [150, 160, 170], [150, 150]),
        (300, [100, 200, 290], [100, 100, 100]),  # ten words behind the last heading
        (290, [140, 280], [140, 150]),
    ],
)
def test_a_heading_begins_a_window_unless_the_one_before_would_be_short(
    words: int, headings: list[int], expected: list[int]
) -> None:
    assert sizes(of_words(words, *headings)) == expected


def test_windows_of_a_text_without_spaces_are_counted_in_its_words() -> None:
    document = unspaced("雷达 地图 " * 200)
    assert [len(window.of(document.text)) for window in windows(document)] == [2 * 133, 2 * 134, 2 * 133]


# -- Similarity to the text -------------------------------------------------------------------------------------------


def plain_similarity(phrases: Numbers, texts: Numbers) -> list[float]:
    nearest = []
    for phrase in phrases:
        cosines = []
        for text in texts:
            dot = sum(a * b for a, b in zip(phrase, text, strict=True))
            cosines.append(dot / sqrt(sum(a * a for a in phrase)) / sqrt(sum(b * b for b in text)))
        best = sorted(cosines, reverse=True)[:3]
        nearest.append(sum(best) / len(best))
    mean = sum(nearest) / len(nearest)
    deviation = sqrt(sum((value - mean) ** 2 for value in nearest) / len(nearest))
    return [(value - mean) / deviation for value in nearest]


def near(phrases: Numbers, texts: Numbers) -> WindowCosines:
    spans = [Span(10 * i, 10 * i + 9) for i in range(len(texts))]
    return WindowCosines.of(range(len(phrases)), spans, phrases, texts)


def test_phrases_are_alike_if_their_vectors_are_near_and_neither_has_all_words_of_the_other() -> None:
    stems = [{"leak"}, {"pipe", "leak"}, {"burst"}, {"map"}]
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.8, 0.6], [-1.0, 0.0]])
    assert alike([2, 5, 7, 9], stems, vectors) == ((2, 7, 0.3), (5, 7, 0.3))


def test_a_phrase_loses_by_how_near_it_is_to_the_nearest_one_that_ranks_higher() -> None:
    values = np.array([1.0, 3.0, 2.0, 0.0])
    pairs = [(0, 1, 0.1), (0, 2, 0.4), (1, 2, 0.2)]
    assert repeated(values, pairs, 2.0).tolist() == pytest.approx([0.8, 0.0, 0.4, 0.0])
    assert repeated(values, pairs, 0.0).tolist() == [0.0] * 4


def test_a_phrase_that_falls_behind_another_takes_nothing_from_it() -> None:
    values = np.array([3.0, 2.0, 1.9])
    assert repeated(values, [(0, 1, 0.4), (1, 2, 0.3)], 2.0).tolist() == pytest.approx([0.0, 0.8, 0.0])


@drawn(st.lists(st.floats(-9, 9), min_size=2, max_size=12), st.integers(0, 2**32 - 1))
def test_what_repeats_ranks_in_the_order_in_which_it_was_settled(values: list[float], seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = [
        (i, j, float(random.uniform(0, 0.5))) for i in range(len(values)) for j in range(i) if random.random() < 0.5
    ]
    left = np.array(values) - repeated(np.array(values), pairs, 2.0)
    for i, j, excess in pairs:  # of two that are alike, the lower one lost at least what the higher one takes
        if abs(left[i] - left[j]) > 1e-6:
            higher, lower = (i, j) if left[i] > left[j] else (j, i)
            assert values[lower] - left[lower] >= 2 * excess - 1e-6, (higher, lower)


@pytest.mark.parametrize("texts", [1, 2, 3, 4, 9])
def test_similarity_is_that_to_the_nearest_three_windows_standardised(texts: int) -> None:
    random = np.random.default_rng(texts)
    vectors, windows_ = random.normal(size=(7, 5)), random.normal(size=(texts, 5))
    np.testing.assert_allclose(near(vectors, windows_).similarity, plain_similarity(vectors, windows_))


def test_a_phrase_of_three_windows_is_as_similar_however_long_the_text_is() -> None:
    phrases = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    about = [[1.0, 0.0, 0.0]] * 3 + [[0.0, 1.0, 1.0]] * 3
    rest = [[0.0, 0.0, 1.0]] * 20
    short, long = near(phrases, np.array(about)), near(phrases, np.array(about + rest))
    assert short.similarity.tolist() == long.similarity.tolist() == pytest.approx([1.0, -1.0])


def test_one_phrase_equal_phrases_and_empty_vectors_are_in_the_middle() -> None:
    one = np.array([[1.0, 2.0]])
    assert near(one, np.array([[1.0, 0.0]])).similarity.tolist() == [0.0]
    assert near(np.repeat(one, 3, axis=0), np.array([[1.0, 0.0]])).similarity.tolist() == [0.0] * 3
    assert near(np.zeros((2, 2)), np.zeros((1, 2))).similarity.tolist() == [0.0, 0.0]


def test_an_occurrence_is_as_similar_as_its_phrase_is_to_the_window_around_it() -> None:
    cosines = np.array([[1.0, 0.0, 0.5], [0.5, 0.5, 0.5], [0.2, 0.2, 0.2]])  # of means 0.5, 0.5 and 0.2
    made = WindowCosines((3, 5, 8), [Span(0, 9), Span(10, 19), Span(20, 29)], cosines)
    mean, deviation = 0.4, sqrt((0.1**2 + 0.1**2 + 0.2**2) / 3)
    expected = [(cosine - mean) / deviation for cosine in (1.0, 1.0, 0.0, 0.5, 0.5)]
    assert made.at(3, [0, 8, 10, 20, 28]).tolist() == pytest.approx(expected)
    assert made.at(8, [11]).tolist() == pytest.approx([made.similarity[2]])


def test_rows_that_were_not_encoded_are_not_in_it() -> None:
    made = WindowCosines((3, 5, 8), [Span(0, 9)], np.zeros((3, 1)))
    assert [row for row in range(10) if row in made] == [3, 5, 8]


# -- Keyphraseness ----------------------------------------------------------------------------------------------------


def test_keyphraseness_is_how_far_a_phrase_lies_along_the_direction() -> None:
    known = Keyphraseness(frozenset({"en"}), np.array([2.0, -1.0]), 0.5)
    vectors = np.array([[3.0, 0.0], [0.0, 7.0], [0.3, 0.4]])
    assert known.of(vectors).tolist() == pytest.approx([5.5, -7.5, -0.3])
    assert known.of(unit_vectors(vectors)).tolist() == pytest.approx([1.5, -1.5, 0.6 * 2 - 0.8 - 0.5])


def test_an_encoder_that_it_was_not_fitted_for_says_nothing(extractor: Extractor) -> None:
    assert keyphraseness_for(small.bert().name, "en", 384) is None
    parts = [occurrence.parts for k in extractor.extract(TEXT) for occurrence in k.occurrences]
    assert {part["keyphraseness"] for part in parts} == {0.0}


def test_a_direction_is_of_a_model_a_language_and_a_width() -> None:
    assert keyphraseness_for("minilm-l6", "en", 384) is not None
    assert keyphraseness_for("minilm-l6", "de", 384) is None
    assert keyphraseness_for("minilm-l6", "en", 385) is None


@pytest.mark.real
def test_subjects_have_more_keyphraseness_than_what_is_said_about_them() -> None:
    encoder = Extractor(speed="quick").loader.encoder()
    known = keyphraseness_for(encoder.name, "en", encoder.width)
    assert known is not None
    subjects, others = (
        ("irregular time series", "heat pump", "data protection"),
        ("second example", "rest", "few words"),
    )
    values = known.of(unit_vectors(vectors_alone(encoder, [*subjects, *others])))
    assert min(values[:3]) > max(values[3:])


def test_texts_that_several_rows_share_are_embedded_once() -> None:
    embedded: list[list[str]] = []

    def embed(texts: Sequence[str]) -> Numbers:
        embedded.append(list(texts))
        return np.array([[float(len(text))] for text in texts])

    first, second = vectors_of(embed, [["ice", "road"], ["road", "radar"]])
    assert embedded == [["ice", "road", "radar"]]
    assert (first.tolist(), second.tolist()) == ([[3.0], [4.0]], [[4.0], [5.0]])


@pytest.mark.real
def test_subjects_have_more_keyphraseness_in_context_than_what_is_mentioned_in_passing() -> None:
    text = (
        "Heat pumps move warmth from the ground into a house. A heat pump needs a third of a heater's electricity. "
        "Installers of heat pumps check the radiators first. On Monday the council also named a new chairman, and the "
        "minutes of the last meeting were approved without discussion."
    )
    values = {keyphrase.text: keyphrase.parts["in_context"] for keyphrase in Extractor().extract(text, top_n=100)}
    passing = max(values[phrase] for phrase in ("Installers", "new chairman", "last meeting"))
    assert min(values["heat pump"], values["radiators"]) > passing
