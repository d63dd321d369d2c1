from mudy.methods.mudyplus.evidence.plainness import plainness
from mudy.reading.document import Document
from tests.tagged import tagged


def test_a_text_with_few_nouns_is_plain_and_one_with_many_is_not() -> None:
    assert plainness(tagged("put/VB it/PRP there/RB and/CC wait/VB")) == 1
    assert plainness(tagged("river ice radar map holds/VBZ")) == 0


def test_between_the_two_plainness_falls_with_every_noun() -> None:
    quarter = tagged("ice melts/VBZ quite/RB fast/RB")
    assert plainness(quarter) == 0.5


def test_no_words() -> None:
    assert plainness(Document("", (), ())) == 0
