"""What holds for every request, whatever its route, as one plain ASGI middleware. It reads no text.

A request gets its id; Host and key are checked; its body is read within limits; its route must begin to answer in time;
the answer gets the security headers; and the request is logged and counted.
"""

import asyncio
import hmac
import logging
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Self
from uuid import uuid4

from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mudy.server.config import Config
from mudy.server.problems import CLIENT_GONE, HttpProblem, problem_of
from mudy.server.telemetry import LOGGER, Metrics, log_fault

JSON = "application/json"
OCTETS = "application/octet-stream"
DISCARD_SECONDS = 1.0  # how long the rest of a body is read after an early answer, so that the sender can receive it
MARGIN_SECONDS = 5.0  # routes with a time limit of their own answer first
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
HOST_HEADER = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:@/?#\s]+)(?::[0-9]{1,5})?")

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@dataclass
class RequestInfo:
    """What is logged of a request; it travels in the scope, and routes add to it."""

    request_id: str
    texts: int = 0
    characters: int = 0

    @classmethod
    def of(cls, scope: Scope, texts: Collection[str]) -> Self:
        info: Self = scope["mudy"]
        info.texts, info.characters = len(texts), sum(map(len, texts))
        return info


class IncomingBody:
    def __init__(self, headers: Headers, receive: Receive) -> None:
        self._receive = receive
        self._awaits_continue = "expect" in headers  # the client sends its body when it is asked to
        self.complete = "transfer-encoding" not in headers and headers.get("content-length", "0").strip("0") == ""

    async def receive(self) -> Message:
        self._awaits_continue = False
        message = await self._receive()
        if not message.get("more_body", False):  # the last piece, or the client is gone
            self.complete = True
        return message

    async def discard(self) -> None:
        """Read on for a moment: a client still sending when we close would see a broken pipe instead of our answer."""
        if self._awaits_continue:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                while not self.complete:
                    await self.receive()


