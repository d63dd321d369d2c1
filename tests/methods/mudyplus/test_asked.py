"""What a language model said, as evidence: likelihood, boundary, attention."""

import pytest

from mudy.methods.mudyplus.asked import LEAST, attention, ending, likelihood


def test_only_the_phrase_itself_is_likely_and_only_what_follows_it_ends_it() -> None:
    values = [-9.0, -1.0, -3.0, -0.5]
    assert likelihood(values) == pytest.approx(-4 / 2**0.6)
    assert ending(values) == -0.5


def test_rounding_above_0_and_impossible_tokens_are_bounded() -> None:
    assert likelihood([0.0, 0.114, 0.0]) == 0
    assert ending([0.0, -1.0, float("-inf")]) == LEAST
    assert likelihood([0.0, 0.0]) == LEAST  # the phrase has no token of its own


def test_the_place_that_receives_most_counts() -> None:
    assert attention([1.0, 4.0], 2.0) == attention([4.0], 2.0) > attention([2.0], 2.0)
    assert attention([], 2.0) == attention([2.0], 2.0)
    assert attention([1.0], 0.0) == attention([], 1.0)
