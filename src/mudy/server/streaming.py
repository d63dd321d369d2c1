"""Waiting for a job's answer, its deadline, or its client to disconnect, whichever comes first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mudy.server.jobs import ExtractionJob, TimeLimit
from mudy.server.middleware import RequestInfo
from mudy.server.problems import problem_of
from mudy.server.queue import RequestQueue

PROGRESS_SECONDS = 0.3  # between two lines of progress
NDJSON = "application/x-ndjson"


async def disconnected(receive: Receive) -> None:
    """Wait until the client closes its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def watched(queue: RequestQueue, job: ExtractionJob, receive: Receive) -> AsyncIterator[asyncio.Event]:
    """An event that is set when the job is over. Leaving the block cancels the job if it is not."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def notify(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(over.set)

    job.answer.add_done_callback(notify)
    timer = loop.call_later(max(0.0, job.deadline - monotonic()), queue.cancel, job, TimeLimit())
    watching = asyncio.create_task(_cancel_if_disconnected(queue, job, receive))
    try:
        yield over
    finally:
        timer.cancel()
        watching.cancel()
        queue.leave(job)


async def _cancel_if_disconnected(queue: RequestQueue, job: ExtractionJob, receive: Receive) -> None:
    await disconnected(receive)
    queue.leave(job)


async def whole_answer(queue: RequestQueue, job: ExtractionJob, receive: Receive) -> Response:
    """The answer in one piece; raises what went wrong."""
    async with watched(queue, job, receive) as over:
        await over.wait()
    return Response(job.answer.result(), media_type="application/json")


class ProgressResponse(Response):
    """The answer as lines of JSON: the state of the job, at least twice a second, and finally the outcome."""

    media_type = NDJSON

    def __init__(self, queue: RequestQueue, job: ExtractionJob) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._queue, self._job = queue, job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_line(content: bytes, last: bool = False) -> None:
            await send({"type": "http.response.body", "body": content + b"\n", "more_body": not last})

        async with watched(self._queue, self._job, receive) as over:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while not over.is_set():
                await send_line(json.dumps(self._state()).encode())
                with suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), PROGRESS_SECONDS)
            await send_line(self._outcome(RequestInfo.of(scope).request_id), last=True)

    def _state(self) -> dict[str, Any]:
        state = self._queue.state(self._job)
        if state.working:
            return {"state": "working", "elapsed": state.elapsed, "expected": state.expected}
        return {"state": "waiting", "ahead": state.ahead, "elapsed": state.elapsed}

    def _outcome(self, request_id: str) -> bytes:
        error = self._job.answer.exception()
        if error is None:
            return b'{"state": "done", "explanation": ' + self._job.answer.result() + b"}"
        problem = problem_of(error, self._queue.retry_after())
        return json.dumps({"state": "failed", "problem": problem.to_dict(request_id)}).encode()
