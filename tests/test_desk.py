"""The queue: fair, bounded, and no answer depends on whose texts were computed together."""

import json
from collections.abc import Callable, Iterator
from threading import Event, get_ident
from time import monotonic
from typing import Any, cast

import pytest

from mudy import Extractor, InputError, SettingError
from mudy.backbones import seq2seq
from mudy.backbones.compute import Machine
from mudy.backbones.seq2seq import Seq2SeqBackbone
from mudy.cancellation import check
from mudy.extractor import GATHERED_TEXTS, GATHERED_WORDS, Task
from mudy.results import Coverage, Result
from mudy.server.eta import LEAST_WORDS, Pace
from mudy.server.extractor_cache import Makers
from mudy.server.jobs import Ask, ClientGone, Failed, Job, Key, ShuttingDown, TimeLimit, gather
from mudy.server.queue import Desk, QueueFull
from mudy.text import Document
from tests import small
from tests.served import PATIENCE, alike, until
from tests.taggers import english

MUDY, YAKE = Key("mudy"), Key("yake")


def job(*texts: str, key: Key = MUDY, **given: Any) -> Job:
    """A job whose answer names its texts as they were computed."""
    asks = [Ask.of(text, key, {"top_n": 3}, f"texts.{i}") for i, text in enumerate(texts)]
    return Job(asks, lambda done: "+".join(found.result.text for found in done.in_order).encode(), **given)


def answer(of: Job) -> str:
    return of.answer.result(PATIENCE).decode()


class Gate:
    """An extractor that computes nothing, tells what it was given together, and waits at a gate like a slow model."""

    method = "mudy"
    tagger = scorer = object()

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.open, self.at_work = Event(), Event()
        self.open.set()
        self.holds: Callable[[list[str]], bool] = lambda texts: True  # noqa: ARG005
        self.fails: Callable[[list[str]], BaseException | None] = lambda texts: None  # noqa: ARG005

    def load(self) -> Extractor:
        return cast(Extractor, self)

    def using(self, *_: Any, **__: Any) -> "Gate":
        return self

    def extract(self, text: str) -> None:
        """The warm-up."""

    def prepare(self, text: str | Document, **_: Any) -> Task:
        assert isinstance(text, str)
        if text.startswith("unreadable"):
            raise InputError("This text cannot be read.")
        return Task(Document(text, (), ()), (), (), None, {}, None, ())

    def finish(self, tasks: list[Task]) -> list[Result]:
        texts = [task.document.text for task in tasks]
        self.batches.append(texts)
        self.at_work.set()
        while self.holds(texts) and not self.open.wait(0.005):
            check()
        if (error := self.fails(texts)) is not None:
            raise error
        return [Result(text, (), Coverage(1, 1, 1), "mudy", None) for text in texts]


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def desk(gate: Gate) -> Iterator[Desk]:
    made = Desk(gate.load, queue=4, seconds=60)
    made.start()
    until(lambda: made.ready)
    yield made
    gate.open.set()
    made.end_all()
    until(made.stopped)


def held(gate: Gate, desk: Desk) -> Job:
    """A job that is being computed and will be until the gate opens."""
    gate.open.clear()
    gate.at_work.clear()
    first = desk.admit(job("held"))
    assert gate.at_work.wait(PATIENCE)
    return first


# -- Who is computed together -----------------------------------------------------------------------------------------


def together(*jobs: Job, lane: int = 0, most: int = GATHERED_TEXTS, words: int = GATHERED_WORDS) -> list[str]:
    return [item.ask.text for item in gather(jobs, lane, lambda _: most, words)]


def test_one_text_of_each_job_in_turn() -> None:
    assert together(job("a1", "a2", "a3"), job("b1"), job("c1", "c2"), most=5) == ["a1", "b1", "c1", "a2", "c2"]


