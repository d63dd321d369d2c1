from mudy.evidence.generality import ENOUGH, generic
from tests.evidence.made import by_phrase, places


def test_an_everyday_noun_is_seen_until_the_text_repeats_it() -> None:
    phrases, found, _ = places("people cross/VBP ice . time goes/VBZ . time goes/VBZ . old/JJ people .")
    values = by_phrase(phrases, generic(found))
    assert values["ice"] == values["old people"] == 0
    assert 0 < values["time"] < 1
    phrases, found, _ = places("time . " * ENOUGH)
    assert by_phrase(phrases, generic(found))["time"] == 0
