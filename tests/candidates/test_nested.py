import pytest

from mudy.candidates import nested_candidates
from mudy.reading.document import Document
from tests.growth import is_linear
from tests.tagged import tagged
from tests.taggers import english


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
