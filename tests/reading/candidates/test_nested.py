import pytest
from hypothesis import given as drawn
from hypothesis import settings

from mudy.reading.candidates import candidates, nested_candidates
from mudy.reading.candidates.grammar import WHICH_OR_HOW_MANY
from mudy.reading.document import Document
from tests.growth import is_linear
from tests.tagged import tagged
from tests.taggers import TEXTS, english


def phrases(text: str, **options: object) -> list[str]:
    return [candidate.phrase for candidate in nested_candidates(tagged(text), **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hybrid/JJ fuzzy/JJ modeling", ["hybrid fuzzy modeling", "fuzzy modeling", "modeling"]),
        ("sliding/VBG mode", ["sliding mode", "mode"]),
        ("distributed/VBD systems/NNS", ["distributed systems", "systems"]),
        ("the/DT 1990/CD census", ["1990 census", "census"]),
        ("data sharing/VBG", ["data sharing", "data"]),
        ("quality of/IN service", ["quality of service", "quality", "service"]),
        ("several/JJ roads/NNS", ["roads"]),
        ("using/VBG wavelets/NNS", ["wavelets"]),
        ("two/CD trucks/NNS", ["trucks"]),
        ("ice , road", ["ice", "road"]),
        ("runs/VBZ", []),
        ("", []),
    ],
)
def test_phrases_inside_phrases(text: str, expected: list[str]) -> None:
    assert phrases(text) == expected


def test_limits_and_stop_phrases() -> None:
    assert phrases("fuzzy/JJ modeling", max_words=1) == ["modeling"]
    assert phrases("fuzzy/JJ modeling", stop_phrases=["Modeling"]) == ["fuzzy modeling"]


def test_every_place_is_kept() -> None:
    (candidate,) = nested_candidates(tagged("ice . ice"))
    assert len(candidate.occurrences) == 2


def test_phrases_inside_phrases_of_other_languages_follow_their_grammar() -> None:
    found = [c.phrase for c in nested_candidates(tagged("tasa/NOUN de/ADP interés/NOUN fija/ADJ", "es"))]
    assert found == ["tasa de interés fija", "tasa de interés", "tasa", "interés fija", "interés"]


def test_many_citations_take_time_in_proportion_to_the_text() -> None:
    def text(size: int) -> Document:
        return english().document("Old maps (Webb, 2019) help. " * (size // 28))

    assert is_linear(nested_candidates, text, 40_000)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("WHO/WP IS/VBZ RESPONSIBLE/JJ FOR/IN US/PRP", "en", []),  # capitals throughout are no acronyms
        ("a/DT CAN/NNP bus/NN", "en", ["can bus"]),
        ("anxiety/NN grows/VBZ with/IN anxiety2/NN", "en", ["anxiety", "anxiety"]),  # the number of a footnote
        ("茶/NOUN 好/ADV", "zh", ["茶"]),
    ],
)
def test_both_kinds_of_candidates_follow_one_grammar(text: str, language: str, expected: list[str]) -> None:
    document = tagged(text, language)
    for kind in (candidates, nested_candidates):
        spans = [(o.span.start, c.phrase) for c in kind(document) for o in c.occurrences]
        assert [phrase for _, phrase in sorted(spans) if phrase not in ("can", "bus")] == expected


@settings(max_examples=100, deadline=None)
@drawn(TEXTS)
def test_short_noun_phrases_are_nested_candidates_too(text: str) -> None:
    document = english().document(text)
    nested = {candidate.phrase for candidate in nested_candidates(document)}
    for candidate in candidates(document):
        assert candidate.phrase in nested or WHICH_OR_HOW_MANY & set(candidate.phrase.split())
