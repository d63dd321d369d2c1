"""Jobs from requests, and their answers: checks limits and settings, waits for the outcome, and writes it as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mudy._support.cancellation import check
from mudy.extraction.explanation import Explanation, gold_places
from mudy.extraction.outcomes import Item
from mudy.server.config import Config
from mudy.server.middleware import JSON, RequestInfo
from mudy.server.problems import HttpProblem, problem_of
from mudy.server.queue import ExtractionJob, QueuedText, RequestQueue, TimeLimit
from mudy.server.request_schemas import ExplainRequest, ExtractRequest
from mudy.server.scorer import ExtractorKey
from mudy.server.setting_schemas import validated_settings

NDJSON = "application/x-ndjson"
PROGRESS_SECONDS = 0.3  # between two lines of progress
ITEMS_PER_CHECK = 256  # items of a list that are written between two checks for cancellation


class NotFinite(ArithmeticError):
    """A score is not a finite number."""


# -- Jobs -------------------------------------------------------------------------------------------------------------


def extraction_job(request: ExtractRequest, config: Config, request_id: str) -> ExtractionJob:
    """One or more texts for one method."""
    texts = _within_limits(request.by_place, config)
    method = request.method or config.method
    key = ExtractorKey(method, validated_settings(method, request.settings, "settings"))
    options = request.options()
    queued = [QueuedText(key, Item(number, text, options), where) for number, (where, text) in enumerate(texts.items())]
    return ExtractionJob(queued, _write_results, request_id)


def explanation_job(request: ExplainRequest, config: Config, request_id: str) -> ExtractionJob:
    """One text for one or more methods."""
    texts = _within_limits({"text": request.text}, config)
    methods = request.methods or [config.method]
    for name in request.settings:
        if name not in methods:
            message = f"settings were given for {name!r}, which is not one of the methods to compare"
            raise HttpProblem("not-valid", f"settings: {message}", errors=[("settings", message)])
    keys = [
        ExtractorKey(name, validated_settings(name, request.settings.get(name, {}), f"settings.{name}"))
        for name in methods
    ]
    options = request.options()
    queued = [QueuedText(key, Item(number, texts["text"], options, explain=True)) for number, key in enumerate(keys)]
    return ExtractionJob(queued, lambda job: _write_explanation(job, request.gold), request_id)


def _within_limits(texts: Mapping[str, str], config: Config) -> Mapping[str, str]:
    if len(texts) > config.max_texts:
        message = f"{len(texts):,} texts were sent, but at most {config.max_texts:,} are allowed"
        raise HttpProblem("too-many-texts", f"{message}. Send several requests.", errors=[("texts", message)])
    for where, text in texts.items():
        if len(text) > config.max_characters:
            message = f"{len(text):,} characters were sent, but at most {config.max_characters:,} are allowed"
            raise HttpProblem("text-too-long", f"{message}. Send its parts.", errors=[(where, message)])
    return texts


def _write_results(job: ExtractionJob) -> bytes:
    return _to_json({"results": [outcome.value.to_dict() for outcome in job.in_order]})


def _write_explanation(job: ExtractionJob, gold: list[str]) -> bytes:
    assert job.document is not None
    methods = tuple(outcome.explained for outcome in job.in_order if outcome.explained is not None)
    explanation = Explanation(job.document.text, methods, gold_places(job.document, gold))
    return _to_json(explanation.to_dict())


def _to_json(answer: dict[str, Any]) -> bytes:
    """JSON in UTF-8; escaped if a text holds a lone surrogate, which UTF-8 cannot encode."""
    try:
        return "".join(_json_pieces(answer, ensure_ascii=False)).encode()
    except UnicodeEncodeError:
        return "".join(_json_pieces(answer, ensure_ascii=True)).encode()
    except ValueError as error:
        raise NotFinite from error


def _json_pieces(value: Any, ensure_ascii: bool) -> Iterator[str]:
    """The output of json.dumps, a few items at a time: an answer of 100 MB would take seconds without a check."""
    if _is_nested(value):
        for number, (name, inner) in enumerate(value.items()):
            yield f"{', ' if number else '{'}{json.dumps(name, ensure_ascii=ensure_ascii)}: "
            yield from _json_pieces(inner, ensure_ascii)
        yield "}"
    elif isinstance(value, list) and len(value) > ITEMS_PER_CHECK:
        for start in range(0, len(value), ITEMS_PER_CHECK):
            yield ", " if start else "["
            yield "".join(_json_pieces(value[start : start + ITEMS_PER_CHECK], ensure_ascii))[1:-1]
        yield "]"
    elif isinstance(value, list) and any(map(_is_nested, value)):
        for number, inner in enumerate(value):
            yield ", " if number else "["
            yield from _json_pieces(inner, ensure_ascii)
        yield "]"
    else:
        check()
        yield json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(inner, dict | list) for inner in value.values())


# -- Waiting ----------------------------------------------------------------------------------------------------------


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
    return Response(job.answer.result(), media_type=JSON)


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
