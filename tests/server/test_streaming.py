"""Progress while a request waits and is computed."""

import asyncio
import json
from typing import Any

import pytest

from mudy.server import answers
from mudy.server.queue import RequestQueue
from tests.server.gate import Gate, held, job


def test_progress_comes_at_least_twice_a_second() -> None:
    assert answers.PROGRESS_SECONDS <= 0.5


def test_lines_of_progress_go_on_until_the_answer_is_there(
    gate: Gate, queue: RequestQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PROGRESS_SECONDS", 0.01)
    working = held(gate, queue)
    lines: list[dict[str, Any]] = []

    async def receive() -> None:
        async for line in answers.progress_lines(queue, working, "r-1"):
            lines.append(json.loads(line))
            if len(lines) == 5:
                gate.open.set()

    working.write_answer = lambda _: b'"found"'
    asyncio.run(receive())
    assert [line["state"] for line in lines[:5]] == ["working"] * 5
    assert lines[-1] == {"state": "done", "explanation": "found"}


def test_who_waits_is_told_so(gate: Gate, queue: RequestQueue) -> None:
    held(gate, queue)
    waiting = queue.admit(job("waiting"))
    state = queue.state(waiting)
    assert (state["state"], state["ahead"]) == ("waiting", 1)
