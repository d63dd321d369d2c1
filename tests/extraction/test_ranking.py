"""From scores to keyphrases."""

import pytest

from mudy.errors import SettingError
from mudy.extraction.ranking import PhraseNames, how_many, overlap, rank
from mudy.methods.method import OccurrenceScore
from mudy.reading.candidates import Candidate, Occurrence
from mudy.reading.document import Span


def scored(text: str, values: dict[str, list[float]]) -> tuple[list[Candidate], list[OccurrenceScore]]:
    """Each phrase with a score for each of its occurrences, found by searching."""
    candidates, scores = [], []
    for index, (phrase, numbers) in enumerate(values.items()):
        start, places = -1, []
        for number in numbers:
            start = text.lower().index(phrase, start + 1)
            places.append(Occurrence(Span(start, start + len(phrase)), 0))
            scores.append(OccurrenceScore(index, places[-1], number))
        candidates.append(Candidate(phrase, tuple(places)))
    return candidates, scores


TEXT = (
    "Oil spills hurt. An oil spill near Alaska; the oil spill response in Alaska. Decision-making and decision making."
)


def test_a_phrase_scores_as_its_best_occurrence_and_keeps_all() -> None:
    (best, second) = rank(TEXT, *scored(TEXT, {"oil spill": [-3.0, -1.0], "alaska": [-2.0]}))
    assert (best.text, best.score, best.rank) == ("oil spill", -1.0, 1)
    assert [o.score for o in best.occurrences] == [-1.0, -3.0]
    assert (second.text, second.rank) == ("Alaska", 2)


@pytest.mark.parametrize(
    "words",
    [("option", "optional"), ("document", "documentation"), ("generation", "generator"), ("respect", "respectability")],
)
def test_derivations_are_different_phrases(words: tuple[str, str]) -> None:
    found = rank(" ".join(words), *scored(" ".join(words), {word: [-1.0] for word in reversed(words)}))
    assert [(k.text, k.variants) for k in found] == [(word, ()) for word in words]


def test_singular_and_plural_are_merged_under_the_best_one() -> None:
    found = rank(TEXT, *scored(TEXT, {"oil spills": [-1.0], "oil spill": [-2.0], "decision-making": [-4.0]}))
    assert [k.text for k in found] == ["Oil spills", "Decision-making"]
    assert found[0].variants == ("Oil spill",)
    assert len(found[0].occurrences) == 2


def test_hyphen_and_space_are_variants_of_one_another() -> None:
    (only,) = rank(TEXT, *scored(TEXT, {"decision-making": [-4.0], "decision making": [-3.0]}))
    assert (only.text, only.variants) == ("decision making", ("Decision-making",))


def test_merging_can_be_switched_off() -> None:
    values = {"oil spills": [-1.0], "oil spill": [-2.0]}
    found = rank(TEXT, *scored(TEXT, values), names=PhraseNames(merge=False))
    assert [k.text for k in found] == ["Oil spills", "Oil spill"]


def test_ties_and_float_noise_are_broken_by_position() -> None:
    found = rank(TEXT, *scored(TEXT, {"alaska": [-1.0], "oil spill": [-1.000001]}))
    assert [k.text for k in found] == ["Oil spill", "Alaska"]


def test_diversity_keeps_apart_what_shares_words() -> None:
    values = {"oil spill": [-1.0], "oil spill response": [-1.1], "alaska": [-2.0]}
    assert [k.text for k in rank(TEXT, *scored(TEXT, values), top_n=2)] == ["Oil spill", "oil spill response"]
    assert [k.text for k in rank(TEXT, *scored(TEXT, values), top_n=2, diversity=0.7)] == ["Oil spill", "Alaska"]
    with pytest.raises(SettingError, match="between 0"):
        rank(TEXT, *scored(TEXT, values), diversity=2.0)


def test_diversity_brings_new_phrases_into_a_distinct_list() -> None:
    text = "Oil spill. Oil price. Alaska. Whales."
    values = {"oil spill": [-1.0], "oil price": [-1.1], "alaska": [-1.2], "whales": [-3.0]}
    assert [k.text for k in rank(text, *scored(text, values), top_n=2, distinct=True)] == ["Oil spill", "Oil price"]
    diverse = rank(text, *scored(text, values), top_n=2, distinct=True, diversity=0.7)
    assert [k.text for k in diverse] == ["Oil spill", "Alaska"]


