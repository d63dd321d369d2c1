"""No answer depends on the texts that were computed together, or in between."""

import json
from threading import get_ident
from typing import Any

import pytest

from mudy._support.callbacks import check
from mudy.engines.torch import transformer
from mudy.extraction.options import Options
from mudy.extraction.outcomes import Item
from mudy.reading.document import Document
from mudy.server.problems import HttpProblem
from mudy.server.queue import ExtractionJob, QueuedText, RequestQueue
from mudy.server.scorer import ExtractorKey
from tests import small
from tests.served import PATIENCE, alike
from tests.server.gate import asking, extractor, local_scorers

SENTENCES = small.TEXT.split(". ")
TEXTS = [
    small.TEXT,
    " ".join(SENTENCES[:2]),
    SENTENCES[2],
    "A ferry.",
    "",
    "Old maps fail; the crew reads a radar map.",
]


@pytest.mark.parametrize("method", ["mudy", "promptrank", "samrank", "yake"])
def test_answers_do_not_depend_on_company(method: str) -> None:
    alone = extractor().using(method)
    expected = [alone.extract(text, 5).to_dict() for text in TEXTS]
    queue = RequestQueue(local_scorers(extractor))
    jobs = [asking(text, method=method) for text in TEXTS] + [asking(*TEXTS, method=method)]
    for each in jobs:
        queue.admit(each)
    queue.start()  # all wait already
    found = [json.loads(each.answer.result(PATIENCE)) for each in jobs]
    queue.stop()
    assert alike(found, [[one] for one in expected] + [expected])
    if method in ("mudy", "promptrank"):
        assert queue.metrics.batch._sum.get() / 2 == len(TEXTS)  # all twelve in one batch
        assert queue.metrics.batch._buckets[4].get() == 1


def test_a_model_that_was_ended_in_the_middle_works_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    victim = asking(small.TEXT * 4)

    def counting() -> None:
        nonlocal calls
        if victim.began is not None and not victim.over:
            calls += 1
            if calls == 3:
                victim.settle(HttpProblem("client-gone"))
        check()

    monkeypatch.setattr(transformer, "check", counting)
    queue = RequestQueue(local_scorers(extractor))
    queue.start()
    queue.admit(victim)
    with pytest.raises(HttpProblem, match="client-gone"):
        victim.answer.result(PATIENCE)
    found = json.loads(queue.admit(asking(small.TEXT)).answer.result(PATIENCE))
    queue.stop()
    assert calls == 3  # and not one pass more
    assert found == [extractor().extract(small.TEXT, 5).to_dict()]


def test_an_explanation_reads_its_text_once_and_equals_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = extractor().explain(small.TEXT, ["promptrank", "mudy"]).to_dict()
    made = extractor()
    reads: list[str] = []
    read = made.tagger.document

    def reading(text: str, *more: Any, **named: Any) -> Document:
        reads.append(text)
        return read(text, *more, **named)

    monkeypatch.setattr(made.tagger, "document", reading)
    queued = [
        QueuedText(ExtractorKey(name), Item(number, small.TEXT, Options(top_n=None), explain=True))
        for number, name in enumerate(("promptrank", "mudy"))
    ]
    explaining = ExtractionJob(
        queued, lambda done: json.dumps([o.explained.to_dict() for o in done.in_order if o.explained]).encode()
    )
    queue = RequestQueue(local_scorers(lambda: made))
    queue.start()
    found = json.loads(queue.admit(explaining).answer.result(PATIENCE))
    queue.stop()
    assert reads.count(small.TEXT) == 1
    for ours, theirs in zip(found, expected["methods"], strict=True):
        assert {**ours, "seconds": 0} == {**theirs, "seconds": 0}
        assert ours["seconds"] > 0


def test_short_texts_are_computed_by_one_thread_which_is_not_the_services(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    monkeypatch.setattr(transformer, "check", lambda: threads.add(get_ident()))
    queue = RequestQueue(local_scorers(extractor))
    queue.start()
    for text in TEXTS:
        queue.admit(asking(text)).answer.result(PATIENCE)
    queue.stop()
    assert len(threads) == 1
    assert get_ident() not in threads
