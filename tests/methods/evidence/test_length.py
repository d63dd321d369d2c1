import numpy as np

from mudy.methods.mudyplus.evidence.length import one_word, usual_length
from tests.methods.evidence.made import by_phrase, places


def test_one_word() -> None:
    phrases, found, _ = places()
    values = by_phrase(phrases, one_word(found))
    assert values["data"] == 1
    assert values["fuzzy modeling"] == 0


def test_the_length_that_a_text_prefers_is_the_usual_one() -> None:
    phrases, found, containment = places("ice . road . truck . radar map .")
    values = by_phrase(phrases, usual_length(found, containment))
    assert values["ice"] > values["radar map"]
    assert all(value < 0 for value in values.values())
    assert np.isfinite(list(values.values())).all()