class RequestMiddleware:
    """Takes a request to its route; whatever is raised inside becomes an answer here."""

    def __init__(self, app: ASGIApp, config: Config, metrics: Metrics, routes: Sequence[BaseRoute]) -> None:
        self.app, self.config, self.metrics = app, config, metrics
        self.routes = routes  # the app's own list: a route that is added later needs no entry anywhere

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked, start, status = Headers(scope=scope), perf_counter(), 0
        given_id = asked.get("x-request-id", "")
        info = RequestInfo(given_id if REQUEST_ID.fullmatch(given_id) else uuid4().hex)
        # HEAD is routed like GET; the server leaves out the body (RFC 9110, 9.3.2).
        inner_scope = {**scope, "mudy": info, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}
        # The first route that matches fully; else one that has another method; else any, with Match.NONE.
        matches = [(route, route.matches(inner_scope)[0]) for route in self.routes]
        route, match = max(matches, key=lambda matched: matched[1].value)
        incoming = IncomingBody(asked, receive)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update({**SECURITY_HEADERS, "X-Request-ID": info.request_id})
                # Files of the page have an ETag: a browser asks each time, and receives them only if they changed.
                unchanged = _is_page(scope["path"]) and "etag" in headers
                headers.setdefault("Cache-Control", "no-cache" if unchanged else "no-store")
                await incoming.discard()
                if not incoming.complete:
                    headers["Connection"] = "close"
            await send(message)

        try:
            check_access(scope["path"], asked, self.config)
            if match is Match.FULL and scope["method"] in ("POST", "PUT", "PATCH"):
                _check_content(asked, route)
            body = await self._read_body(asked, incoming.receive)
            await self._answer(inner_scope, body, incoming.receive, send_with_headers)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500 and problem is not error:
                log_fault(error, info.request_id)
            if not status:
                await problem.response(info.request_id)(scope, incoming.receive, send_with_headers)
        except asyncio.CancelledError:
            status = status or CLIENT_GONE
            raise
        finally:
            self._record(scope, None if match is Match.NONE else route, info, status, perf_counter() - start)

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes:
        announced = headers.get("content-length", "")
        self._check_size(int(announced) if announced.isdecimal() else 0)
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(self.config.body_timeout):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise HttpProblem("client-gone", "The client disconnected before its request was complete.")
                    body += message.get("body", b"")
                    self._check_size(len(body))
                    more = message.get("more_body", False)
        except TimeoutError:
            detail = f"The body did not arrive within {self.config.body_timeout:g} seconds."
            raise HttpProblem("body-too-slow", detail) from None
        return bytes(body)

    def _check_size(self, size: int) -> None:
        if size > self.config.max_body:
            detail = f"The body is larger than the allowed {self.config.max_body:,} bytes."
            raise HttpProblem("body-too-large", detail)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the route answer; it is cancelled if it has not begun to within the time limit and a margin.

        The queues have the same limit without the margin, know why they end, and can say so in the middle of a stream.
        This one holds for routes that use neither. It does not limit how long a client takes to receive an answer.
        """
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_body_first() -> Message:
            return messages.pop() if messages else await receive()

        async def send_in_time(message: Message) -> None:
            if message["type"] == "http.response.start":
                limit.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(self.config.timeout + MARGIN_SECONDS) as limit:
                await self.app(scope, receive_body_first, send_in_time)
        except TimeoutError:
            if not limit.expired():
                raise
            raise HttpProblem("time-limit") from None

    def _record(self, scope: Scope, route: BaseRoute | None, info: RequestInfo, status: int, seconds: float) -> None:
        # The path of the route, not of the request, which might hold a text.
        template = f"{route.path}/{{file}}" if isinstance(route, Mount) else getattr(route, "path", "other")
        self.metrics.requests.labels(template, status).inc()
        self.metrics.latency.labels(template).observe(seconds)
        fields = {
            "request_id": info.request_id,
            "method": scope["method"] if scope["method"] in KNOWN_METHODS else "other",
            "path": template,
            "status": status,
            "milliseconds": round(1000 * seconds, 1),
            "texts": info.texts,
            "characters": info.characters,
        }
        probe = scope["path"] in HEALTH_PATHS and status < 500  # requested every few seconds
        LOGGER.log(logging.DEBUG if probe else logging.INFO, "request", extra={"fields": fields})


def _is_page(path: str) -> bool:
    return path in ("/", "/docs") or path.startswith("/static/")


def check_access(path: str, headers: Headers, config: Config) -> None:
    """Admit only requests for this service, with its key if it has one.

    A page of another site can make a browser call a service on loopback under a name of its own (DNS rebinding), so the
    Host header is checked. The page itself and the health checks need no key: they hold no data.
    """
    if path in HEALTH_PATHS:
        return
    if config.hosts is not None and host_name(headers.get("host", "")) not in config.hosts:
        raise HttpProblem("wrong-host", "The host in the Host header is not allowed. See --allow-host.")
    if not config.api_key or _is_page(path):
        return
    scheme, _, token = headers.get("authorization", "").partition(" ")
    given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    if not hmac.compare_digest(given.encode("latin-1"), config.api_key.encode()):
        detail = "Send the key as 'Authorization: Bearer KEY'." if not given else "The key is wrong."
        raise HttpProblem("key-needed", detail, headers={"WWW-Authenticate": "Bearer"})


def _check_content(headers: Headers, route: BaseRoute) -> None:
    """Refuse a compressed body, or one of another type than JSON, unless the route declares that to OpenAPI.

    The Content-Type also keeps pages of other sites from posting: for these types browsers first ask for permission,
    which is never given.
    """
    declared = (route.openapi_extra or {}).get("requestBody", {}) if isinstance(route, APIRoute) else {}
    required = next(iter(declared.get("content", {JSON: None})))
    if headers.get("content-type", "").partition(";")[0].strip().lower() != required:
        raise HttpProblem("wrong-type", f"Send the body with 'Content-Type: {required}'.")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        detail = "Send the body as it is, without Content-Encoding: compressed bodies are not supported."
        raise HttpProblem("wrong-encoding", detail, headers={"Accept-Encoding": "identity"})


def check_origin(headers: Headers, hosts: frozenset[str] | None) -> None:
    """Refuse a browser that runs a page of another site: its Origin must be this service, or an allowed host."""
    origin = headers.get("origin")
    if origin is None:
        return
    name = host_name(origin.partition("://")[2])
    if not name or name not in {host_name(headers.get("host", "")), *(hosts or ())}:
        raise HttpProblem("wrong-origin", "The site in the Origin header is not allowed. See --allow-host.")


def host_name(host: str) -> str:
    """The name in a Host header, without its port; empty if the header is malformed."""
    match = HOST_HEADER.fullmatch(host.strip().lower())
    return match["name"] if match else ""
