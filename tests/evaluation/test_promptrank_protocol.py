import pytest
from hypothesis import given
from hypothesis import strategies as st

from mudy.evaluation.datasets import drop_before_newlines, drop_percent, space_stops
from mudy.extraction.promptrank_protocol import (
    join_lines,
    promptrank_candidates,
    promptrank_text,
    squeeze_to_first,
    unbracket,
)
from mudy.reading.candidates import Candidate
from tests.tagged import tagged


def phrases(candidates: list[Candidate]) -> list[str]:
    return [candidate.phrase for candidate in candidates]


def test_the_text_is_cleaned_and_cut_to_its_first_words() -> None:
    assert promptrank_text("Deep  Neural\nNetworks [13] learn.", max_words=4) == ("Deep Neural Networks 13", 1)
    assert promptrank_text(" ".join(["w"] * 600)) == (" ".join(["w"] * 512), 88)


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [
        (drop_percent, "5% of", "5 of"),
        (space_stops, "one, two. three.", "one , two . three."),
        (drop_before_newlines, "a, \n\n b,\nc", "a\n b\nc"),
        (join_lines, "a\nb,\nc.\nd.\n\ne", "a b, c.\nd.\n e"),
        (squeeze_to_first, "a \n b\n c", "a b\nc"),
        (unbracket, "<b>[x]\t{y} p z", " b  x   y \nz"),
    ],
)
def test_each_cleaning_step_does_one_thing(step: object, before: str, after: str) -> None:
    assert callable(step)
    assert step(before) == after


@given(st.text(alphabet=" \n\t,.aZ0é[<p/"))
def test_the_regular_expressions_agree_with_replacing_one_match_at_a_time(text: str) -> None:
    looped = text
    while (i := next((i for i in range(1, len(looped)) if looped[i] == "\n" and looped[i - 1] in " \n\t,"), 0)) > 0:
        looped = looped[: i - 1] + looped[i:]
    assert drop_before_newlines(text) == looped
    looped = text
    while (i := next((i for i in range(1, len(looped)) if looped[i] == "\n" and looped[i - 1] in " \n\t,aZ0p"), 0)) > 0:
        looped = looped[:i] + " " + looped[i + 1 :]
    assert join_lines(text) == looped


def test_candidates_reach_across_sentences_and_break_at_stop_words() -> None:
    document = tagged("deep/JJ net/NN own/JJ word/NN It/NN more/JJ tests/NNS")
    assert phrases(promptrank_candidates(document)) == ["deep net", "word", "tests"]


def test_a_candidate_with_a_token_of_punctuation_only_is_dropped() -> None:
    document = tagged("rate/NN %/NN is/VBZ u.s./NNP army/NN has/VBZ -/NN sign/NN")
    assert phrases(promptrank_candidates(document)) == ["u.s. army", "- sign"]
