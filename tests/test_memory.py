"""Loading: the collector rests meanwhile and is afterwards as it was."""

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from mudy import Extractor, ModelUnavailable, SettingError
from mudy._support.loading import give_back, loading
from tests.taggers import english


class Ring:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """A collector as Python starts with, put back as it was found."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_nothing_is_collected_while_loading() -> None:
    with loading():
        ring = weakref.ref(Ring())
        kept = [[i] for i in range(100_000)]
        assert ring() is not None
        gc.enable()  # as spaCy's readers do
        kept += [[i] for i in range(100_000)]
        assert ring() is not None
    gc.collect()
    assert ring() is None
    assert kept


def test_what_was_loaded_is_old_and_does_not_set_off_a_collection() -> None:
    gc.collect()
    with loading():
        kept = [[i] for i in range(100_000)]
    assert gc.get_count()[0] < 700
    assert len(gc.get_objects(generation=0)) < 10_000
    assert kept


def test_an_error_leaves_the_collector_as_it_was() -> None:
    with pytest.raises(RuntimeError), loading():
        raise RuntimeError
    assert gc.get_threshold() == (700, 10, 10)
    with pytest.raises(SettingError):
        _ = Extractor("mudy", language="xx").tagger
    with pytest.raises(ModelUnavailable):
        _ = Extractor("mudy", model="./missing", language=english()).scorer
    assert gc.get_threshold() == (700, 10, 10)


def test_a_collector_at_rest_stays_at_rest() -> None:
    gc.set_threshold(0)
    with loading():
        pass
    assert gc.get_threshold()[0] == 0


def test_frozen_objects_stay_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    try:
        with loading():
            pass
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


def test_threads_that_load_at_once_leave_the_collector_as_it_was() -> None:
    together = Barrier(4)

    def load(_: int) -> None:
        together.wait()
        for _ in range(50):
            with loading():
                pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load, range(4)))
    assert gc.get_threshold() == (700, 10, 10)


def test_memory_can_be_given_back_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    give_back()
    monkeypatch.setattr("sys.platform", "darwin")
    give_back()
