import numpy as np

from mudy.methods.mudyplus.evidence.frequency import dampened, nested_frequency, own_frequency
from tests.methods.evidence.made import by_phrase, places


def test_repetition_is_dampened() -> None:
    values = dampened(np.array([0.0, 1.0, 2.0, 20.0]))
    assert values[0] == values[1] == 0
    assert 0 < values[3] - values[2] < 3 * values[2]


def test_own_and_nested_places_add_up_to_all_places() -> None:
    phrases, found, containment = places()
    own, nested = own_frequency(found, containment), nested_frequency(found, containment)
    np.testing.assert_allclose(own + nested, dampened(found.counts))
    assert by_phrase(phrases, own)["fuzzy modeling"] == 0
    assert by_phrase(phrases, nested)["fuzzy modeling"] > 0
