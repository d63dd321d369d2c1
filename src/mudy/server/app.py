"""The routes: thin translators between HTTP and the desk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from mudy import __version__
from mudy.errors import MudyError
from mudy.extractor import Extractor
from mudy.methods import method_class
from mudy.readers import Reading
from mudy.server import descriptions, requests, schemas
from mudy.server.body_limits import Bodies
from mudy.server.config import Config
from mudy.server.jobs import Ended, Failed
from mudy.server.metrics import Metrics
from mudy.server.middleware import HEALTH, Admitted, Observed, Seen
from mudy.server.problems import MEDIA_TYPE, Problem, problem_of
from mudy.server.queue import Desk, QueueFull
from mudy.server.read_queue import ReadQueue, limits
from mudy.server.streaming import NDJSON, Progress, answered

JSON, BYTES = "application/json", "application/octet-stream"
DESCRIPTION = """
Keyphrases of any text, found by a pre-trained language model without training data.

Requests wait in one line for one model, and those that wait are computed together; no answer depends on that. What goes
wrong comes as `application/problem+json`. A client that closes its connection is not computed any further.
"""


def create_app(config: Config, failed: Callable[[], None] = lambda: None) -> FastAPI:
    """The service; its desk is `app.state.desk`. `failed` is told when the model cannot be loaded."""
    metrics = Metrics()
    metrics.model.labels(__version__, config.method, config.model, config.encoder, config.speed).set(1)

    def load() -> Extractor:
        schemas.served()  # knows all methods from now on, and was slow to import them
        return config.load()

    desk = Desk(load, queue=config.queue, seconds=config.timeout, metrics=metrics, failed=failed)
    files = ReadQueue(limits(config.max_characters, config.timeout), config.timeout, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        desk.start()
        try:
            yield
        finally:
            files.close()

    app = FastAPI(
        title="MUDY",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # it would load scripts of another site; ours is web/docs.html
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk = desk
    _routes(app, config, desk, files)
    _document(app, config)
    _page(app)
    _errors(app, desk)
    app.add_middleware(Bodies, types=_types(app), most=config.max_body, seconds=config.body_timeout)  # the innermost
    app.add_middleware(Admitted, key=config.api_key, hosts=config.hosts)
    app.add_middleware(Observed, metrics=metrics, routes=[r.path for r in app.routes if hasattr(r, "path")])
    return app


def _types(app: FastAPI) -> dict[str, str]:
    """What the body of each post must be called: JSON, unless its route says otherwise to OpenAPI."""
    posts = [route for route in app.routes if isinstance(route, APIRoute) and "POST" in (route.methods or ())]
    bodies = {route.path: (route.openapi_extra or {}).get("requestBody", {}) for route in posts}
    return {path: next(iter(body.get("content", {JSON: None}))) for path, body in bodies.items()}


def _told(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problems that a route may answer with, for OpenAPI."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {status: {"description": _MEANING[status], "content": content} for status in statuses}


_MEANING = {
    401: "The key is missing or wrong.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The body is not called what it should be.",
    421: "The Host header names another service.",
    422: "The request is not valid, a text is too long, or a method or setting is not known.",
    500: "Something went wrong on our side.",
    503: "Too many requests wait, the request took too long, or the service begins or ends. See Retry-After.",
}
_LINES = {"schema": {"type": "string"}, "example": '{"state": "waiting", "ahead": 0, "elapsed": 0.1}\n'}
_EXPLAINED: dict[str, Any] = {"model": schemas.Explanation, "content": {NDJSON: _LINES}}
_FILE = {"requestBody": {"required": True, "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}}}
_ALWAYS = (401, 421, 500)
_POSTED = (*_ALWAYS, 408, 413, 415, 422, 503)


def _routes(app: FastAPI, config: Config, desk: Desk, files: ReadQueue) -> None:
    @app.post("/v1/extract", responses={200: {"model": schemas.Extracted}, **_told(*_POSTED)}, tags=["keyphrases"])
    async def extract(request: Request, asked: schemas.ExtractRequest) -> Response:
        """The keyphrases of one text or of several."""
        seen = Seen.of(request.scope)
        seen.texts, seen.characters = len(asked.placed), sum(map(len, asked.placed.values()))
        job = desk.admit(requests.extraction(asked, config, seen.request_id))
        return await answered(desk, job, request.receive)

    @app.post("/v1/explain", responses={200: _EXPLAINED, **_told(*_POSTED)}, tags=["keyphrases"])
    async def explain(request: Request, asked: schemas.ExplainRequest) -> Response:
        """Every phrase of one text at every place, with what its score was made of, by one method or several.

        With `Accept: application/x-ndjson` the answer is a stream of lines, each a JSON object: at least twice a second
        `{"state": "waiting", "ahead": 3, "elapsed": 0.5}` or `{"state": "working", "elapsed": 1.0, "expected": 2.8}`,
        times in seconds, and at last `{"state": "done", "explanation": ...}` or `{"state": "failed", "problem": ...}`.
        """
        seen = Seen.of(request.scope)
        seen.texts, seen.characters = 1, len(asked.text)
        job = desk.admit(requests.explanation(asked, config, seen.request_id))
        if NDJSON in request.headers.get("accept", ""):
            return Progress(desk, job)
        return await answered(desk, job, request.receive)

    @app.post(
        "/v1/read",
        responses={200: {"model": schemas.FileText}, **_told(*_POSTED)},
        openapi_extra=_FILE,
        tags=["files"],
    )
    async def read(request: Request, name: Annotated[str, Query(max_length=255)] = "") -> Response:
        """The text of a file, to be sent to the other routes: what offsets refer to.

        The body is the file as it is. Its bytes say what it is; the name only tells a web page from plain text. A file
        that takes too long to read, needs too much memory, or holds too much text is answered with 422.
        """
        reading = await files.read(await request.body(), name, request.receive)
        return Response(await run_in_threadpool(_file_text, reading), media_type=JSON)

    @app.get("/v1/service", responses=_told(*_ALWAYS), tags=["about"])
    async def service() -> schemas.ServiceInfo:
        """What is served, and within which limits."""
        return descriptions.service(config)

    @app.get("/v1/methods", responses=_told(*_ALWAYS), tags=["about"])
    async def methods() -> schemas.Methods:
        """The methods, with their settings."""
        return await run_in_threadpool(descriptions.methods)

    @app.get("/v1/models", responses=_told(*_ALWAYS), tags=["about"])
    async def models() -> schemas.Models:
        """The known models, and which of them are loaded."""
        return await run_in_threadpool(descriptions.known_models, config, desk.extractor)

    @app.get("/healthz", responses=_told(500, 503), tags=["health"])
    async def healthz() -> schemas.Health:
        """Whether the process works. Needs no key."""
        if not desk.alive:
            raise Problem("fault", "The worker has ended.")
        return schemas.Health(status="ok")

    @app.get("/readyz", responses=_told(500, 503), tags=["health"])
    async def readyz() -> schemas.Health:
        """Whether the model is loaded. Needs no key."""
        if not desk.ready:
            raise Problem("not-ready", "The model is being loaded.", retry_after=1)
        return schemas.Health(status="ready")

    @app.get("/metrics", response_class=Response, responses=_told(*_ALWAYS), tags=["health"])
    async def metrics() -> Response:
        """Figures for Prometheus."""
        return Response(desk.metrics.text(), media_type=desk.metrics.content_type)


def _file_text(reading: Reading) -> bytes:
    return schemas.FileText(text=reading.text, pages=list(reading.pages)).model_dump_json().encode()


def _document(app: FastAPI, config: Config) -> None:
    """OpenAPI as FastAPI writes it, with this service's own limits, its key, and what problems and lines look like."""
    written = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = written()
            known = document["components"]["schemas"]
            known |= _shapes(schemas.ProblemDetails, schemas.Waiting, schemas.Working, schemas.Done, schemas.FailedLine)
            _limit(known["ExtractRequest"]["properties"], known["ExplainRequest"]["properties"], config)
            _describe_settings(known)
            if config.api_key is not None:
                document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
                document["security"] = [{"key": []}]
                for path in HEALTH:
                    document["paths"][path]["get"]["security"] = []
        return written()

    app.openapi = openapi  # type: ignore[method-assign]


