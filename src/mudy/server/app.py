"""The service put together: queues, routes, page, errors and middleware.

Routes are thin translators between HTTP and the queues. Limits of body and time, the check of Content-Type, and
authentication hold for every route; see `middleware`.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response, StreamingResponse
from starlette.staticfiles import StaticFiles

from mudy import __version__
from mudy.server import answers
from mudy.server import response_schemas as schemas
from mudy.server.config import Config
from mudy.server.middleware import JSON, OCTETS, RequestInfo, RequestMiddleware
from mudy.server.problems import HttpProblem, problem_of
from mudy.server.queue import RequestQueue
from mudy.server.request_schemas import ExplainRequest, ExtractRequest, FitRequest, served_methods
from mudy.server.scorer import Scorer, scorers

_LINES = {"schema": {"type": "string"}, "example": '{"state": "waiting", "ahead": 0, "elapsed": 0.1}\n'}
_EXPLAINED: dict[str, Any] = {"model": schemas.Explanation, "content": {answers.NDJSON: _LINES}}
_FILE = {"requestBody": {"required": True, "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}}


def create_app(
    config: Config,
    loaded: Callable[[BaseException | None], None] = lambda failure: None,  # noqa: ARG005
) -> FastAPI:
    """The service; its queue is `app.state.queue`. `loaded` is called once the model is, or could not be, loaded."""

    def load() -> Sequence[Scorer]:
        served_methods()  # imports all methods, which is slow the first time
        return scorers(config)

    queue = RequestQueue(load, config, loaded)
    queue.metrics.model.labels(__version__, config.method, config.model, config.encoder, config.speed).set(1)
    read_queue = answers.ReadQueue(config, queue.metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.callback(read_queue.close)
            queue.start()
            if mcp is not None:
                await stack.enter_async_context(mcp.manager.run())
            yield

    app = FastAPI(
        title="MUDY",
        version=__version__,
        description=schemas.DESCRIPTION,
        servers=[{"url": "/"}],
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from another site; ours is web/docs.html
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _raise_problem, RequestValidationError: _raise_problem},
    )
    app.state.queue = queue
    _add_text_routes(app, config, queue, read_queue)
    _add_other_routes(app, config, queue)
    mcp: Any = None  # the tools for assistants, if a suitable version of the extra for them is installed
    with suppress(ImportError):
        from mudy.server.mcp_route import add_mcp_route

        mcp = add_mcp_route(app, config, queue)
    schemas.extend_openapi(app, config)
    static = StaticFiles(directory=Path(__file__).parent / "web")

    @app.get("/", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    async def page(request: Request) -> Response:
        return await static.get_response("docs.html" if request.url.path == "/docs" else "index.html", request.scope)

    app.mount("/static", GZipMiddleware(static, minimum_size=1000))
    app.add_middleware(RequestMiddleware, config=config, metrics=queue.metrics, routes=app.routes)
    return app


async def _raise_problem(_: Request, error: Exception) -> Response:
    """In place of the answers of FastAPI: problems are answered by the middleware."""
    raise problem_of(error) from error


def _add_text_routes(app: FastAPI, config: Config, queue: RequestQueue, files: answers.ReadQueue) -> None:
    problems = schemas.problem_responses(*schemas.MEANING)

    @app.post("/v1/extract", responses={200: {"model": schemas.Extracted}, **problems}, tags=["keyphrases"])
    async def extract(request: Request, body: ExtractRequest) -> Response:
        """The keyphrases of one text or of several."""
        info = RequestInfo.of(request.scope, body.by_place.values())
        job = queue.admit(answers.extraction_job(body, config, info.request_id))
        return await answers.whole_answer(queue, job, request.receive)

    @app.post("/v1/explain", responses={200: _EXPLAINED, **problems}, tags=["keyphrases"])
    async def explain(request: Request, body: ExplainRequest) -> Response:
        """Every phrase of one text with all its occurrences and the parts of its score, by one method or several.

        With `Accept: application/x-ndjson` the answer is a stream of lines, each a JSON object: at least twice a second
        `{"state": "waiting", "ahead": 3, "elapsed": 0.5}` or `{"state": "working", "elapsed": 1.0, "expected": 2.8}`,
        times in seconds, and finally `{"state": "done", "explanation": ...}` or `{"state": "failed", "problem": ...}`.
        """
        info = RequestInfo.of(request.scope, [body.text])
        job = queue.admit(answers.explanation_job(body, config, info.request_id))
        if answers.NDJSON in request.headers.get("accept", ""):
            lines = answers.progress_lines(queue, job, info.request_id)
            return StreamingResponse(lines, media_type=answers.NDJSON, headers={"X-Accel-Buffering": "no"})
        return await answers.whole_answer(queue, job, request.receive)

    @app.post("/v1/fit", responses={200: {"model": schemas.FitResult}, **problems}, tags=["keyphrases"])
    async def fit(request: Request, body: FitRequest) -> Response:
        """Weights of mudyplus adapted to texts with the keyphrases that are wanted, and what they are worth.

        Nothing is stored: send the weights with later requests, as `settings.weights`. If they do not help examples
        left out, the weights are those of the style.
        """
        info = RequestInfo.of(request.scope, [example.text for example in body.examples])
        job = queue.admit(answers.fit_job(body, config, info.request_id))
        return await answers.whole_answer(queue, job, request.receive)

    @app.post("/v1/read", responses={200: {"model": schemas.FileText}, **problems}, openapi_extra=_FILE, tags=["files"])
    async def read(request: Request, name: Annotated[str, Query(max_length=255)] = "") -> Response:
        """The text of a file, to be sent to the other routes with its pages and blocks; their offsets refer to it.

        The body is the file itself. Its type is detected from its bytes; the name only tells a web page from plain
        text. A file that takes too long to read, needs too much memory, or holds too much text is answered with 422.
        """
        reading = await files.read(await request.body(), name, request.receive)
        blocks = reading.blocks and [{**asdict(b.span), "kind": b.kind, "level": b.level} for b in reading.blocks]
        answer = schemas.FileText.model_validate({"text": reading.text, "pages": reading.pages, "blocks": blocks})
        return Response(await run_in_threadpool(answer.model_dump_json), media_type=JSON)


def _add_other_routes(app: FastAPI, config: Config, queue: RequestQueue) -> None:
    about: dict[str, Any] = {"responses": schemas.problem_responses(*schemas.ANY_ROUTE), "tags": ["about"]}
    health: dict[str, Any] = {"responses": schemas.problem_responses(500, 503), "tags": ["health"]}

    @app.get("/v1/service", **about)
    async def service() -> schemas.ServiceInfo:
        """What is served, and within which limits."""
        return schemas.service_info(config)

    @app.get("/v1/methods", **about)
    def methods() -> schemas.Methods:
        """The methods, with their settings."""
        return schemas.method_list()

    @app.get("/v1/models", **about)
    def models() -> schemas.Models:
        """The known models, and which of them are loaded."""
        return schemas.model_list(config, queue.loaded)

    @app.get("/healthz", **health)
    async def healthz() -> schemas.Health:
        """Whether the process works. Needs no key."""
        if not queue.alive:
            raise HttpProblem("fault", "A worker has ended.")
        return schemas.Health(status="ok")

    @app.get("/readyz", **health)
    async def readyz() -> schemas.Health:
        """Whether the model is loaded. Needs no key."""
        if not queue.ready:
            raise HttpProblem("not-ready")
        return schemas.Health(status="ready")

    @app.get("/metrics", response_class=Response, **about | {"tags": ["health"]})
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        return Response(queue.metrics.text(), media_type=queue.metrics.content_type)
