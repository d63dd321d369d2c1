import numpy as np
import pytest

from mudy.methods.mudyplus.evidence import Numbers
from mudy.methods.mudyplus.fitting import SLOPES, calibrate
from mudy.methods.mudyplus.weights import KNEE, Bend, expit


def test_a_bend_keeps_order_and_low_sums() -> None:
    sums = np.linspace(-6, 6, 50)
    bent = Bend(KNEE, 0.3).bent(sums)
    assert (np.diff(bent) > 0).all()
    low = sums <= KNEE
    np.testing.assert_array_equal(bent[low], sums[low])
    assert (bent[~low] < sums[~low]).all()


def test_no_bend_changes_nothing() -> None:
    sums = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(Bend().bent(sums), sums)


@pytest.mark.parametrize("slope", [0.3, 1.0, 1.4])
def test_the_bend_of_a_known_truth_is_found_again(slope: float) -> None:
    random = np.random.default_rng(0)
    sums: list[Numbers] = [random.normal(0, 2, size=100) for _ in range(200)]
    hits = [random.random(100) < expit(Bend(KNEE, slope).bent(own)) for own in sums]
    assert calibrate(sums, hits, [1 / 20000] * 200).slope == pytest.approx(slope, abs=0.051)


def test_certain_sums_that_are_wrong_do_not_overflow() -> None:
    assert calibrate([np.array([900.0, -900.0])], [np.array([False, True])], [0.5]).slope == SLOPES[0]
