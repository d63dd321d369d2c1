"""The MCP tools of the service at /mcp: computed by its queue, behind its limits and its key, and without its disk."""

import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mudy.errors import InputError
from mudy.integrations.mcp import keyphrase_server
from mudy.server.answers import explanation_job, extraction_job, whole_answer
from mudy.server.config import Config
from mudy.server.middleware import check_origin
from mudy.server.problems import problem_of
from mudy.server.queue import ExtractionJob, RequestQueue
from mudy.server.request_schemas import ExplainRequest, ExtractRequest, served_methods

PATH = "/mcp"
LOG_ID = "mcp"  # for logs: one HTTP request may hold any call


class QueueBackend:
    """Puts each call of a tool into the queue, checked as a request to /v1 is."""

    def __init__(self, config: Config, queue: RequestQueue) -> None:
        self.config, self.queue = config, queue
        self.default_method = config.method

    @property
    def methods(self) -> tuple[str, ...]:
        return served_methods()

    async def extracted(self, text: str, options: dict[str, Any], method: str) -> dict[str, Any]:
        answer = await self._answer(extraction_job, ExtractRequest, {"text": text, **options, "method": method})
        return dict(answer["results"][0])

    async def explained(self, text: str, phrase: str, focus: dict[str, Any], method: str) -> dict[str, Any]:
        body = {"text": text, **focus, "methods": [method], "gold": [phrase]}
        return await self._answer(explanation_job, ExplainRequest, body)

    async def _answer(self, made: Callable[..., ExtractionJob], schema: type[BaseModel], body: Any) -> dict[str, Any]:
        """The answer to a request; what goes wrong is told in the words of the service's problems."""
        try:
            job = self.queue.admit(made(schema.model_validate(body), self.config, LOG_ID))
            response = await whole_answer(self.queue, job, None)  # its HTTP request has been read
        except ValidationError as error:
            raise InputError("; ".join(str(detail["msg"]) for detail in error.errors(include_input=False))) from None
        except Exception as error:
            raise InputError(problem_of(error).detail) from error
        return dict(json.loads(bytes(response.body)))


class McpEndpoint:
    """Each POST is answered by itself: no sessions, and no streams that stay open."""

    def __init__(self, server: MCPServer[Any], hosts: frozenset[str] | None) -> None:
        server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # done by us
        )
        self.manager, self.hosts = server.session_manager, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        check_origin(Headers(scope=scope), self.hosts)
        await self.manager.handle_request(scope, receive, send)


def add_mcp_route(app: FastAPI, config: Config, queue: RequestQueue) -> McpEndpoint:
    """Add the route; what is returned has a `manager` that must run as long as the app."""
    endpoint = McpEndpoint(keyphrase_server(QueueBackend(config, queue)), config.hosts)
    app.router.routes.append(Route(PATH, endpoint=endpoint, methods=["POST"]))
    return endpoint
