"""What all integrations share: extractors by plain settings."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mudy import Extractor, SettingError
from mudy.integrations import extraction
from mudy.integrations.extraction import MOST_SHARED, check_plain_settings, results_of, shared_extractor
from tests.integrations.texts import PARAGRAPHS, TEXT

YAKE: dict[str, Any] = {"method": "yake", "top_n": 5}


@pytest.fixture(autouse=True)
def no_extractors() -> Iterator[None]:
    """Leave the extractors of other tests as they are."""
    kept = dict(extraction._extractors)
    extraction._extractors.clear()
    yield
    extraction._extractors.clear()
    extraction._extractors.update(kept)


def test_results_are_those_of_an_extractor() -> None:
    assert list(results_of(PARAGRAPHS, YAKE)) == list(Extractor("yake").extract_many(PARAGRAPHS, top_n=5))


def test_several_processes_give_the_same_results() -> None:
    assert list(results_of(PARAGRAPHS, {**YAKE, "workers": 2})) == list(results_of(PARAGRAPHS, YAKE))


def test_equal_settings_share_an_extractor_whatever_their_options() -> None:
    first = shared_extractor({"method": "yake", "window": 2, "top_n": 5})
    assert shared_extractor({"window": 2, "method": "yake", "top_n": 9}) is first
    assert shared_extractor({"method": "yake", "window": 3}) is not first


def test_seeds_and_questions_belong_to_the_texts_not_to_the_extractor() -> None:
    first = shared_extractor({"speed": "quick", "seeds": ["flood"]})
    assert shared_extractor({"speed": "quick", "query": "what does it cost?"}) is first


def test_only_a_few_extractors_are_kept_and_the_one_used_longest_ago_goes_first() -> None:
    first, second = (shared_extractor({"method": "yake", "window": n}) for n in (1, 2))
    for n in range(3, MOST_SHARED + 1):
        shared_extractor({"method": "yake", "window": n})
    assert shared_extractor({"method": "yake", "window": 1}) is first
    shared_extractor({"method": "yake", "window": 99})
    assert shared_extractor({"method": "yake", "window": 1}) is first
    assert shared_extractor({"method": "yake", "window": 2}) is not second


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"method": "yakke"}, "Did you mean 'yake'"),
        ({"method": "yake", "windo": 2}, "Did you mean 'window'"),
        ({"method": "yake", "top_n": 0}, "top_n is 0"),
        ({"method": "yake", "speed": "slow"}, "speed is 'slow'"),
        ({"method": "yake", "language": object()}, "language is <object object"),
        ({"method": "yake", "source": "a.txt"}, "source"),
    ],
)
def test_wrong_settings_raise_before_any_text_comes(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        check_plain_settings(settings)


def test_checking_settings_makes_no_shared_extractor() -> None:
    check_plain_settings(YAKE)
    assert not extraction._extractors


def test_threads_share_an_extractor_and_get_their_own_results() -> None:
    alone = [list(results_of([text], YAKE)) for text in PARAGRAPHS]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: list(results_of([text], YAKE)), PARAGRAPHS)) == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_fork_computes_even_if_a_thread_of_its_parent_held_the_lock() -> None:
    shared = shared_extractor(YAKE)
    wanted = len(next(results_of([TEXT], YAKE)))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(shared.turn.acquire).result()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if len(next(results_of([TEXT], YAKE))) == wanted else 3)
        pool.submit(shared.turn.release).result()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