def _limit(extract: dict[str, Any], explain: dict[str, Any], config: Config) -> None:
    extract["texts"]["maxItems"] = config.max_texts
    for text in (extract["text"], extract["texts"]["items"], explain["text"]):
        text["maxLength"] = config.max_characters


def _describe_settings(known: dict[str, Any]) -> None:
    """Which settings each method has, and of which types; ranges are the methods' own matter."""
    names = {method: f"{method_class(method).__name__}Settings" for method in schemas.served()}
    shapes = {method: {"$ref": f"#/components/schemas/{name}"} for method, name in names.items()}
    known |= {name: schemas.settings_shape(method) for method, name in names.items()}
    known["ExtractRequest"]["properties"]["settings"] |= {"anyOf": list(shapes.values())}
    known["ExplainRequest"]["properties"]["settings"] |= {"properties": shapes, "additionalProperties": False}


def _shapes(*models: type[BaseModel]) -> dict[str, Any]:
    template = "#/components/schemas/{model}"
    _, found = models_json_schema([(model, "serialization") for model in models], ref_template=template)
    shapes: dict[str, Any] = found["$defs"]
    return shapes


def _page(app: FastAPI) -> None:
    folder = Path(str(files("mudy"))) / "web"
    if not folder.is_dir():
        return
    static = StaticFiles(directory=folder)

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return await static.get_response("index.html", request.scope)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return await static.get_response("docs.html", request.scope)

    app.mount("/static", GZipMiddleware(static, minimum_size=1000))


def _errors(app: FastAPI, desk: Desk) -> None:
    async def problem(request: Request, error: Exception) -> Response:
        return problem_of(error, desk.retry_after()).response(Seen.of(request.scope).request_id)

    for kind in (Problem, HTTPException, RequestValidationError, MudyError, Ended, Failed, QueueFull):
        app.add_exception_handler(kind, problem)