def test_only_what_is_computed_in_the_same_way() -> None:
    other = job("b", key=Key("mudy", (("kappa", 0.5),)))
    assert together(job("a"), other, job("d", key=YAKE), job("e")) == ["a", "e"]


def test_a_long_text_is_computed_alone_and_joins_no_others() -> None:
    long = " ".join(["word"] * 3000)
    assert together(job("short"), job(long), lane=1) == [long]
    assert together(job(long), job(long), lane=1) == [long]
    assert together(job("short"), job(long), job("second")) == ["short", "second"]


def test_together_texts_hold_no_more_words_than_allowed() -> None:
    hundred = " ".join(["word"] * 100)
    assert len(together(*[job(hundred) for _ in range(40)])) == GATHERED_WORDS // 100


def test_jobs_that_are_over_are_not_taken_up() -> None:
    gone = job("gone")
    gone.settle(ClientGone())
    assert together(gone, job("a")) == ["a"]
    assert together(gone) == []


# -- The line ---------------------------------------------------------------------------------------------------------


def test_a_request_of_many_texts_does_not_hold_up_one_of_one(gate: Gate, desk: Desk) -> None:
    first = held(gate, desk)
    many = desk.admit(job(*(f"{i} " + "word " * 299 for i in range(30))))  # six batches
    one = desk.admit(job("one"))
    gate.open.set()
    assert answer(one) == "one"
    assert answer(first) == "held"
    assert answer(many).startswith("0 word")
    number = next(i for i, batch in enumerate(gate.batches) if "one" in batch)
    assert number == 1  # right after what was under way, though 30 texts came before it


