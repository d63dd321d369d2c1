"""The queue is fair and bounded; requests can be cancelled, and failures stay with their text."""

import asyncio
import json
from threading import Event

import pytest

from mudy import Extractor, InputError
from mudy.server.answers import whole_answer
from mudy.server.problems import HttpProblem
from mudy.server.queue import RequestQueue
from mudy.server.scorer import ExtractorKey
from tests.served import PATIENCE, until
from tests.server.gate import YAKE, Gate, answer, held, job, local_scorers, staying


def test_a_request_of_many_texts_does_not_hold_up_one_of_one(gate: Gate, queue: RequestQueue) -> None:
    first = held(gate, queue)
    many = queue.admit(job(*(f"{i} " + "word " * 299 for i in range(30))))  # six batches
    one = queue.admit(job("one"))
    gate.open.set()
    assert answer(one) == "one"
    assert answer(first) == "held"
    assert answer(many).startswith("0 word")
    number = next(i for i, batch in enumerate(gate.batches) if "one" in batch)
    assert number == 1  # right after what was under way, though 30 texts came before it


def test_other_settings_get_their_turn_before_the_rest_of_a_long_request(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    many = queue.admit(job(*(f"{i} " + "word " * 999 for i in range(6))))
    other = queue.admit(job("other", key=ExtractorKey("mudy", (("kappa", 0.5),))))
    gate.open.set()
    answer(many)
    answer(other)
    assert gate.batches.index(["other"]) == 2  # after one of the six


def test_a_method_that_does_not_gather_gets_one_text_at_a_time(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    jobs = [queue.admit(job(name, key=YAKE)) for name in "abc"]
    gate.open.set()
    assert [answer(each) for each in jobs] == ["a", "b", "c"]
    assert gate.batches == [["held"], ["a"], ["b"], ["c"]]


def test_requests_that_wait_are_computed_together(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    jobs = [queue.admit(job(name)) for name in "abcd"]
    gate.open.set()
    assert [answer(each) for each in jobs] == ["a", "b", "c", "d"]
    assert gate.batches == [["held"], ["a", "b", "c", "d"]]


def test_a_full_queue_refuses_and_says_when_to_come_back(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    for name in "abcd":
        queue.admit(job(name))
    with pytest.raises(HttpProblem, match="queue-full") as refused:
        queue.admit(job("e"))
    assert int(refused.value.headers["Retry-After"]) >= 1
    assert queue.metrics.refused.labels("queue-full")._value.get() == 1


def test_the_state_says_how_many_are_ahead_and_later_that_work_goes_on(gate: Gate, queue: RequestQueue) -> None:
    first = held(gate, queue)
    second, third = queue.admit(job("b", key=YAKE)), queue.admit(job("c"))
    states = [queue.state(each) for each in (first, second, third)]
    assert [(state["state"], state.get("ahead")) for state in states] == [
        ("working", None),
        ("waiting", 1),
        ("waiting", 2),
    ]
    assert states[0]["expected"] is None  # nothing was ever finished
    gate.open.set()
    answer(third)
    assert queue.state(third)["expected"] is not None


def test_a_client_that_leaves_the_line_is_not_computed_and_makes_room(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    waiting = [queue.admit(job(name)) for name in "abcd"]
    queue.cancel(waiting[1], "client-gone")
    late = queue.admit(job("late"))
    gate.open.set()
    assert answer(late) == "late"
    assert gate.batches[1] == ["a", "c", "d", "late"]
    with pytest.raises(HttpProblem, match="client-gone"):
        waiting[1].answer.result()
    assert queue.metrics.cancelled.labels("client-gone", "waiting")._value.get() == 1


def test_work_that_nobody_waits_for_is_ended(gate: Gate, queue: RequestQueue) -> None:
    first = held(gate, queue)
    second = queue.admit(job("second"))
    queue.cancel(first, "client-gone")  # the gate stays closed: only a check can end this
    until(lambda: gate.batches[-1] == ["second"])
    gate.open.set()
    assert answer(second) == "second"
    assert queue.metrics.cancelled.labels("client-gone", "working")._value.get() == 1
    assert queue.metrics.texts.labels("mudy")._value.get() == 1


def test_who_leaves_company_does_the_others_no_harm(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    stays, leaves = queue.admit(job("stays")), queue.admit(job("leaves"))
    gate.at_work.clear()
    gate.open.set()
    assert gate.at_work.wait(PATIENCE)
    queue.cancel(leaves, "client-gone")
    assert answer(stays) == "stays"


def test_a_request_that_leaves_between_two_of_its_batches_is_not_computed_further(
    gate: Gate, queue: RequestQueue
) -> None:
    held(gate, queue)
    many = queue.admit(job(*(f"{i} " + "word " * 1400 for i in range(50))))
    other = queue.admit(job("other", key=YAKE))
    gate.fails = lambda texts: queue.cancel(many, "client-gone") if texts == ["other"] else None
    gate.open.set()
    assert answer(other) == "other"
    last = queue.admit(job("last"))
    assert answer(last) == "last"
    assert len(gate.batches) <= 4


@pytest.mark.parametrize("waiting", [True, False])
def test_a_request_has_a_time_limit(waiting: bool, gate: Gate, queue: RequestQueue) -> None:
    first = held(gate, queue)
    late = queue.admit(job("late", key=YAKE)) if waiting else first
    queue.seconds = 0.05
    with pytest.raises(HttpProblem, match="time-limit"):
        asyncio.run(whole_answer(queue, late, staying))
    gate.open.set()
    assert answer(queue.admit(job("next"))) == "next"


def test_what_is_left_at_the_end_is_ended_and_nothing_more_is_admitted(gate: Gate, queue: RequestQueue) -> None:
    first, second = held(gate, queue), queue.admit(job("second"))
    queue.close()
    with pytest.raises(HttpProblem, match="shutting-down"):
        queue.admit(job("third"))
    queue.stop()
    for each in (first, second):
        with pytest.raises(HttpProblem, match="shutting-down"):
            each.answer.result(PATIENCE)
    assert queue.join()
    assert not gate.open.is_set()


def test_what_was_admitted_before_closing_is_finished(gate: Gate, queue: RequestQueue) -> None:
    first, second = held(gate, queue), queue.admit(job("second"))
    queue.close()
    gate.open.set()
    assert (answer(first), answer(second)) == ("held", "second")


def test_one_text_that_fails_spoils_no_other(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    good, bad, also = queue.admit(job("good")), queue.admit(job("fine", "bad")), queue.admit(job("also"))
    gate.fails = lambda texts: ValueError("secret words") if "bad" in texts else None
    gate.open.set()
    assert (answer(good), answer(also)) == ("good", "also")
    with pytest.raises(HttpProblem, match="fault"):
        bad.answer.result(PATIENCE)


def test_a_text_that_cannot_be_read_fails_its_own_request_alone(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    bad, good = queue.admit(job("a", "b", "unreadable")), queue.admit(job("good"))
    gate.open.set()
    assert answer(good) == "good"
    with pytest.raises(HttpProblem, match="unsuitable-text") as failed:
        bad.answer.result(PATIENCE)
    assert failed.value.errors == [("texts.2", "This text cannot be read.")]


@pytest.mark.parametrize("error", [RuntimeError("x"), MemoryError(), SystemExit(3), KeyboardInterrupt()])
def test_the_worker_survives_whatever_is_raised(error: BaseException, gate: Gate, queue: RequestQueue) -> None:
    gate.fails = lambda texts: error if texts == ["bad"] else None
    with pytest.raises(HttpProblem, match="fault"):
        queue.admit(job("bad")).answer.result(PATIENCE)
    assert answer(queue.admit(job("next"))) == "next"
    assert queue.alive


def test_a_fault_is_logged_with_its_request_and_without_its_words(
    gate: Gate, queue: RequestQueue, caplog: pytest.LogCaptureFixture
) -> None:
    gate.fails = lambda _: ValueError("secret words")
    with pytest.raises(HttpProblem, match="fault"):
        queue.admit(job("bad", request_id="r-17")).answer.result(PATIENCE)
    (record,) = caplog.records
    told = record.__dict__["fields"]
    assert told["request_id"] == "r-17"
    assert told["error"] == "ValueError"
    assert "secret" not in json.dumps(told)
    assert any("finish" in place for place in told["at"])


def test_settings_that_overflow_are_the_fault_of_whoever_set_them(gate: Gate, queue: RequestQueue) -> None:
    gate.fails = lambda _: OverflowError()
    with pytest.raises(HttpProblem, match="unknown-setting"):
        queue.admit(job("a", key=ExtractorKey("mudy", (("alpha", 1e9),)))).answer.result(PATIENCE)
    with pytest.raises(HttpProblem, match="fault"):
        queue.admit(job("a")).answer.result(PATIENCE)


def test_a_model_that_cannot_be_loaded_ends_the_worker_and_whoever_waits() -> None:
    told, go_on = Event(), Event()

    def load() -> Extractor:
        go_on.wait(PATIENCE)
        raise InputError("no model")

    queue = RequestQueue(local_scorers(load), loaded=lambda failure: told.set() if failure else None)
    queue.start()
    waiting = queue.admit(job("waiting"))
    go_on.set()
    assert told.wait(PATIENCE)
    assert isinstance(queue.failure, InputError)
    with pytest.raises(HttpProblem, match="shutting-down"):
        waiting.answer.result(PATIENCE)
    assert queue.join()
    assert not queue.ready
