from tests.methods.evidence.made import by_phrase, places


def test_places_inside_longer_phrases_count_and_stems_are_compared() -> None:
    phrases, found, _ = places()
    counts = by_phrase(phrases, found.counts)
    assert counts["fuzzy modeling"] == 2
    assert counts["hybrid fuzzy modeling"] == 1
    assert counts["models"] == counts["modeling"] == 3  # one stem


def test_a_text_of_one_candidate() -> None:
    phrases, found, containment = places("ice")
    assert phrases == ["ice"]
    assert found.counts.tolist() == [1.0]
    assert containment.nested.tolist() == [0.0]