def test_other_settings_get_their_turn_before_the_rest_of_a_long_request(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    many = desk.admit(job(*(f"{i} " + "word " * 999 for i in range(6))))
    other = desk.admit(job("other", key=Key("mudy", (("kappa", 0.5),))))
    gate.open.set()
    answer(many)
    answer(other)
    assert gate.batches.index(["other"]) == 2  # after one of the six


def test_a_method_that_does_not_gather_gets_one_text_at_a_time(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    jobs = [desk.admit(job(name, key=YAKE)) for name in "abc"]
    gate.open.set()
    assert [answer(each) for each in jobs] == ["a", "b", "c"]
    assert gate.batches == [["held"], ["a"], ["b"], ["c"]]


def test_requests_that_wait_are_computed_together(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    jobs = [desk.admit(job(name)) for name in "abcd"]
    gate.open.set()
    assert [answer(each) for each in jobs] == ["a", "b", "c", "d"]
    assert gate.batches == [["held"], ["a", "b", "c", "d"]]


def test_a_full_queue_refuses_and_says_when_to_come_back(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    for name in "abcd":
        desk.admit(job(name))
    with pytest.raises(QueueFull) as refused:
        desk.admit(job("e"))
    assert refused.value.retry_after >= 1
    assert desk.metrics.refused.labels("queue-full")._value.get() == 1


def test_the_state_says_how_many_are_ahead_and_later_that_work_goes_on(gate: Gate, desk: Desk) -> None:
    first = held(gate, desk)
    second, third = desk.admit(job("b", key=YAKE)), desk.admit(job("c"))
    assert [desk.state(each).ahead for each in (first, second, third)] == [0, 1, 2]
    assert [desk.state(each).working for each in (first, second, third)] == [True, False, False]
    assert desk.state(third).expected is None  # nothing was ever finished
    gate.open.set()
    answer(third)
    assert desk.state(third).expected is not None


# -- Going away -------------------------------------------------------------------------------------------------------


def test_a_client_that_leaves_the_line_is_not_computed_and_makes_room(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    waiting = [desk.admit(job(name)) for name in "abcd"]
    desk.leave(waiting[1])
    late = desk.admit(job("late"))
    gate.open.set()
    assert answer(late) == "late"
    assert gate.batches[1] == ["a", "c", "d", "late"]
    with pytest.raises(ClientGone):
        waiting[1].answer.result()
    assert desk.metrics.cancelled.labels("client-gone", "waiting")._value.get() == 1


def test_work_that_nobody_waits_for_is_ended(gate: Gate, desk: Desk) -> None:
    first = held(gate, desk)
    second = desk.admit(job("second"))
    desk.leave(first)  # the gate stays closed: only a check can end this
    until(lambda: gate.batches[-1] == ["second"])
    gate.open.set()
    assert answer(second) == "second"
    assert desk.metrics.cancelled.labels("client-gone", "working")._value.get() == 1
    assert desk.metrics.texts.labels("mudy")._value.get() == 1


def test_who_leaves_company_does_the_others_no_harm(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    stays, leaves = desk.admit(job("stays")), desk.admit(job("leaves"))
    gate.at_work.clear()
    gate.open.set()
    assert gate.at_work.wait(PATIENCE)
    desk.leave(leaves)
    assert answer(stays) == "stays"


def test_a_request_that_leaves_between_two_of_its_batches_is_not_computed_further(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    many = desk.admit(job(*(f"{i} " + "word " * 1400 for i in range(50))))
    other = desk.admit(job("other", key=YAKE))
    gate.fails = lambda texts: desk.leave(many) if texts == ["other"] else None
    gate.open.set()
    assert answer(other) == "other"
    last = desk.admit(job("last"))
    assert answer(last) == "last"
    assert len(gate.batches) <= 4


@pytest.mark.parametrize("waiting", [True, False])
def test_a_request_has_a_time_limit(waiting: bool, gate: Gate, desk: Desk) -> None:
    first = held(gate, desk)
    late = desk.admit(job("late", key=YAKE)) if waiting else first
    first.deadline = late.deadline = monotonic()
    with pytest.raises(TimeLimit):
        late.answer.result(PATIENCE)
    gate.open.set()
    assert answer(desk.admit(job("next"))) == "next"


def test_what_is_left_at_the_end_is_ended_and_nothing_more_is_admitted(gate: Gate, desk: Desk) -> None:
    first, second = held(gate, desk), desk.admit(job("second"))
    desk.close()
    with pytest.raises(ShuttingDown):
        desk.admit(job("third"))
    desk.end_all()
    for each in (first, second):
        with pytest.raises(ShuttingDown):
            each.answer.result(PATIENCE)
    assert desk.stopped()
    assert not gate.open.is_set()


def test_what_was_admitted_before_closing_is_finished(gate: Gate, desk: Desk) -> None:
    first, second = held(gate, desk), desk.admit(job("second"))
    desk.close()
    gate.open.set()
    assert (answer(first), answer(second)) == ("held", "second")


# -- Failures ---------------------------------------------------------------------------------------------------------


def test_one_text_that_fails_spoils_no_other(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    good, bad, also = desk.admit(job("good")), desk.admit(job("fine", "bad")), desk.admit(job("also"))
    gate.fails = lambda texts: ValueError("secret words") if "bad" in texts else None
    gate.open.set()
    assert (answer(good), answer(also)) == ("good", "also")
    with pytest.raises(Failed) as failed:
        bad.answer.result(PATIENCE)
    assert (failed.value.where, type(failed.value.cause)) == ("texts.1", ValueError)


def test_a_text_that_cannot_be_read_fails_its_own_request_alone(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    bad, good = desk.admit(job("a", "b", "unreadable")), desk.admit(job("good"))
    gate.open.set()
    assert answer(good) == "good"
    with pytest.raises(Failed) as failed:
        bad.answer.result(PATIENCE)
    assert (failed.value.where, type(failed.value.cause)) == ("texts.2", InputError)


@pytest.mark.parametrize("error", [RuntimeError("x"), MemoryError(), SystemExit(3), KeyboardInterrupt()])
def test_the_worker_survives_whatever_is_raised(error: BaseException, gate: Gate, desk: Desk) -> None:
    gate.fails = lambda texts: error if texts == ["bad"] else None
    with pytest.raises(Failed):
        desk.admit(job("bad")).answer.result(PATIENCE)
    assert answer(desk.admit(job("next"))) == "next"
    assert desk.alive


def test_a_fault_is_logged_with_its_request_and_without_its_words(
    gate: Gate, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    gate.fails = lambda _: ValueError("secret words")
    with pytest.raises(Failed):
        desk.admit(job("bad", request="r-17")).answer.result(PATIENCE)
    (record,) = caplog.records
    told = record.__dict__["told"]
    assert told["request_id"] == "r-17"
    assert told["error"] == "ValueError"
    assert "secret" not in json.dumps(told)
    assert any("finish" in place for place in told["at"])


def test_settings_that_overflow_are_the_fault_of_whoever_set_them(gate: Gate, desk: Desk) -> None:
    gate.fails = lambda _: OverflowError()
    with pytest.raises(Failed) as failed:
        desk.admit(job("a", key=Key("mudy", (("alpha", 1e9),)))).answer.result(PATIENCE)
    assert isinstance(failed.value.cause, SettingError)
    with pytest.raises(Failed) as failed:
        desk.admit(job("a")).answer.result(PATIENCE)
    assert isinstance(failed.value.cause, OverflowError)


def test_a_model_that_cannot_be_loaded_ends_the_worker_and_whoever_waits() -> None:
    told, go_on = Event(), Event()

    def load() -> Extractor:
        go_on.wait(PATIENCE)
        raise InputError("no model")

    desk = Desk(load, failed=told.set)
    desk.start()
    waiting = desk.admit(job("waiting"))
    go_on.set()
    assert told.wait(PATIENCE)
    assert isinstance(desk.failure, InputError)
    with pytest.raises(ShuttingDown):
        waiting.answer.result(PATIENCE)
    assert desk.stopped()
    assert not desk.ready


# -- With a model -----------------------------------------------------------------------------------------------------

SENTENCES = small.TEXT.split(". ")
TEXTS = [
    small.TEXT,
    " ".join(SENTENCES[:2]),
    SENTENCES[2],
    "A ferry.",
    "",
    "Old maps fail; the crew reads a radar map.",
]


def extractor() -> Extractor:
    """MUDY on a small random T5."""
    made = Extractor("mudy", "small", language=english())
    known = small.t5()
    made._loaded["backbone"] = Seq2SeqBackbone(known.model, known.tokenizer, Machine.of("cpu"), "small")
    return made


def written(done: Job) -> bytes:
    return json.dumps([found.result.to_dict() for found in done.in_order]).encode()


def asking(*texts: str, method: str = "mudy") -> Job:
    return Job([Ask.of(text, Key(method), {"top_n": 5}, "text") for text in texts], written)


@pytest.mark.parametrize("method", ["mudy", "promptrank", "samrank", "yake"])
def test_answers_do_not_depend_on_company(method: str) -> None:
    alone = extractor().using(method)
    expected = [alone.extract(text, 5).to_dict() for text in TEXTS]
    desk = Desk(extractor)
    jobs = [asking(text, method=method) for text in TEXTS] + [asking(*TEXTS, method=method)]
    for each in jobs:
        desk.admit(each)
    desk.start()  # all wait already
    found = [json.loads(each.answer.result(PATIENCE)) for each in jobs]
    desk.end_all()
    assert alike(found, [[one] for one in expected] + [expected])
    if method in ("mudy", "promptrank"):
        assert desk.metrics.batch._sum.get() / 2 == len(TEXTS)  # all twelve in one batch
        assert desk.metrics.batch._buckets[4].get() == 1


def test_a_model_that_was_ended_in_the_middle_works_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    victim = asking(small.TEXT * 4)

    def counting() -> None:
        nonlocal calls
        if victim.began is not None and not victim.over:
            calls += 1
            if calls == 3:
                victim.settle(ClientGone())
        check()

    monkeypatch.setattr(seq2seq, "check", counting)
    desk = Desk(extractor)
    desk.start()
    desk.admit(victim)
    with pytest.raises(ClientGone):
        victim.answer.result(PATIENCE)
    found = json.loads(desk.admit(asking(small.TEXT)).answer.result(PATIENCE))
    desk.end_all()
    assert calls == 3  # and not one pass more
    assert found == [extractor().extract(small.TEXT, 5).to_dict()]


def test_an_explanation_reads_its_text_once_and_equals_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = extractor().explain(small.TEXT, ["promptrank", "mudy"]).to_dict()
    made = extractor()
    reads: list[str] = []
    read = made.tagger.document

    def reading(text: str, *more: Any) -> Document:
        reads.append(text)
        return read(text, *more)

    monkeypatch.setattr(made.tagger, "document", reading)
    asks = [Ask.of(small.TEXT, Key(name), {"top_n": None}) for name in ("promptrank", "mudy")]
    explaining = Job(asks, lambda done: json.dumps([e.to_dict() for e in done.in_order]).encode(), one_text=True)
    desk = Desk(lambda: made)
    desk.start()
    found = json.loads(desk.admit(explaining).answer.result(PATIENCE))
    desk.end_all()
    assert reads.count(small.TEXT) == 1
    for ours, theirs in zip(found, expected["methods"], strict=True):
        assert {**ours, "seconds": 0} == {**theirs, "seconds": 0}
        assert ours["seconds"] > 0


def test_short_texts_are_computed_by_one_thread_which_is_not_the_services(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    monkeypatch.setattr(seq2seq, "check", lambda: threads.add(get_ident()))
    desk = Desk(extractor)
    desk.start()
    for text in TEXTS:
        desk.admit(asking(text)).answer.result(PATIENCE)
    desk.end_all()
    assert len(threads) == 1
    assert get_ident() not in threads


# -- Extractors and pace ----------------------------------------------------------------------------------------------


def test_extractors_are_kept_by_method_and_settings_and_share_the_model() -> None:
    root = extractor()
    makers = Makers(root, kept=2)
    first, second = makers[MUDY], makers[Key("mudy", (("kappa", 0.5),))]
    assert makers[MUDY] is first
    assert first.scorer.backbone is second.scorer.backbone  # type: ignore[attr-defined]
    assert second.scorer.kappa == 0.5  # type: ignore[attr-defined]
    assert makers[YAKE] is not first
    assert len(makers) == 2
    assert makers[MUDY] is first  # `second` was the one used longest ago


def test_settings_out_of_range_are_refused_each_time() -> None:
    makers = Makers(extractor())
    for _ in range(2):
        with pytest.raises(SettingError, match="sigma"):
            makers[Key("mudy", (("sigma", -1.0),))]


def test_the_pace_is_learned_and_what_was_never_done_is_not_known() -> None:
    pace = Pace()
    assert pace.expected([(MUDY, 10)]) is None
    pace.learn(MUDY, [80, 180], 3.0)  # 300 with what each text costs before its first word: 10 ms each
    assert pace.expected([(MUDY, 80), (MUDY, 1000 - LEAST_WORDS)]) == pytest.approx(11.0)
    assert pace.expected([(MUDY, 80), (YAKE, 80)]) is None


@pytest.mark.parametrize(("words", "seconds"), [(0, 1), (980, 5), (10**6, 60)])
def test_who_is_refused_waits_for_about_half_of_the_work_in_line(words: int, seconds: int) -> None:
    pace = Pace()
    pace.learn(MUDY, [80], 1.0)
    assert pace.retry_after([(MUDY, words), (YAKE, 10**6)]) == seconds


def test_a_deadline_lies_in_the_future_by_the_time_allowed(desk: Desk) -> None:
    before = monotonic()
    admitted = desk.admit(job("a"))
    assert before + 60 <= admitted.deadline <= monotonic() + 60
