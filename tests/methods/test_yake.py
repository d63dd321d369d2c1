"""YAKE: the formula against cases worked out by hand."""

from math import exp, log, sqrt

import pytest

from mudy.methods.graphs import WordIndex
from mudy.methods.yake import Statistics, TermWeights, Yake, frequencies, is_ordinary, statistics, term, word_weight
from mudy.reading.candidates import candidates, given
from mudy.reading.document import Document
from tests.tagged import tagged


def counted(document: Document, window: int = 1) -> dict[str, Statistics]:
    return statistics(document, terms_of(document), window)


def terms_of(document: Document) -> list[str]:
    return [term(form) for form in WordIndex.of(document, []).forms]


def weigh(document: Document) -> TermWeights:
    return TermWeights.of(document, terms_of(document), 1)


def phrase_weight(document: Document, phrase: str) -> float:
    found, _ = given(document, [phrase])
    (score, *_) = Yake().score(document, found)
    return score.parts["H"]


# -- Counting ---------------------------------------------------------------------------------------------------------


def test_plurals_count_as_their_singular_unless_they_are_short() -> None:
    assert [term(word) for word in ("maps", "map", "gas", "glass")] == ["map", "map", "gas", "glas"]


def test_words_are_counted_with_their_neighbours_up_to_punctuation() -> None:
    found = counted(tagged("Radar maps help , maps sell . Maps help trucks ."))
    assert found["map"].tf == 3
    assert found["map"].sentences == {0, 1}
    assert found["map"].left == {"radar": 1}
    assert found["map"].right == {"help": 2, "sell": 1}


def test_a_wider_window_sees_more_neighbours() -> None:
    found = counted(tagged("old radar maps help"), window=2)
    assert found["help"].left == {"radar": 1, "map": 1}
    assert found["radar"].right == {"map": 1, "help": 1}


def test_capitals_count_where_they_do_not_open_a_sentence_and_acronyms_everywhere() -> None:
    found = counted(tagged("Alaska and NASA . NASA likes Alaska . the alaska of McDonald in U.S. and B2"))
    assert (found["alaska"].tf, found["alaska"].name, found["alaska"].acronym) == (3, 1, 0)
    assert (found["nasa"].name, found["nasa"].acronym) == (0, 2)
    assert [(found[word].name, found[word].acronym) for word in ("mcdonald", "u.s.", "b2")] == [(0, 0)] * 3


def test_words_with_digits_or_several_marks_are_no_ones_neighbour() -> None:
    assert [is_ordinary(w) for w in ("ice", "self-made", "state-of-the-art", "u.s.", "b2", "42", "-")] == [True] * 2 + [
        False
    ] * 5
    found = counted(tagged("ice 42 road"))
    assert not found["ice"].right
    assert not found["42"].left
    assert not found["road"].left  # its neighbour is 42


def test_a_phrase_is_counted_inside_longer_ones_too() -> None:
    terms = ["ice", "road", "of", "the", "ice", "road", "map"]
    assert frequencies(terms, [("ice", "road"), ("road", "map"), ()]) == {("ice", "road"): 2, ("road", "map"): 1}


# -- Weights ----------------------------------------------------------------------------------------------------------


def test_a_words_weight_follows_the_formula() -> None:
    document = tagged("Radar maps help . trucks need Radar . radar fails .")
    # tf: radar 3, map, help, truck, need, fail 1; mean 8/6, variance 20/36
    usual = 8 / 6 + sqrt(20 / 36)
    case = 1 / (1 + log(3))  # one Radar inside a sentence
    position = log(log(3 + 1))  # the median of sentences 0, 1, 2
    related = 1 + (1 + 1) * 3 / 3  # one left neighbour (need), two right ones (map, fail), all different
    expected = related * position / (case + 3 / usual / related + 3 / 3 / related)
    assert weigh(document).words["radar"] == pytest.approx(expected)


def test_stop_words_count_for_the_highest_frequency_but_not_for_the_usual_one() -> None:
    document = tagged("the ice . the road . the map .")
    # content words: tf 1 each, no deviation; the highest tf is that of "the"
    expected = (1 + 1 / 3) * log(log(3)) / (1 / (1 + 1 / 3) + 1 / 3 / (1 + 1 / 3))
    assert weigh(document).words["ice"] == pytest.approx(expected)


def test_frequent_early_capitalised_words_weigh_less() -> None:
    plain = Statistics(tf=2, sentences={3, 9})
    base = word_weight(plain, 2.0, 5, 10)
    assert word_weight(Statistics(tf=4, sentences={3, 9}), 2.0, 5, 10) < base
    assert word_weight(Statistics(tf=2, sentences={0, 1}), 2.0, 5, 10) < base
    assert word_weight(Statistics(tf=2, sentences={3, 9}, name=2), 2.0, 5, 10) < base


def test_a_phrase_weighs_the_product_of_its_words_over_its_frequency_and_their_sum() -> None:
    document = tagged("ice roads melt/VBP . the/DT ice road sinks/VBZ . old/JJ ice floats/VBZ .")
    words = weigh(document).words
    ice, road = words["ice"], words["road"]
    assert phrase_weight(document, "ice road") == pytest.approx(ice * road / (2 * (1 + ice + road)))
    assert phrase_weight(document, "ice") == pytest.approx(ice / (3 * (1 + ice)))


def test_an_inner_stop_word_counts_by_how_much_its_neighbours_call_for_it() -> None:
    document = tagged("art of war . art of peace . art shows war .")
    words = weigh(document).words
    called_for = (2 / 3) * (1 / 2)  # two of three "art" come before "of", one of two "war" after it
    art, war = words["art"], words["war"]
    expected = art * (2 - called_for) * war / (1 * (1 + art + war - (1 - called_for)))
    assert phrase_weight(document, "art of war") == pytest.approx(expected)


def test_an_inner_stop_word_costs_nothing_where_both_neighbours_always_have_it_however_frequent_it_is() -> None:
    document = tagged("art of war . end of time . loss of hope . art of war .")
    words = weigh(document).words
    art, war = words["art"], words["war"]
    assert phrase_weight(document, "art of war") == pytest.approx(art * war / (2 * (1 + art + war)))


def test_several_inner_stop_words_leave_the_weight_positive() -> None:
    document = tagged("state of the art . art of the deal . the state .")
    assert phrase_weight(document, "state of the art") > 0


def test_the_score_is_minus_the_logarithm_of_the_weight_so_that_higher_is_better() -> None:
    document = tagged("ice roads melt/VBP . the/DT ice road sinks/VBZ . old/JJ ferry floats/VBZ .")
    found = candidates(document)
    scored = Yake().score(document, found)
    assert all(exp(-s.score) == pytest.approx(s.parts["H"]) for s in scored)
    best = max(scored, key=lambda s: s.score)
    assert best.parts["H"] == min(s.parts["H"] for s in scored)
