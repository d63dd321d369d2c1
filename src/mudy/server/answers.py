"""Answers to requests: jobs for the queue, checked, awaited and written as JSON; and the texts of files."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from operator import call
from typing import Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive

from mudy._support.callbacks import check
from mudy._support.storage import dump_json
from mudy.errors import InputError
from mudy.extraction.adaptation import Adaptation
from mudy.extraction.examples import Examples
from mudy.extraction.explanation import Explanation, gold_places
from mudy.extraction.outcomes import Item
from mudy.methods import Style, has_styles
from mudy.reading import formats as readers
from mudy.reading.formats import Limits, Reading
from mudy.reading.formats.pool import FileRead, ReaderPool
from mudy.server.config import Config
from mudy.server.middleware import JSON
from mudy.server.problems import HttpProblem, invalid, problem_of, problem_of_text
from mudy.server.queue import ExtractionJob, QueuedText, RequestQueue
from mudy.server.request_schemas import ExplainRequest, ExtractRequest, FitRequest, validated_settings
from mudy.server.scorer import ExtractorKey
from mudy.server.telemetry import Metrics

NDJSON = "application/x-ndjson"
PROGRESS_SECONDS = 0.3  # between two lines of progress
READER_PROCESSES = 2  # files that are read at once
MAX_WAITING_FILES = 16
READ_SECONDS = 30.0  # for one file
RETRY_SECONDS = MAX_WAITING_FILES // READER_PROCESSES  # most files take less than a second
TEXT_FACTOR = 4  # a file may hold this many times the longest text, so that a person can choose a part of it


def extraction_job(request: ExtractRequest, config: Config, request_id: str) -> ExtractionJob:
    """One or more texts for one method."""
    texts = _within_limits(request.by_place, config)
    method = request.method or config.method
    settings = _with_styles({method: request.settings}, request.style, config)[method]
    key = ExtractorKey(method, validated_settings(method, settings, "settings"))
    options = request.options()
    queued = [QueuedText(key, Item(number, text, options), where) for number, (where, text) in enumerate(texts.items())]

    def write(job: ExtractionJob) -> bytes:
        return _to_json({"results": _in_pieces(outcome.value.to_dict() for outcome in job.in_order)})

    return ExtractionJob(queued, write, request_id)


def explanation_job(request: ExplainRequest, config: Config, request_id: str) -> ExtractionJob:
    """One text for one or more methods."""
    texts = _within_limits({"text": request.text}, config)
    methods = request.methods or [config.method]
    for name in request.settings:
        if name not in methods:
            raise invalid("settings", f"settings were given for {name!r}, which is not one of the methods to compare")
    settings = _with_styles({name: request.settings.get(name, {}) for name in methods}, request.style, config)
    keys = [ExtractorKey(name, validated_settings(name, settings[name], f"settings.{name}")) for name in methods]
    options = request.options()
    queued = [QueuedText(key, Item(number, texts["text"], options, explain=True)) for number, key in enumerate(keys)]

    def write(job: ExtractionJob) -> bytes:
        assert job.document is not None
        explained = tuple(outcome.explained for outcome in job.in_order if outcome.explained is not None)
        answer = Explanation(job.document.text, explained, gold_places(job.document, request.gold)).to_dict()
        return _to_json(answer | {"methods": _in_pieces(answer["methods"])})

    return ExtractionJob(queued, write, request_id)


def fit_job(request: FitRequest, config: Config, request_id: str) -> ExtractionJob:
    """Examples that the weights of mudyplus are adapted to."""
    _within_limits({f"examples.{n}.text": example.text for n, example in enumerate(request.examples)}, config)
    try:
        examples = Examples.of([(example.text, example.keyphrases) for example in request.examples])
    except InputError as error:
        raise problem_of_text(error, "examples") from None
    settings = _with_styles({"mudyplus": {}}, request.style, config)["mudyplus"]
    key = ExtractorKey("mudyplus", validated_settings("mudyplus", settings, "style"), examples)
    all_texts = Item(0, "\n".join(record.text for record in examples.records))  # for its size

    def write(job: ExtractionJob) -> bytes:
        adaptation = cast(Adaptation, job.outcomes[0].result)
        return _to_json({"weights": adaptation.weights.to_dict(), **adaptation.to_dict(), "summary": str(adaptation)})

    return ExtractionJob([QueuedText(key, all_texts, "examples")], write, request_id)


def _with_styles(settings: Mapping[str, Mapping[str, Any]], style: Style | None, config: Config) -> dict[str, Any]:
    """The settings of each method, with the style of the request, else that of the service, where it has styles."""
    styled = [name for name in settings if has_styles(name)]
    if style is not None and not styled:
        raise invalid("style", f"only mudyplus has styles, not {' or '.join(settings)}")
    if style is not None and any("style" in settings[name] for name in styled):
        raise invalid("style", "given twice: also among the settings")
    chosen = {"style": style or config.style} if style or config.style else {}
    takes_it = [name for name in styled if style is not None or settings[name].get("weights") is None]
    return {name: {**(chosen if name in takes_it else {}), **given} for name, given in settings.items()}


def _within_limits(texts: Mapping[str, str], config: Config) -> Mapping[str, str]:
    if len(texts) > config.max_texts:
        message = f"{len(texts):,} texts were sent, but at most {config.max_texts:,} are allowed"
        raise HttpProblem("too-many-texts", f"{message}. Send several requests.", errors=[("texts", message)])
    for where, text in texts.items():
        if len(text) > config.max_characters:
            message = f"{len(text):,} characters were sent, but at most {config.max_characters:,} are allowed"
            raise HttpProblem("text-too-long", f"{message}. Split it into several texts.", errors=[(where, message)])
    return texts


def _in_pieces(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results whose keyphrases json asks for one by one: an answer of 100 MB takes seconds, so each checks."""
    return [result | {"keyphrases": [partial(_checked, k) for k in result["keyphrases"]]} for result in results]


