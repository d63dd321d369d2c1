"""The routes: thin translators between HTTP and the queues.

Limits of body and time, the check of Content-Type, and authentication hold for every route; see `middleware`.
"""

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from mudy.server import response_schemas as schemas
from mudy.server.answers import NDJSON, ProgressResponse, explanation_job, extraction_job, fit_job, whole_answer
from mudy.server.config import Config
from mudy.server.middleware import JSON, OCTETS, RequestInfo
from mudy.server.openapi import ANY_ROUTE, POST_ROUTE, problem_responses
from mudy.server.problems import HttpProblem
from mudy.server.queue import RequestQueue
from mudy.server.read_queue import ReadQueue
from mudy.server.request_schemas import ExplainRequest, ExtractRequest, FitRequest

_LINES = {"schema": {"type": "string"}, "example": '{"state": "waiting", "ahead": 0, "elapsed": 0.1}\n'}
_EXPLAINED: dict[str, Any] = {"model": schemas.Explanation, "content": {NDJSON: _LINES}}
_FILE = {"requestBody": {"required": True, "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}}


def add_routes(app: FastAPI, config: Config, queue: RequestQueue, files: ReadQueue) -> None:
    _add_text_routes(app, config, queue, files)
    _add_description_routes(app, config, queue)
    _add_health_routes(app, queue)


def _add_text_routes(app: FastAPI, config: Config, queue: RequestQueue, files: ReadQueue) -> None:
    problems = problem_responses(*POST_ROUTE)

    @app.post("/v1/extract", responses={200: {"model": schemas.Extracted}, **problems}, tags=["keyphrases"])
    async def extract(request: Request, body: ExtractRequest) -> Response:
        """The keyphrases of one text or of several."""
        info = RequestInfo.of(request.scope)
        info.texts, info.characters = len(body.by_place), sum(map(len, body.by_place.values()))
        job = queue.admit(extraction_job(body, config, info.request_id))
        return await whole_answer(queue, job, request.receive)

    @app.post("/v1/explain", responses={200: _EXPLAINED, **problems}, tags=["keyphrases"])
    async def explain(request: Request, body: ExplainRequest) -> Response:
        """Every phrase of one text with all its occurrences and the parts of its score, by one method or several.

        With `Accept: application/x-ndjson` the answer is a stream of lines, each a JSON object: at least twice a second
        `{"state": "waiting", "ahead": 3, "elapsed": 0.5}` or `{"state": "working", "elapsed": 1.0, "expected": 2.8}`,
        times in seconds, and finally `{"state": "done", "explanation": ...}` or `{"state": "failed", "problem": ...}`.
        """
        info = RequestInfo.of(request.scope)
        info.texts, info.characters = 1, len(body.text)
        job = queue.admit(explanation_job(body, config, info.request_id))
        if NDJSON in request.headers.get("accept", ""):
            return ProgressResponse(queue, job)
        return await whole_answer(queue, job, request.receive)

    @app.post("/v1/fit", responses={200: {"model": schemas.FitResult}, **problems}, tags=["keyphrases"])
    async def fit(request: Request, body: FitRequest) -> Response:
        """Weights of mudyplus adapted to texts with the keyphrases that are wanted, and what they are worth.

        Nothing is stored: send the weights with later requests, as `settings.weights`. If they do not help examples
        left out, the weights are those of the style.
        """
        info = RequestInfo.of(request.scope)
        info.texts, info.characters = len(body.examples), sum(len(example.text) for example in body.examples)
        job = queue.admit(fit_job(body, config, info.request_id))
        return await whole_answer(queue, job, request.receive)

    @app.post("/v1/read", responses={200: {"model": schemas.FileText}, **problems}, openapi_extra=_FILE, tags=["files"])
    async def read(request: Request, name: Annotated[str, Query(max_length=255)] = "") -> Response:
        """The text of a file, to be sent to the other routes with its pages and blocks; their offsets refer to it.

        The body is the file itself. Its type is detected from its bytes; the name only tells a web page from plain
        text. A file that takes too long to read, needs too much memory, or holds too much text is answered with 422.
        """
        reading = await files.read(await request.body(), name, request.receive)
        answer = schemas.file_text(reading)
        return Response(await run_in_threadpool(answer.model_dump_json), media_type=JSON)


def _add_description_routes(app: FastAPI, config: Config, queue: RequestQueue) -> None:
    @app.get("/v1/service", responses=problem_responses(*ANY_ROUTE), tags=["about"])
    async def service() -> schemas.ServiceInfo:
        """What is served, and within which limits."""
        return schemas.service_info(config)

    @app.get("/v1/methods", responses=problem_responses(*ANY_ROUTE), tags=["about"])
    def methods() -> schemas.Methods:
        """The methods, with their settings."""
        return schemas.method_list()

    @app.get("/v1/models", responses=problem_responses(*ANY_ROUTE), tags=["about"])
    def models() -> schemas.Models:
        """The known models, and which of them are loaded."""
        return schemas.model_list(config, queue.loaded)


def _add_health_routes(app: FastAPI, queue: RequestQueue) -> None:
    @app.get("/healthz", responses=problem_responses(500, 503), tags=["health"])
    async def healthz() -> schemas.Health:
        """Whether the process works. Needs no key."""
        if not queue.alive:
            raise HttpProblem("fault", "A worker has ended.")
        return schemas.Health(status="ok")

    @app.get("/readyz", responses=problem_responses(500, 503), tags=["health"])
    async def readyz() -> schemas.Health:
        """Whether the model is loaded. Needs no key."""
        if not queue.ready:
            raise HttpProblem("not-ready")
        return schemas.Health(status="ready")

    @app.get("/metrics", response_class=Response, responses=problem_responses(*ANY_ROUTE), tags=["health"])
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(queue.metrics.text(), media_type=queue.metrics.content_type)
