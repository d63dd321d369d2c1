"""The statistics of counts, against scipy and published examples."""

from itertools import product

import pytest
from scipy import stats

from mudy.corpus.statistics import (
    false_discovery_rates,
    log_likelihood,
    npmi,
    p_value,
    share_difference,
    signed_root,
    trend,
)


@pytest.mark.parametrize(("both", "one", "other", "total"), [(5, 9, 12, 100), (1, 30, 40, 100), (2, 2, 2, 20)])
def test_the_log_likelihood_is_that_of_scipy_with_the_sign_of_the_association(
    both: int, one: int, other: int, total: int
) -> None:
    table = [[both, one - both], [other - both, total - one - other + both]]
    expected = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    value = log_likelihood(both, one, other, total)
    assert abs(value) == pytest.approx(expected.statistic)
    assert (value > 0) == (both * total > one * other)
    assert p_value(signed_root(value)) == pytest.approx(expected.pvalue)


def test_npmi_is_one_for_pairs_that_always_meet_zero_by_chance_and_minus_one_if_never() -> None:
    assert [npmi(n, n, n, 230) for n in range(1, 230)] == pytest.approx([1] * 229)
    assert max(npmi(n, n, n, 230) for n in range(1, 230)) <= 1
    assert npmi(5, 50, 10, 100) == pytest.approx(0)
    assert npmi(0, 5, 5, 100) == -1
    assert npmi(7, 7, 7, 7) == 1


def test_the_trend_is_the_correlation_of_time_and_mention() -> None:
    """Cochran and Armitage's z² is N times the squared correlation over all documents."""
    counts, totals = [1, 3, 4, 9], [20, 25, 15, 30]
    times = [time for time, size in enumerate(totals) for _ in range(size)]
    mentions = [int(i < count) for count, size in zip(counts, totals, strict=True) for i in range(size)]
    r = stats.pearsonr(times, mentions).statistic
    assert trend(counts, totals) == pytest.approx(r * len(times) ** 0.5)
    assert trend(counts[::-1], totals[::-1]) == pytest.approx(-trend(counts, totals))
    assert trend([5, 5], [5, 5]) == 0


def test_false_discovery_rates_are_those_of_scipy() -> None:
    p_values = [0.5, 0.001, 0.03, 0.03, 0.9, 0.004]
    assert false_discovery_rates(p_values) == pytest.approx(list(stats.false_discovery_control(p_values)))
    assert false_discovery_rates([]) == []


def test_the_interval_of_a_difference_is_newcombes_own_example() -> None:
    assert share_difference(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_an_interval_contains_its_difference_and_stays_possible() -> None:
    for one, other in product([0, 1, 9, 10], repeat=2):
        low, high = share_difference(one, 10, other, 10)
        assert -1 <= low <= (one - other) / 10 <= high <= 1
