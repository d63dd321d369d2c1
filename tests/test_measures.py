"""Hand-computed cases of the published measure."""

import pytest

from mudy.evaluation.measures import Counts, counts, micro_f1


def test_a_hit_is_an_equal_stem_or_an_equal_form() -> None:
    assert counts(["oil spills", "Alaska", "tanker"], ["oil spill", "alaska"], 5, 9) == Counts(2, 5, 2)


def test_two_predictions_of_one_stem_hit_the_same_gold_twice() -> None:
    assert counts(["oil spill", "oil spills"], ["oil spill"], 5, 2).hits == 2


def test_doubled_and_absent_gold_counts() -> None:
    assert counts(["a b"], ["a b", "a b", "c"], 5, 1).gold == 3


def test_predictions_are_counted_by_occurrences_up_to_k() -> None:
    assert counts(["x"], ["y"], 5, 3).predicted == 3
    assert counts(["x"], ["y"], 5, 30).predicted == 5


def test_micro_f1_adds_up_before_it_divides() -> None:
    both = [Counts(1, 5, 2), Counts(3, 5, 8)]
    assert micro_f1(both) == pytest.approx(100 * 2 * 0.4 * 0.4 / (0.4 + 0.4))
    assert micro_f1([]) == 0.0
