"""Jobs from requests, and their answers: checks limits and settings, waits for the outcome, and writes it as JSON."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from operator import call
from typing import Any, cast

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
from mudy.server.config import Config
from mudy.server.middleware import JSON
from mudy.server.problems import HttpProblem, invalid, problem_of, problem_of_text
from mudy.server.queue import ExtractionJob, QueuedText, RequestQueue
from mudy.server.request_schemas import ExplainRequest, ExtractRequest, FitRequest, validated_settings
from mudy.server.scorer import ExtractorKey

NDJSON = "application/x-ndjson"
PROGRESS_SECONDS = 0.3  # between two lines of progress


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
    weighted = [name for name in styled if style is None and settings[name].get("weights") is not None]
    return {
        name: {**(chosen if name in styled and name not in weighted else {}), **given}
        for name, given in settings.items()
    }


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


async def disconnected(receive: Receive) -> None:
    """Wait until the client closes its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def watched(queue: RequestQueue, job: ExtractionJob) -> AsyncIterator[asyncio.Event]:
    """An event that is set when the job is over; it is cancelled at its time limit, and when the block is left."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def notify(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(over.set)

    job.answer.add_done_callback(notify)
    timer = loop.call_later(queue.seconds, queue.cancel, job, "time-limit")
    try:
        yield over
    finally:
        timer.cancel()
        queue.cancel(job, "client-gone")


async def whole_answer(queue: RequestQueue, job: ExtractionJob, receive: Receive | None) -> Response:
    """The answer in one piece; raises what went wrong. `receive` tells when the client disconnects."""
    async with watched(queue, job) as over:
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(over.wait())]
        if receive is not None:
            tasks.append(asyncio.create_task(disconnected(receive)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
    return Response(job.answer.result(), media_type=JSON)


async def progress_lines(queue: RequestQueue, job: ExtractionJob, request_id: str) -> AsyncIterator[bytes]:
    """The answer as lines of JSON: the state of the job, at least twice a second, and finally the outcome."""
    async with watched(queue, job) as over:
        while not over.is_set():
            yield json.dumps(queue.state(job)).encode() + b"\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), PROGRESS_SECONDS)
        if (error := job.answer.exception()) is None:
            yield b'{"state": "done", "explanation": ' + job.answer.result() + b"}\n"
        else:
            failed = {"state": "failed", "problem": problem_of(error).to_dict(request_id)}
            yield json.dumps(failed).encode() + b"\n"
