"""Hand-computed cases of every rule in which the published measures differ, and the statistics on top of them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mudy.errors import InputError, SettingError
from mudy.evaluation.comparison import compare, paired_t_test
from mudy.evaluation.measures import (
    AVERAGINGS,
    F1,
    MACRO,
    MICRO,
    Counts,
    P,
    Predictions,
    R,
    are_present,
    bootstrap_draws,
    promptrank_counts,
    stem_counts,
)
from mudy.reading.candidates.stemming import stems_of as stems


def predictions(phrases: str, gold: str, occurrences: int | None = None, name: str = "d") -> Predictions:
    """Phrases with commas between them."""
    return Predictions(name, phrases.split(", ") if phrases else [], gold.split(", "), occurrences)


# -- Measures as values -----------------------------------------------------------------------------------------------


def test_a_measure_is_a_value_with_a_readable_name() -> None:
    assert [str(measure) for measure in (F1 @ 5, P @ 10, R @ 15)] == ["F1@5", "P@10", "R@15"]
    assert F1 @ 5 == F1 @ 5
    assert F1 @ 5 != P @ 5
    assert len({F1 @ 5, F1 @ 5, F1 @ 10}) == 2


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "5", None])
def test_a_depth_that_is_no_number_from_1_up_is_refused(k: object) -> None:
    with pytest.raises(SettingError, match="from 1 up"):
        F1 @ k  # type: ignore[operator]


def test_precision_recall_and_f1_are_those_of_the_textbook() -> None:
    one = [predictions("oil spill, crude, alaska, tanker", "oil spills, alaska, captain", 9)]
    assert (P @ 4)(one) == pytest.approx(100 * 2 / 4)
    assert (R @ 4)(one) == pytest.approx(100 * 2 / 3)
    assert (F1 @ 4)(one) == pytest.approx(100 * 2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3))
    assert (P @ 1)(one) == 100


@pytest.mark.parametrize("averaging", AVERAGINGS.values(), ids=AVERAGINGS)
def test_no_prediction_is_worth_nothing(averaging: object) -> None:
    for measure in (P @ 5, R @ 5, F1 @ 5):
        assert measure([predictions("", "a")], averaging) == 0  # type: ignore[arg-type]


def test_no_document_is_an_error() -> None:
    with pytest.raises(InputError, match="F1@5 needs at least one document"):
        (F1 @ 5)([])


def test_a_document_without_gold_or_with_impossible_counts_is_refused() -> None:
    with pytest.raises(InputError, match="'x' has no gold"):
        Predictions("x", ["a"], [])
    with pytest.raises(InputError, match="2 phrases were predicted, but the candidates occur only 1 times"):
        Predictions("x", ["a", "b"], ["a"], 1)
    with pytest.raises(InputError, match="a list of phrases is needed"):
        Predictions("x", "oil spill", ["a"])


# -- The rules in which the lineages differ ---------------------------------------------------------------------------


def test_micro_counts_predictions_by_occurrences_and_macro_by_phrases() -> None:
    few, many = predictions("x, y", "z", 3), predictions("x, y", "z", 30)
    assert [promptrank_counts(o, 5).predicted for o in (few, many)] == [3, 5]
    assert [stem_counts(o, 5).predicted for o in (few, many)] == [2, 2]
    assert promptrank_counts(predictions("x, y", "z"), 5).predicted == 2


def test_micro_counts_a_gold_phrase_hit_twice_as_two_hits_and_macro_as_one() -> None:
    doubled = predictions("oil spill, oil spills, crude", "oil spill, captain", 8)
    assert promptrank_counts(doubled, 2) == Counts(2, 2, 2)
    assert stem_counts(doubled, 2) == Counts(1, 2, 2)  # the second of its two predictions is now "crude"
    assert (R @ 5).of(predictions("map, maps", "map")) == 200


def test_micro_counts_doubles_in_the_gold_and_macro_does_not() -> None:
    doubled = predictions("a b", "a b, a b, oil spill, oil spills, c", 1)
    assert promptrank_counts(doubled, 5) == Counts(1, 1, 5)
    assert stem_counts(doubled, 5) == Counts(1, 1, 3)


def test_absent_gold_counts_in_both() -> None:
    absent = predictions("map", "map, a phrase that stands nowhere")
    assert promptrank_counts(absent, 5).gold == stem_counts(absent, 5).gold == 2


def test_case_and_inflection_do_not_matter() -> None:
    assert promptrank_counts(predictions("oil spills, Alaska, tanker", "Oil Spill, alaska", 9), 5).hits == 2
    assert stem_counts(predictions("oil spills, Alaska, tanker", "Oil Spill, alaska", 9), 5).hits == 2


FORMS = ["map", "maps", "Map", "mapping", "oil", "Oil", "oils"]
PHRASES = st.lists(st.sampled_from(FORMS), min_size=1, max_size=3).map(" ".join)


@given(st.lists(PHRASES, max_size=6), st.lists(PHRASES, min_size=1, max_size=6), st.integers(1, 5))
def test_the_published_rule_stem_or_surface_gives_the_same_hits(found: list[str], gold: list[str], k: int) -> None:
    stemmed = {stems(phrase) for phrase in gold}
    published = sum(stems(phrase) in stemmed or phrase in gold for phrase in found[:k])
    assert promptrank_counts(Predictions("d", found, gold), k).hits == published


def test_micro_adds_up_before_it_divides_and_macro_divides_first() -> None:
    both = [predictions("a, x, y, z, w", "a, b", 5), predictions("a, b, c, x, y", "a, b, c, d, e, f, g, h", 5)]
    assert (P @ 5)(both, MICRO) == pytest.approx(100 * 4 / 10)
    assert (R @ 5)(both, MICRO) == pytest.approx(100 * 4 / 10)
    assert (F1 @ 5)(both, MICRO) == pytest.approx(100 * 2 * 0.4 * 0.4 / (0.4 + 0.4))
    first, second = 2 * 0.2 * 0.5 / (0.2 + 0.5), 2 * 0.6 * (3 / 8) / (0.6 + 3 / 8)
    assert (F1 @ 5)(both, MACRO) == pytest.approx(100 * (first + second) / 2)
    assert (R @ 5)(both, MACRO) == pytest.approx(100 * (1 / 2 + 3 / 8) / 2)


def test_a_list_shorter_than_k_is_divided_by_its_own_length_in_macro() -> None:
    assert (P @ 10)([predictions("a, x", "a", 40)], MACRO) == 50
    assert (P @ 10)([predictions("a, x", "a", 40)], MICRO) == 10


@pytest.mark.parametrize("count", [promptrank_counts, stem_counts])
def test_a_prediction_hits_by_the_stems_of_its_language(count: Callable[[Predictions, int], Counts]) -> None:
    given = ["réseaux électriques", "élections municipales"], ["réseau électrique", "élection municipale"]
    assert count(Predictions("a", *given, language="fr"), 5).hits == 2
    assert count(Predictions("a", *given), 5).hits < 2  # Porter knows no French


# -- Present and absent gold ------------------------------------------------------------------------------------------


def test_gold_is_present_where_its_stemmed_words_stand_next_to_one_another() -> None:
    text = "Early decision-making by river pilots. The maps (radar) fail; ART_WORK in C++."
    gold = ["decision making", "River Pilot", "radar maps", "map radar", "pilot river", "art", "art works", "iver"]
    present = [phrase for phrase, is_present in zip(gold, are_present(gold, text), strict=True) if is_present]
    assert present == ["decision making", "River Pilot", "map radar", "art", "art works"]


@pytest.mark.parametrize(
    ("language", "text", "present"),
    [
        ("fr", "Les réseaux électriques sont anciens.", "réseau électrique"),
        ("pt", "As nações unidas", "nação unida"),
        ("zh", "我们研究机器学习的方法", "机器学习"),
        ("hi", "भारत में सौर ऊर्जा", "सौर ऊर्जा"),
    ],
)
def test_gold_is_present_by_the_stems_of_its_language(language: str, text: str, present: str) -> None:
    assert are_present([present, "x"], text, language) == [True, False]


def test_a_phrase_without_letters_is_looked_for_as_it_is() -> None:
    assert are_present(["++", "--"], "C++ it is") == [True, False]


# -- Confidence -------------------------------------------------------------------------------------------------------


def hit_or_miss(hits: list[bool]) -> list[Predictions]:
    return [predictions("a" if hit else "x", "a", name=str(i)) for i, hit in enumerate(hits)]


def test_documents_that_are_all_alike_leave_no_doubt() -> None:
    interval = (F1 @ 5).interval(hit_or_miss([True] * 8))
    assert (interval.value, interval.low, interval.high) == (100, 100, 100)


@pytest.mark.parametrize("averaging", AVERAGINGS.values(), ids=AVERAGINGS)
def test_of_a_hit_and_a_miss_half_of_the_draws_have_one_of_each(averaging: object) -> None:
    both = hit_or_miss([True, False])  # drawn twice: 0, 50, 50 or 100 per cent
    interval = (P @ 1).interval(both, averaging)  # type: ignore[arg-type]
    assert (interval.value, interval.low, interval.high) == (50, 0, 100)
    drawn = np.concatenate(list(bootstrap_draws(2)))
    assert ((drawn == 1).all(1)).mean() == pytest.approx(0.5, abs=0.05)


def test_a_95_per_cent_interval_covers_the_truth_about_95_times_in_100() -> None:
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(100):
        interval = (P @ 1).interval(hit_or_miss(list(random.random(60) < 0.4)))
        covered += interval.low <= 40 <= interval.high
    assert 88 <= covered <= 100


def test_an_interval_is_the_same_every_time() -> None:
    documents = hit_or_miss([i % 3 == 0 for i in range(50)])
    assert (F1 @ 1).interval(documents) == (F1 @ 1).interval(documents)
    first, second = (next(bootstrap_draws(50, seed)) for seed in (0, 1))
    assert (first != second).any()


# -- Two runs ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=3, max_size=30))
def test_the_t_test_equals_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = ([float(pair[i]) for pair in pairs] for i in (0, 1))
    t, p = paired_t_test(first, second)
    if len({b - a for a, b in pairs}) > 1:
        expected = stats.ttest_rel(second, first)
        assert t == pytest.approx(expected.statistic)
        assert p == pytest.approx(expected.pvalue)
    else:
        assert p == (1 if first == second else 0)


def test_a_run_does_not_differ_from_itself() -> None:
    documents = hit_or_miss([True, False, True])
    same = compare(F1 @ 5, documents, documents)
    assert (same.difference.value, same.difference.low, same.difference.high) == (0, 0, 0)
    assert (same.t, same.p_t_test, same.p_bootstrap) == (0, 1, 1)


def test_a_clear_gain_is_significant_and_its_sign_is_that_of_second_minus_first() -> None:
    worse, better = hit_or_miss([i % 4 == 0 for i in range(60)]), hit_or_miss([i % 4 != 3 for i in range(60)])
    found = compare(P @ 1, worse, better, MACRO)
    assert (found.first, found.second, found.difference.value) == (25, 75, 50)
    assert found.t == pytest.approx(stats.ttest_rel([100.0, 100, 100, 0] * 15, [100.0, 0, 0, 0] * 15).statistic)
    assert 0 < found.difference.low < 50 < found.difference.high
    assert found.p_t_test < 0.001
    assert found.p_bootstrap < 0.005
    back = compare(P @ 1, better, worse, MACRO)
    assert (back.t, back.difference.value) == (-found.t, -50)


def test_documents_are_drawn_in_pairs() -> None:
    hits = [i % 2 == 0 for i in range(40)]
    worse = hit_or_miss([*hits, False])
    better = hit_or_miss([*hits, True])
    found = compare(P @ 1, worse, better)
    apart = (P @ 1).interval(better)
    assert found.difference.low >= 0  # no draw of pairs makes the better run the worse one
    assert found.difference.high - found.difference.low < (apart.high - apart.low) / 2


def test_documents_are_matched_by_id_whatever_their_order() -> None:
    first = hit_or_miss([True, False, True, False])
    second = list(reversed(hit_or_miss([True, True, False, False, True])))
    found = compare(P @ 1, first, second)
    assert (found.documents, found.unmatched) == (4, 1)
    assert (found.first, found.second) == (50, 50)
    assert found.t == 0


def test_runs_that_cannot_be_paired_are_refused() -> None:
    documents = hit_or_miss([True, False])
    with pytest.raises(InputError, match="no document in common"):
        compare(F1 @ 5, documents, [predictions("a", "a", name="other")])
    with pytest.raises(InputError, match="'0' occurs twice"):
        compare(F1 @ 5, documents, [*documents, documents[0]])
    with pytest.raises(InputError, match="'0' has different gold"):
        compare(F1 @ 5, documents, [predictions("a", "b", name="0")])
    with pytest.raises(InputError, match="at least 2 documents"):
        compare(F1 @ 5, documents[:1], documents[:1])
