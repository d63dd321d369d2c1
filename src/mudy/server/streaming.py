"""Waiting for a job's answer, for its time limit, and for its client to leave, whichever comes first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mudy.server.jobs import Job, TimeLimit
from mudy.server.problems import problem_of
from mudy.server.queue import Desk

EVERY = 0.3  # seconds between two lines of progress
NDJSON = "application/x-ndjson"


@asynccontextmanager
async def attended(desk: Desk, job: Job, receive: Receive) -> AsyncIterator[asyncio.Event]:
    """An event that is set when the job is over. Whoever leaves this block leaves the job."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def tell(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            loop.call_soon_threadsafe(over.set)

    job.answer.add_done_callback(tell)
    timer = loop.call_later(max(0.0, job.deadline - monotonic()), desk.end, job, TimeLimit())
    leaving = asyncio.create_task(_left(receive, desk, job))
    try:
        yield over
    finally:
        timer.cancel()
        leaving.cancel()
        desk.leave(job)


async def _left(receive: Receive, desk: Desk, job: Job) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    desk.leave(job)


async def answered(desk: Desk, job: Job, receive: Receive) -> Response:
    """The answer in one piece; what went wrong is raised."""
    async with attended(desk, job, receive) as over:
        await over.wait()
    return Response(job.answer.result(), media_type="application/json")


class Progress(Response):
    """The answer as lines of JSON: how far the job is, twice a second or more, and at last what came of it."""

    media_type = NDJSON

    def __init__(self, desk: Desk, job: Job) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._desk, self._job = desk, job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def line(content: bytes, last: bool = False) -> None:
            await send({"type": "http.response.body", "body": content + b"\n", "more_body": not last})

        async with attended(self._desk, self._job, receive) as over:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while not over.is_set():
                await line(json.dumps(self._state()).encode())
                with suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), EVERY)
            await line(self._last(scope["mudy"].request_id), last=True)

    def _state(self) -> dict[str, Any]:
        state = self._desk.state(self._job)
        if state.working:
            return {"state": "working", "elapsed": state.elapsed, "expected": state.expected}
        return {"state": "waiting", "ahead": state.ahead, "elapsed": state.elapsed}

    def _last(self, request_id: str) -> bytes:
        error = self._job.answer.exception()
        if error is None:
            return b'{"state": "done", "explanation": ' + self._job.answer.result() + b"}"
        problem = problem_of(error, self._desk.retry_after())
        return json.dumps({"state": "failed", "problem": problem.to_dict(request_id)}).encode()