def test_diversity_counts_the_best_occurrence_of_a_phrase_shown_in_another_form() -> None:
    text = "Oil spills. Oil spill, oil spill. Alaska. Whales."
    values = {"oil spills": [-1.0], "oil spill": [-9.0, -9.0], "alaska": [-1.5], "whales": [-9.5]}
    (first, *_) = rank(text, *scored(text, values), distinct=True, diversity=0.3)
    assert (first.text, first.score) == ("Oil spill", -1.0)


def test_diversity_keeps_apart_phrases_of_a_script_without_spaces() -> None:
    text = "机器学习，机器翻译，天气，树木。"
    values = {"机器学习": [-1.0], "机器翻译": [-1.1], "天气": [-1.2], "树木": [-3.0]}
    diverse = rank(text, *scored(text, values), top_n=2, diversity=0.7, names=PhraseNames(language="zh"))
    assert [k.text for k in diverse] == ["机器学习", "天气"]


def test_no_scores_give_no_keyphrases() -> None:
    assert rank("", [], []) == ()
    assert rank("", [], [], diversity=0.5) == ()


def test_overlap_is_the_share_of_common_words() -> None:
    assert overlap({"oil", "spill"}, {"oil", "price"}) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("top_n", "words", "expected"), [(7, 100, 7), (0.02, 100, 2), (0.02, 1, 1), (None, 9, None)])
def test_top_n_is_a_number_a_share_or_all(top_n: float | None, words: int, expected: int | None) -> None:
    assert how_many(top_n, words) == expected


@pytest.mark.parametrize("top_n", [0, -1, 0.0, 1.5, True, "5"])
def test_other_values_of_top_n_are_refused(top_n: object) -> None:
    with pytest.raises(SettingError, match="top_n"):
        how_many(top_n, 10)  # type: ignore[arg-type]


# -- Acronyms ---------------------------------------------------------------------------------------------------------

KINEMATICS = "Inverse kinematics (IK) moves arms. IK solvers: an inverse kinematics solver is fast. IK is hard."
ACRONYMS = dict.fromkeys(("ik", "iks"), "inverse kinematics")


@pytest.mark.parametrize("distinct", [False, True])
def test_an_acronym_is_a_variant_of_its_long_form(distinct: bool) -> None:
    values = {"ik": [-1.0, -4.0, -1.5], "arms": [-2.0], "inverse kinematics": [-3.0]}
    found = rank(KINEMATICS, *scored(KINEMATICS, values), names=PhraseNames(acronyms=ACRONYMS), distinct=distinct)
    assert [(k.text, k.variants, k.score) for k in found] == [
        ("Inverse kinematics", ("IK",), -1.0),
        ("arms", (), -2.0),
    ]
    assert {(o.start, o.end) for o in found[0].occurrences} == {(0, 18), (20, 22), (36, 38), (86, 88)}


def test_phrases_with_an_acronym_are_merged_with_those_that_spell_it_out() -> None:
    values = {"ik solvers": [-1.0], "inverse kinematics solver": [-3.0]}
    (only,) = rank(KINEMATICS, *scored(KINEMATICS, values), names=PhraseNames(acronyms=ACRONYMS))
    assert (only.text, only.variants) == ("inverse kinematics solver", ("IK solvers",))


def test_a_phrase_that_contains_the_acronym_of_a_chosen_one_repeats_it() -> None:
    values = {"inverse kinematics": [-1.0], "ik": [-1.0, -1.0, -1.0], "ik solvers": [-2.0], "arms": [-3.0]}
    found = rank(KINEMATICS, *scored(KINEMATICS, values), names=PhraseNames(acronyms=ACRONYMS), distinct=True)
    assert [k.text for k in found] == ["Inverse kinematics", "arms"]


def test_acronyms_stay_apart_where_nothing_is_merged() -> None:
    values = {"inverse kinematics": [-1.0], "ik": [-2.0]}
    found = rank(KINEMATICS, *scored(KINEMATICS, values), names=PhraseNames(merge=False, acronyms=ACRONYMS))
    assert [k.text for k in found] == ["Inverse kinematics", "IK"]
