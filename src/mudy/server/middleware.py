"""Middleware that every request passes before its route, as plain ASGI. None of it reads a text.

From the outside in: `RequestMiddleware` gives a request its id, logs and counts it, adds the security headers to its
answer, and closes the connection if the body was not read to its end; `AccessMiddleware` checks Host and key;
`BodyLimitsMiddleware` reads the body within limits; `DeadlineMiddleware` limits the time; `HeadMiddleware` routes HEAD.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from uuid import uuid4

from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mudy.server.problems import CLIENT_GONE, HttpProblem, problem_of
from mudy.server.queue import TimeLimit
from mudy.server.telemetry import LOGGER, Metrics, log_fault

JSON = "application/json"
OCTETS = "application/octet-stream"
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
DISCARD_SECONDS = 1.0  # how long the rest of a body is read after an early answer, so that the sender can receive it
MARGIN_SECONDS = 5.0  # routes with a time limit of their own answer first
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
PAGE_PATHS = frozenset({"/", "/docs"})
STATIC_PREFIX = "/static/"
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
    def of(cls, scope: Scope) -> RequestInfo:
        info: RequestInfo = scope["mudy"]
        return info


class RouteTable:
    """The routes of the app, looked up when a request comes: one that is added later needs no entry anywhere."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes = routes  # the app's own list, which grows with it

    def body_type(self, scope: Scope) -> str | None:
        """The Content-Type that a request's body must have: JSON, unless its route declares another to OpenAPI.

        None for methods without a body, and where no route reads it.
        """
        if scope["method"] not in BODY_METHODS:
            return None
        route = next((route for route in self._routes if route.matches(scope)[0] is Match.FULL), None)
        if route is None:
            return None
        declared = (route.openapi_extra or {}).get("requestBody", {}) if isinstance(route, APIRoute) else {}
        return str(next(iter(declared.get("content", {JSON: None}))))

    def template(self, scope: Scope) -> str:
        """The path of the route, not of the request, which might hold a text."""
        for route in self._routes:
            if route.matches(scope)[0] is not Match.NONE:
                if isinstance(route, Mount):
                    return f"{route.path}/{{file}}"
                return route.path if isinstance(route, Route) else "other"
        return "other"


class IncomingBody:
    """The body of a request while it is received."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
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
    """The outermost middleware: whatever is raised inside becomes an answer here."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: RouteTable) -> None:
        self.app, self.metrics, self.routes = app, metrics, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        info, start, status = RequestInfo(_request_id(scope)), perf_counter(), 0
        scope["mudy"] = info
        incoming = IncomingBody(scope, receive)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                _add_headers(headers, info, scope["path"])
                await incoming.discard()
                if not incoming.complete:
                    headers["Connection"] = "close"
            await send(message)

        try:
            await self.app(scope, incoming.receive, send_with_headers)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log_fault(error, info.request_id)
            if not status:
                await problem.response(info.request_id)(scope, incoming.receive, send_with_headers)
        except asyncio.CancelledError:
            status = status or CLIENT_GONE
            raise
        finally:
            self._record(scope, info, status, perf_counter() - start)

    def _record(self, scope: Scope, info: RequestInfo, status: int, seconds: float) -> None:
        route = self.routes.template(scope)
        self.metrics.requests.labels(route, status).inc()
        self.metrics.latency.labels(route).observe(seconds)
        fields = {
            "request_id": info.request_id,
            "method": scope["method"] if scope["method"] in KNOWN_METHODS else "other",
            "path": route,
            "status": status,
            "milliseconds": round(1000 * seconds, 1),
            "texts": info.texts,
            "characters": info.characters,
        }
        probe = scope["path"] in HEALTH_PATHS and status < 500  # requested every few seconds
        LOGGER.log(logging.DEBUG if probe else logging.INFO, "request", extra={"fields": fields})


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    return given if REQUEST_ID.fullmatch(given) else uuid4().hex


