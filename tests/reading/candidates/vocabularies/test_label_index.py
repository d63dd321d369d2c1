"""Where the labels of concepts stand in a text."""

import random

import pytest

from mudy import Vocabulary
from tests.growth import is_linear


def found(text: str, *labels: str, language: str = "en") -> list[tuple[str, str]]:
    """What stands in a text, and the id of its concept."""
    vocabulary = Vocabulary.of(labels)
    places = vocabulary.index_of(language).places(text)
    return [(text[s.start : s.end], vocabulary.concepts[c].id) for s, c in places]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Flood insurances cost more.", "flood insurance"),
        ("decision making", "Decision-making"),
        ("decision-making", "decision making"),
        ("the tag flood_insurance", "flood insurance"),
        ("flood\n  insurance", "flood insurance"),
        ("We write C++ here", "c++"),
        ("Straße und Markt", "straße"),
        ("深度学习很好", "深度学习"),
    ],
)
def test_a_label_is_found_by_its_stems_whatever_joins_its_words(text: str, label: str) -> None:
    assert len(found(text, label)) == 1


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("a flood. Insurance is dear", "flood insurance"),
        ("flood\n\ninsurance", "flood insurance"),
        ("starting", "art"),
        ("We write C++ here", "C"),
        ("it is so", "IT"),
        ("flood - insurance", "flood insurance"),
    ],
)
def test_what_is_no_such_phrase_is_not_found(text: str, label: str) -> None:
    assert found(text, label) == []


@pytest.mark.parametrize(
    ("language", "text", "label"),
    [
        ("de", "Neue Wärmepumpen in alten Häusern", "Haus"),
        ("pt", "As eleições municipais de outubro", "eleição municipal"),
        ("fr", "les réseaux électriques", "réseau électrique"),
        ("ru", "правила дорожного движения", "дорожное движение"),
        ("hi", "किसानों के लिए सौर ऊर्जा", "सौर ऊर्जा"),
    ],
)
def test_a_label_is_found_by_the_stems_of_the_language(language: str, text: str, label: str) -> None:
    assert len(found(text, label, language=language)) == 1


def test_languages_without_a_stemmer_share_one_index() -> None:
    vocabulary = Vocabulary.of(["flood"])
    assert vocabulary.index_of("th") is vocabulary.index_of("vi") is not vocabulary.index_of("en")


def test_a_label_in_capitals_is_found_in_capitals_also_in_the_plural() -> None:
    assert found("The IT of NGOs: it is old.", "IT", "NGO") == [("IT", "IT"), ("NGOs", "NGO")]


def test_where_most_labels_are_in_capitals_case_means_nothing() -> None:
    assert found("flood walls and ice", "FLOOD WALL", "ICE") == [("flood walls", "FLOOD WALL"), ("ice", "ICE")]


def test_of_labels_inside_one_another_the_longest_counts_where_it_stands() -> None:
    assert found("Flood insurance covers a flood.", "flood", "insurance", "flood insurance") == [
        ("Flood insurance", "flood insurance"),
        ("flood", "flood"),
    ]


def test_labels_that_overlap_without_one_holding_the_other_are_both_found() -> None:
    assert [form for form, _ in found("river flood wall", "river flood", "flood wall")] == ["river flood", "flood wall"]


def test_of_labels_with_equal_stems_the_one_spelt_alike_is_meant() -> None:
    assert found("a university, no universe", "universe", "university") == [
        ("university", "university"),
        ("universe", "universe"),
    ]


def test_a_preferred_label_goes_before_an_alternative_one() -> None:
    vocabulary = Vocabulary.of([{"id": "1", "label": "shore", "alternatives": ["bank"]}, {"id": "2", "label": "bank"}])
    ((_, concept),) = vocabulary.index_of("en").places("a bank")
    assert vocabulary.concepts[concept].id == "2"


WORDS = [first + second for first in "bcdfghklmnprst" for second in ("ado", "eri", "ilu", "ona", "uku")]
CHANCE = random.Random(3)


def phrases(count: int) -> list[str]:
    return [" ".join(CHANCE.choices(WORDS, k=3)) for _ in range(count)]


def test_the_time_to_match_grows_with_the_text() -> None:
    index = Vocabulary.of(phrases(2_000)).index_of("en")
    assert is_linear(index.places, lambda size: " ".join(CHANCE.choices(WORDS, k=size)), 40_000)


def test_the_time_to_match_does_not_grow_with_the_vocabulary() -> None:
    """Labels that share no word with the text: eight times as many may take a little longer, never eight times."""
    text = " ".join(CHANCE.choices(WORDS, k=4_000))
    indices = {size: Vocabulary.of([f"x{n} y{n}" for n in range(size)]).index_of("en") for size in (500, 4_000)}
    assert is_linear(lambda size: [indices[size].places(text) for _ in range(size // 500)], lambda size: size, 4_000)


def test_the_time_to_build_the_index_grows_with_the_labels() -> None:
    assert is_linear(lambda labels: Vocabulary.of(labels).index_of("en"), phrases, 16_000)
