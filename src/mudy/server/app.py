"""The service put together: queues, routes, page, errors and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from mudy import __version__
from mudy.server.config import Config
from mudy.server.middleware import RequestMiddleware
from mudy.server.openapi import DESCRIPTION, extend_openapi
from mudy.server.problems import problem_of
from mudy.server.queue import RequestQueue
from mudy.server.read_queue import ReadQueue, reader_limits
from mudy.server.request_schemas import served_methods
from mudy.server.routes import add_routes
from mudy.server.scorer import Scorer, scorers
from mudy.server.telemetry import Metrics

if TYPE_CHECKING:
    from mudy.server.mcp_route import McpEndpoint


def create_app(config: Config, failed: Callable[[], None] = lambda: None) -> FastAPI:
    """The service; its queue is `app.state.queue`. `failed` is called if the model cannot be loaded."""
    metrics = Metrics()
    metrics.model.labels(__version__, config.method, config.model, config.encoder, config.speed).set(1)

    def load() -> Sequence[Scorer]:
        served_methods()  # imports all methods, which is slow the first time
        return scorers(config)

    queue = RequestQueue(
        load, workers=config.workers, size=config.queue, seconds=config.timeout, metrics=metrics, failed=failed
    )
    read_queue = ReadQueue(reader_limits(config.max_characters, config.timeout), config.timeout, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        queue.start()
        try:
            async with mcp.manager.run() if mcp is not None else nullcontext():
                yield
        finally:
            read_queue.close()

    app = FastAPI(
        title="MUDY",
        version=__version__,
        description=DESCRIPTION,
        servers=[{"url": "/"}],
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from another site; ours is web/docs.html
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _raise_problem, RequestValidationError: _raise_problem},
    )
    app.state.queue = queue
    add_routes(app, config, queue, read_queue)
    mcp = _add_mcp(app, config, queue)
    extend_openapi(app, config)
    _add_page(app)
    app.add_middleware(RequestMiddleware, config=config, metrics=metrics, routes=app.routes)
    return app


def _add_mcp(app: FastAPI, config: Config, queue: RequestQueue) -> McpEndpoint | None:
    """The tools for assistants, if the extra for them is installed; another version of its package does not do."""
    try:
        from mudy.server.mcp_route import add_mcp_route
    except ImportError:
        return None
    return add_mcp_route(app, config, queue)


def _add_page(app: FastAPI) -> None:
    static = StaticFiles(directory=Path(__file__).parent / "web")

    @app.get("/", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    async def page(request: Request) -> Response:
        return await static.get_response("docs.html" if request.url.path == "/docs" else "index.html", request.scope)

    app.mount("/static", GZipMiddleware(static, minimum_size=1000))


async def _raise_problem(_: Request, error: Exception) -> Response:
    """In place of the answers of FastAPI: problems are answered by the middleware."""
    raise problem_of(error) from error
