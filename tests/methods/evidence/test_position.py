from math import log

from mudy.methods.mudyplus.evidence.position import first_position
from tests.methods.evidence.made import by_phrase, places


def test_the_words_before_the_first_place() -> None:
    phrases, found, _ = places()
    values = by_phrase(phrases, first_position(found))
    assert values["hybrid fuzzy modeling"] == 0
    assert values["data"] == log(1 + 8)
