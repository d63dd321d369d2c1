"""One function on a few threads: order, exceptions, and who may cancel."""

from __future__ import annotations

import os
from threading import Barrier, get_ident

import pytest

from mudy._support.callbacks import check, checked_by
from mudy._support.onnx import ThreadMap


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    assert ThreadMap(threads)(lambda item: item * item, range(20)) == [item * item for item in range(20)]


def test_no_items_give_no_results() -> None:
    assert ThreadMap(2)(str, []) == []


def test_two_items_are_computed_at_once_by_two_threads_of_which_the_callers_is_one() -> None:
    both = Barrier(2, timeout=60)

    def meet(_: int) -> int:
        both.wait()  # passes only if the other item is computed meanwhile
        return get_ident()

    met = set(ThreadMap(2)(meet, range(2)))
    assert len(met) == 2
    assert get_ident() in met


def test_one_thread_is_the_callers_own() -> None:
    assert set(ThreadMap(1)(lambda _: get_ident(), range(5))) == {get_ident()}


@pytest.mark.parametrize("failing", range(6))
def test_an_exception_of_any_item_is_the_callers(failing: int) -> None:
    mapped = ThreadMap(3)

    def fail(item: int) -> int:
        if item == failing:
            raise ValueError(f"item {item}")
        return item

    with pytest.raises(ValueError, match=f"item {failing}"):
        mapped(fail, range(6))
    assert mapped(str, range(3)) == ["0", "1", "2"]


def test_whoever_may_cancel_the_caller_may_cancel_its_helpers() -> None:
    both, told = Barrier(2, timeout=60), []

    def ask(_: int) -> None:
        both.wait()
        check()

    with checked_by(lambda: told.append(get_ident())):
        ThreadMap(2)(ask, range(2))
    assert len(set(told)) == 2


def test_a_map_within_a_map_ends() -> None:
    mapped = ThreadMap(2)
    assert mapped(lambda row: mapped(lambda item: row * item, range(3)), range(3)) == [[0, 0, 0], [0, 1, 2], [0, 2, 4]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_forked_after_a_map_computes_without_the_threads_that_it_lacks() -> None:
    mapped = ThreadMap(2)
    mapped(str, range(4))
    child = os.fork()
    if not child:
        os._exit(0 if mapped(str, range(4)) == ["0", "1", "2", "3"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