def _checked(keyphrase: dict[str, Any]) -> dict[str, Any]:
    check()
    return keyphrase


def _to_json(answer: dict[str, Any]) -> bytes:
    try:
        return dump_json(answer, default=call).encode()
    except ValueError as error:
        raise FloatingPointError("a score is not finite") from error


async def until_gone(answer: asyncio.Future[Any], receive: Receive, seconds: float | None = None) -> bool:
    """Wait for an answer until the client closes its connection, or time is up; whether the client is gone."""

    async def disconnected() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    gone = asyncio.create_task(disconnected())
    try:
        await asyncio.wait([answer, gone], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return gone.done()
    finally:
        gone.cancel()


@asynccontextmanager
async def watched(queue: RequestQueue, job: ExtractionJob) -> AsyncIterator[asyncio.Future[bytes]]:
    """The answer to a job; the job is cancelled at its time limit, and when the block is left."""
    answer = asyncio.wrap_future(job.answer)
    timer = asyncio.get_running_loop().call_later(queue.seconds, queue.cancel, job, "time-limit")
    try:
        yield answer
    finally:
        timer.cancel()
        queue.cancel(job, "client-gone")
        if not answer.cancel():
            answer.exception()  # asyncio logs one that nobody has looked at


async def whole_answer(queue: RequestQueue, job: ExtractionJob, receive: Receive | None) -> Response:
    """The answer in one piece; raises what went wrong. `receive` tells when the client disconnects."""
    async with watched(queue, job) as answer:
        if receive is None:
            await asyncio.wait([answer])
        else:
            await until_gone(answer, receive)
    return Response(job.answer.result(), media_type=JSON)


async def progress_lines(queue: RequestQueue, job: ExtractionJob, request_id: str) -> AsyncIterator[bytes]:
    """The answer as lines of JSON: the state of the job, at least twice a second, and finally the outcome."""
    async with watched(queue, job) as answer:
        while not answer.done():
            yield json.dumps(queue.state(job)).encode() + b"\n"
            await asyncio.wait([answer], timeout=PROGRESS_SECONDS)
        if (error := answer.exception()) is None:
            yield b'{"state": "done", "explanation": ' + answer.result() + b"}\n"
        else:
            failed = {"state": "failed", "problem": problem_of(error).to_dict(request_id)}
            yield json.dumps(failed).encode() + b"\n"


class ReadQueue:
    """Reads files in turn, each within the time limit including the wait; a file whose client is gone is dropped."""

    def __init__(self, config: Config, metrics: Metrics) -> None:
        limits = Limits(seconds=min(READ_SECONDS, config.timeout), characters=TEXT_FACTOR * config.max_characters)
        self.pool = ReaderPool(READER_PROCESSES, limits)
        self._timeout, self._metrics = config.timeout, metrics
        self._free = asyncio.Semaphore(READER_PROCESSES)
        self._threads = ThreadPoolExecutor(READER_PROCESSES, "mudy-reader")
        self._closed = False
        self._inside = 0  # files that are read or waiting

    async def read(self, data: bytes, name: str, receive: Receive) -> Reading:
        """The text of a file; raises HttpProblem if too many wait, the client is gone, or time is up."""
        if readers.kind_of(data, name) == "plain":
            return await run_in_threadpool(readers.read, data, name)
        if self._inside >= READER_PROCESSES + MAX_WAITING_FILES:
            self._metrics.refused.labels("queue-full").inc()
            raise HttpProblem("queue-full", retry_after=RETRY_SECONDS)
        self._inside += 1
        reading = asyncio.create_task(self._read(data, name))
        try:
            gone = await until_gone(reading, receive, self._timeout)
            if reading.done():
                return reading.result()
            raise HttpProblem("client-gone") if gone else HttpProblem("time-limit", retry_after=RETRY_SECONDS)
        except HttpProblem as reason:
            self._metrics.cancelled.labels(reason.name, "reading").inc()
            raise
        finally:
            self._inside -= 1
            reading.cancel()  # which kills the process that reads the file

    async def _read(self, data: bytes, name: str) -> Reading:
        async with self._free:
            file, loop = FileRead(), asyncio.get_running_loop()
            try:
                return await loop.run_in_executor(
                    self._threads, lambda: readers.read(data, name, pool=self.pool, file=file)
                )
            except asyncio.CancelledError:
                file.stop()
                raise
            except InputError:
                if self._closed:
                    raise HttpProblem("shutting-down") from None
                raise

    def close(self) -> None:
        self._closed = True
        self.pool.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
