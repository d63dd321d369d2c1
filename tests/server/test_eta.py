"""Times are estimated from the batches so far."""

import pytest

from mudy.server.telemetry import WORDS_PER_TEXT, Eta

MUDY, YAKE = "mudy", "yake"


def test_the_pace_is_learned_and_what_was_never_done_is_not_known() -> None:
    eta = Eta()
    assert eta.expected([(MUDY, 10)]) is None
    eta.learn(MUDY, [80, 180], 3.0)  # 300 with what each text costs before its first word: 10 ms each
    assert eta.expected([(MUDY, 80), (MUDY, 1000 - WORDS_PER_TEXT)]) == pytest.approx(11.0)
    assert eta.expected([(MUDY, 80), (YAKE, 80)]) is None


@pytest.mark.parametrize(("words", "seconds"), [(0, 1), (980, 5), (10**6, 60)])
def test_who_is_refused_waits_for_about_half_of_the_work_in_line(words: int, seconds: int) -> None:
    eta = Eta()
    eta.learn(MUDY, [80], 1.0)
    assert eta.retry_after([(MUDY, words), (YAKE, 10**6)]) == seconds
