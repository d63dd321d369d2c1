"""Lists without repetition."""

from mudy.extraction.ranking import Mention, distinct_mentions, says_the_same


def mention(phrase: str, places: int = 1, alone: int | None = None) -> Mention:
    return Mention(frozenset(phrase.split()), places, places if alone is None else alone)


def test_a_part_of_a_chosen_phrase_is_left_out_however_often_it_is_named() -> None:
    assert distinct_mentions([mention("heat pump", 2), mention("pump", 3, 1)]) == [0]
    assert distinct_mentions([mention("heat pump", 2), mention("pump", 8, 6)]) == [0]


def test_a_longer_form_of_a_chosen_phrase_is_left_out_unless_it_is_the_usual_form() -> None:
    assert distinct_mentions([mention("pump", 20, 19), mention("heat pump", 1)]) == [0]
    assert distinct_mentions([mention("pump", 9, 5), mention("heat pump", 4)]) == [0]
    assert distinct_mentions([mention("pump", 10, 5), mention("heat pump", 5)]) == [0]
    assert distinct_mentions([mention("pump", 11, 5), mention("heat pump", 6)]) == [0, 1]
    assert distinct_mentions([mention("pump", 1, 0), mention("heat pump", 1)]) == [0]  # a single mention


def test_the_same_words_in_another_order_are_left_out() -> None:
    assert distinct_mentions([mention("ice road"), mention("road ice"), mention("map")]) == [0, 2]


def test_phrases_of_which_neither_contains_the_other_stay_whatever_they_share() -> None:
    first = mention("hybrid fuzzy model", 3)
    assert not says_the_same(mention("adaptive fuzzy model", 3), first)
    assert not says_the_same(mention("adaptive fuzzy control", 3), first)
    assert not says_the_same(mention("beaver dam", 3), mention("concrete dam", 3))


def test_a_list_ends_when_it_is_full() -> None:
    assert distinct_mentions([mention("ice"), mention("road"), mention("map")], top_n=2) == [0, 1]