def _add_headers(headers: MutableHeaders, info: RequestInfo, path: str) -> None:
    headers.update({**SECURITY_HEADERS, "X-Request-ID": info.request_id})
    # Files of the page have an ETag: a browser asks each time, and receives them only if they changed.
    headers.setdefault("Cache-Control", "no-cache" if _is_page(path) and "etag" in headers else "no-store")


def _is_page(path: str) -> bool:
    return path in PAGE_PATHS or path.startswith(STATIC_PREFIX)


class AccessMiddleware:
    """Admits only requests for this service, with its key if it has one.

    A page of another site can make a browser call a service on loopback under a name of its own (DNS rebinding), so the
    Host header is checked. The page itself and the health checks need no key: they hold no data.
    """

    def __init__(self, app: ASGIApp, key: str | None, hosts: frozenset[str] | None) -> None:
        self.app, self.key, self.hosts = app, key.encode() if key else None, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in HEALTH_PATHS:
            headers = Headers(scope=scope)
            self._check_host(headers)
            if not _is_page(scope["path"]):
                self._check_key(headers)
        await self.app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        if self.hosts is not None and host_name(headers.get("host", "")) not in self.hosts:
            raise HttpProblem("wrong-host", "The host in the Host header is not allowed. See --allow-host.")

    def _check_key(self, headers: Headers) -> None:
        if self.key is None:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        if not hmac.compare_digest(given.encode("latin-1"), self.key):
            detail = "Send the key as 'Authorization: Bearer KEY'." if not given else "The key is wrong."
            raise HttpProblem("key-needed", detail, headers={"WWW-Authenticate": "Bearer"})


class BodyLimitsMiddleware:
    """Reads the body of every request before its route: not too large, not too slow, of the right Content-Type,
    and not compressed.

    The Content-Type also keeps pages of other sites from posting: for these types browsers first ask for permission,
    which is never given.
    """

    def __init__(self, app: ASGIApp, routes: RouteTable, max_bytes: int, seconds: float) -> None:
        self.app, self.routes, self.max_bytes, self.seconds = app, routes, max_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        required = self.routes.body_type(scope)
        if required and headers.get("content-type", "").partition(";")[0].strip().lower() != required:
            raise HttpProblem("wrong-type", f"Send the body with 'Content-Type: {required}'.")
        if required and headers.get("content-encoding", "identity").strip().lower() != "identity":
            detail = "Send the body as it is, without Content-Encoding: compressed bodies are not supported."
            raise HttpProblem("wrong-encoding", detail, headers={"Accept-Encoding": "identity"})
        body = await self._body(headers, receive)
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_body_first() -> Message:
            return messages.pop() if messages else await receive()

        await self.app(scope, receive_body_first, send)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > self.max_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.seconds):
                return await self._received(receive)
        except TimeoutError:
            raise HttpProblem("body-too-slow", f"The body did not arrive within {self.seconds:g} seconds.") from None

    async def _received(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HttpProblem("client-gone", "The client disconnected before its request was complete.")
            body += message.get("body", b"")
            if len(body) > self.max_bytes:
                raise self._too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> HttpProblem:
        return HttpProblem("body-too-large", f"The body is larger than the allowed {self.max_bytes:,} bytes.")


class DeadlineMiddleware:
    """Cancels a route that has not begun to answer within `seconds` and a margin; the answer is then 503.

    The queues have the same limit without the margin, know why they end, and can say so in the middle of a stream. This
    one holds for routes that use neither. It does not limit how long a client takes to receive an answer.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app, self.seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_in_time(message: Message) -> None:
            if message["type"] == "http.response.start":
                limit.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(self.seconds + MARGIN_SECONDS) as limit:
                await self.app(scope, receive, send_in_time)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeLimit from None


class HeadMiddleware:
    """Routes HEAD like GET; the server leaves out the body (RFC 9110, 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == "http" and scope["method"] == "HEAD"
        await self.app({**scope, "method": "GET"} if is_head else scope, receive, send)


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
