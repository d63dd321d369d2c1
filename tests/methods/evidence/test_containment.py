from tests.methods.evidence.made import by_phrase, places


def test_a_place_inside_several_longer_phrases_counts_once() -> None:
    phrases, _, containment = places()
    nested = by_phrase(phrases, containment.nested)
    assert nested["modeling"] == 2  # in "fuzzy modeling" twice, once also in "hybrid fuzzy modeling"
    assert nested["fuzzy modeling"] == 1
    assert nested["hybrid fuzzy modeling"] == nested["data"] == 0
