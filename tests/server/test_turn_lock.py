"""Long texts take turns with short ones, and no answer depends on it."""

import asyncio
import json
from collections.abc import Callable
from threading import Event, Thread, get_ident

import pytest

from mudy._support.callbacks import check
from mudy.server import scorer
from mudy.server.answers import whole_answer
from mudy.server.config import Config
from mudy.server.problems import HttpProblem
from mudy.server.queue import RequestQueue
from mudy.server.scorer import ExtractorKey, TurnLock
from tests.served import PATIENCE, alike, until
from tests.server.gate import LONG, MEDIUM, SHORT, Gate, answer, asking, extractor, job, local_scorers, staying

METHODS = ["mudy", "promptrank", "samrank", "yake", "topicrank"]


@pytest.fixture(autouse=True)
def at_every_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn ends at the next check, however fast the machine is."""
    monkeypatch.setattr(scorer, "TURN_SECONDS", (0.0, 0.0, 0.0))


@pytest.mark.parametrize("long", [MEDIUM, LONG])
def test_a_short_request_is_answered_while_a_long_one_is_computed(long: str, gate: Gate, queue: RequestQueue) -> None:
    gate.holds = lambda texts: texts == [long]  # the long one waits at the gate, and asks whether it may go on
    gate.open.clear()
    first = queue.admit(job(long))
    assert gate.at_work.wait(PATIENCE)
    for number in range(9):
        assert answer(queue.admit(job(f"short {number}"))) == f"short {number}"
    assert not first.over
    gate.open.set()
    assert answer(first) == long


def test_a_medium_request_does_not_wait_for_a_long_one(gate: Gate, queue: RequestQueue) -> None:
    gate.holds = lambda texts: texts == [LONG]
    gate.open.clear()
    first = queue.admit(job(LONG))
    assert gate.at_work.wait(PATIENCE)
    assert answer(queue.admit(job(MEDIUM))) == MEDIUM
    assert not first.over


def test_a_long_request_goes_on_while_short_ones_keep_coming(gate: Gate, queue: RequestQueue) -> None:
    """Each short one is admitted before the one ahead of it is answered, so the short lane is never idle."""
    checks = 0

    def counted(texts: list[str]) -> bool:
        nonlocal checks
        checks += texts == [LONG]
        return texts == [LONG] and checks < 50

    gate.holds = counted
    first = queue.admit(job(LONG))
    gate.open.clear()
    waiting = queue.admit(job("short"))
    while not first.over:
        following = queue.admit(job("short"))
        answer(waiting)
        waiting = following
    assert answer(first) == LONG


def test_who_waits_is_told_of_those_ahead_in_its_own_lane_alone(gate: Gate, queue: RequestQueue) -> None:
    gate.open.clear()
    queue.admit(job(LONG))
    held = queue.admit(job("held"))
    until(lambda: queue.state(held)["state"] == "working")
    later = [queue.admit(job("later", key=ExtractorKey("yake"))), queue.admit(job(LONG))]
    assert [queue.state(each)["ahead"] for each in later] == [1, 1]


def test_a_long_request_has_a_time_limit_while_others_have_their_turns(gate: Gate) -> None:
    queue = RequestQueue(local_scorers(gate.load), Config(timeout=0.2))
    queue.start()
    until(lambda: queue.ready)
    gate.open.clear()
    late = queue.admit(job(LONG))
    with pytest.raises(HttpProblem, match="time-limit"):
        asyncio.run(whole_answer(queue, late, staying))
    gate.open.set()
    queue.stop()
    until(queue.join)


@pytest.mark.parametrize("method", METHODS)
def test_answers_in_between_and_the_long_answer_are_the_librarys(method: str) -> None:
    alone = extractor().using(method)
    long = MEDIUM[:12_000]
    expected = {text: alone.extract(text, 5).to_dict() for text in (SHORT, long)}
    queue = RequestQueue(local_scorers(extractor))
    long_job = queue.admit(asking(long, method=method))
    short_jobs = [queue.admit(asking(SHORT, method=method)) for _ in range(4)]
    queue.start()
    for each in short_jobs:
        assert alike(json.loads(each.answer.result(PATIENCE)), [expected[SHORT]])
    assert alike(json.loads(long_job.answer.result(PATIENCE)), [expected[long]])
    queue.stop()
    until(queue.join)


def test_a_short_text_is_computed_between_two_passes_of_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The long text stops at its third pass until the short one is answered: only a turn in between can do that."""
    from mudy.engines.torch import transformer

    passes, answered = 0, Event()
    queue = RequestQueue(local_scorers(extractor))
    long_job = asking(MEDIUM[:12_000])

    def third_pass() -> None:
        nonlocal passes
        if get_ident() == long_thread():
            passes += 1
            while passes == 3 and not answered.is_set():
                check()
        check()

    def long_thread() -> int | None:
        return queue._workers[1].ident if len(queue._workers) > 1 else None

    monkeypatch.setattr(transformer, "check", third_pass)
    queue.start()
    queue.admit(long_job)
    until(lambda: passes == 3)
    found = json.loads(queue.admit(asking(SHORT)).answer.result(PATIENCE))
    assert not long_job.over
    answered.set()
    assert found == [extractor().extract(SHORT, 5).to_dict()]
    assert alike(json.loads(long_job.answer.result(PATIENCE)), [extractor().extract(MEDIUM[:12_000], 5).to_dict()])
    queue.stop()


def in_a_thread(work: Callable[[], None]) -> Thread:
    made = Thread(target=work, daemon=True)
    made.start()
    return made


def test_turns_come_in_the_order_of_asking() -> None:
    shared, order = TurnLock(), list[int]()

    def asking_for(number: int) -> Callable[[], None]:
        def work() -> None:
            with shared:
                order.append(number)

        return work

    with shared:
        threads = []
        for number in range(5):
            threads.append(in_a_thread(asking_for(number)))
            until(lambda expected=number + 1: len(shared._line) == 1 + expected)
    for thread in threads:
        thread.join(PATIENCE)
    assert order == [0, 1, 2, 3, 4]


def test_an_offer_that_nobody_takes_costs_nothing_and_one_that_is_taken_comes_back() -> None:
    shared, seen = TurnLock(), list[str]()

    def other() -> None:
        with shared:
            seen.append("other")

    with shared:
        assert shared.offer(after=0.0) == 0.0
        thread = in_a_thread(other)
        until(lambda: len(shared._line) == 2)
        assert seen == []
        shared.offer(after=0.0)
        assert seen == ["other"]
    thread.join(PATIENCE)


def test_a_turn_that_has_just_begun_is_not_offered() -> None:
    shared, seen = TurnLock(), list[str]()

    def other() -> None:
        with shared:
            seen.append("other")

    with shared:
        thread = in_a_thread(other)
        until(lambda: len(shared._line) == 2)
        assert shared.offer(after=3600.0) == 0.0
        assert seen == []
    thread.join(PATIENCE)
    assert seen == ["other"]
