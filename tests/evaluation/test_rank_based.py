"""MAP, nDCG, F1@M and F1@O against values computed by hand."""

from math import log2

import pytest

from mudy.evaluation.comparison import compare
from mudy.evaluation.measures import F1, MACRO, MAP, MICRO, Averaging, Depth, Measure, P, Predictions, R, nDCG


def predictions(phrases: str, gold: str, name: str = "d") -> Predictions:
    return Predictions(name, phrases.split(", ") if phrases else [], gold.split(", "))


HITS_AT_1_AND_3 = predictions("oil spill, crude, alaska, tanker", "oil spills, alaska, captain")


def test_average_precision_sums_the_precision_at_each_hit() -> None:
    assert (MAP @ 4).of(HITS_AT_1_AND_3) == pytest.approx(100 * (1 / 1 + 2 / 3) / 3)
    assert (MAP @ 2).of(HITS_AT_1_AND_3) == pytest.approx(100 * 1 / 3)  # divided by all gold, as trec_eval does
    assert (MAP @ Depth.RETURNED).of(HITS_AT_1_AND_3) == pytest.approx(100 * (1 / 1 + 2 / 3) / 3)


def test_ndcg_compares_with_the_best_order() -> None:
    found = 1 + 1 / log2(4)
    assert (nDCG @ 4).of(HITS_AT_1_AND_3) == pytest.approx(100 * found / (1 + 1 / log2(3) + 1 / log2(4)))
    assert (nDCG @ 2).of(HITS_AT_1_AND_3) == pytest.approx(100 * 1 / (1 + 1 / log2(3)))


@pytest.mark.parametrize("measure", [MAP @ 5, nDCG @ 5, nDCG @ 1], ids=str)
def test_a_perfect_list_is_worth_100_and_an_empty_one_nothing(measure: Measure) -> None:
    assert measure.of(predictions("a, b, c", "c, b, a")) == pytest.approx(100)
    assert measure.of(predictions("", "a")) == 0


def test_a_short_list_does_not_lower_what_ndcg_at_m_is_compared_with() -> None:
    assert (nDCG @ Depth.RETURNED).of(predictions("a", "a, b")) == pytest.approx(100 / (1 + 1 / log2(3)))


def test_two_forms_of_one_phrase_hit_once() -> None:
    doubled = predictions("map, maps, road", "map, road")
    assert (MAP @ 3).of(doubled) == pytest.approx(100)
    assert (nDCG @ 3).of(doubled) == pytest.approx(100)


@pytest.mark.parametrize("averaging", [MICRO, MACRO], ids=lambda averaging: averaging.name)
def test_rank_measures_are_means_over_documents_in_either_averaging(averaging: Averaging) -> None:
    documents = [predictions("a", "a", "one"), predictions("x", "a, b, c", "two")]
    assert (MAP @ 5)(documents, averaging) == pytest.approx(50)
    interval = (MAP @ 5).interval(documents, averaging)
    assert [interval.value, interval.low, interval.high] == pytest.approx([50, 0, 100])


def test_depths_that_depend_on_the_document() -> None:
    ranked = predictions("a, x, b, y, z", "a, b")
    assert str(F1 @ Depth.RETURNED) == "F1@M"
    assert str(F1 @ Depth.GOLD) == "F1@O"
    for averaging in (MICRO, MACRO):
        assert (P @ Depth.RETURNED).of(ranked, averaging) == pytest.approx(100 * 2 / 5)
        assert (R @ Depth.RETURNED).of(ranked, averaging) == 100
        assert (F1 @ Depth.RETURNED).of(ranked, averaging) == pytest.approx(100 * 4 / 7)
        assert (F1 @ Depth.GOLD).of(ranked, averaging) == pytest.approx(100 * 2 / 4)  # of a and x
    assert (F1 @ Depth.RETURNED).of(predictions("", "a")) == 0


def test_rank_based_measures_compare_by_the_stems_of_the_language() -> None:
    french = Predictions("a", ["réseaux électriques"], ["réseau électrique"], language="fr")
    assert (MAP @ 5)([french]) == (nDCG @ 5)([french]) == 100


def test_gold_with_equal_stems_counts_once_at_o_in_macro_averaging() -> None:
    doubled = predictions("x, map", "map, maps")
    assert (P @ Depth.GOLD).of(doubled, MACRO) == 0  # one is read
    assert (P @ Depth.GOLD).of(doubled, MICRO) == 50  # two are read


def test_runs_can_be_compared_by_a_rank_measure() -> None:
    first = [predictions("x, a", "a", "one"), predictions("x, y, a", "a", "two")]
    second = [predictions("a", "a", "one"), predictions("a", "a", "two")]
    found = compare(MAP @ 5, first, second)
    assert found.difference.value == pytest.approx(100 - (50 + 100 / 3) / 2)
