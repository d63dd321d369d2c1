"""Progress while a request waits and is computed."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mudy.server import streaming
from mudy.server.middleware import Seen
from mudy.server.queue import Desk
from mudy.server.streaming import Progress
from tests.served import until
from tests.test_desk import Gate, held, job


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def desk(gate: Gate) -> Iterator[Desk]:
    made = Desk(gate.load)
    made.start()
    until(lambda: made.ready)
    yield made
    gate.open.set()
    made.end_all()
    until(made.stopped)


def test_progress_comes_at_least_twice_a_second() -> None:
    assert streaming.EVERY <= 0.5


def test_lines_of_progress_go_on_until_the_answer_is_there(
    gate: Gate, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "EVERY", 0.01)
    working = held(gate, desk)
    lines: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            lines.append(json.loads(message["body"]))
            if len(lines) == 5:
                gate.open.set()

    working.finish = lambda _: b'"found"'
    asyncio.run(Progress(desk, working)({"mudy": Seen("r-1")}, receive, send))
    assert [line["state"] for line in lines[:5]] == ["working"] * 5
    assert lines[-1] == {"state": "done", "explanation": "found"}


def test_who_waits_is_told_so(gate: Gate, desk: Desk) -> None:
    held(gate, desk)
    waiting = desk.admit(job("waiting"))
    state = Progress(desk, waiting)._state()
    assert (state["state"], state["ahead"]) == ("waiting", 1)
