"""What every request passes before it reaches a route, as plain ASGI: each guard does one thing, and none reads a text.

From the outside in: `Observed` gives a request its id, writes its line in the log, counts it, puts the security headers
on its answer, and closes the connection where the body was not read to its end; `Admitted` looks at Host and key;
`bodies.Bodies` takes the body in, within limits of size and time.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mudy.server import logs
from mudy.server.body_limits import Incoming
from mudy.server.metrics import Metrics
from mudy.server.problems import CLIENT_GONE, Problem, problem_of

REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
HEALTH = frozenset({"/healthz", "/readyz"})
PAGES = frozenset({"/", "/docs"})
STATIC = "/static/"
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:@/?#\s]+)(?::[0-9]{1,5})?")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@dataclass
class Seen:
    """What is known of a request; it travels in the scope, and routes add to it."""

    request_id: str
    texts: int = 0
    characters: int = 0

    @classmethod
    def of(cls, scope: Scope) -> Seen:
        found: Seen = scope["mudy"]
        return found


class Observed:
    """The outermost guard; whatever is raised inside becomes an answer here."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Iterable[str]) -> None:
        self.app, self.metrics, self.routes = app, metrics, frozenset(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        seen, start, status = Seen(_request_id(scope)), perf_counter(), 0
        scope["mudy"] = seen
        incoming = Incoming(scope, receive)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                _add_headers(headers, seen, scope["path"])
                await incoming.discard()
                if not incoming.complete:
                    headers["Connection"] = "close"
            await send(message)

        try:
            await self.app(scope, incoming.receive, sending)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                logs.fault(error, seen.request_id)
            if not status:
                await problem.response(seen.request_id)(scope, incoming.receive, sending)
        except asyncio.CancelledError:
            status = status or CLIENT_GONE
            raise
        finally:
            self._record(scope, seen, status, perf_counter() - start)

    def _record(self, scope: Scope, seen: Seen, status: int, seconds: float) -> None:
        route = self._template(scope["path"])
        self.metrics.requests.labels(route, status).inc()
        self.metrics.latency.labels(route).observe(seconds)
        told = {
            "request_id": seen.request_id,
            "method": scope["method"] if scope["method"] in KNOWN_METHODS else "other",
            "path": route,
            "status": status,
            "milliseconds": round(1000 * seconds, 1),
            "texts": seen.texts,
            "characters": seen.characters,
        }
        probe = scope["path"] in HEALTH and status < 500  # asked every few seconds
        logs.LOGGER.log(logging.DEBUG if probe else logging.INFO, "request", extra={"told": told})

    def _template(self, path: str) -> str:
        """The route and not the path: what a client writes there could be a text."""
        return path if path in self.routes else f"{STATIC}{{file}}" if path.startswith(STATIC) else "other"


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    return given if REQUEST_ID.fullmatch(given) else uuid4().hex


def _add_headers(headers: MutableHeaders, seen: Seen, path: str) -> None:
    headers.update({**SECURITY, "X-Request-ID": seen.request_id})
    # Files of the page have an ETag: a browser asks each time, and gets them only if they changed.
    headers.setdefault("Cache-Control", "no-cache" if _is_page(path) and "etag" in headers else "no-store")


def _is_page(path: str) -> bool:
    return path in PAGES or path.startswith(STATIC)


class Admitted:
    """Only requests that mean this service, and that have its key where it has one.

    A page of another site can make a browser call a service on loopback under a name of its own (DNS rebinding), so the
    name is looked at. The page itself and what says that we live are open: they hold no data.
    """

    def __init__(self, app: ASGIApp, key: str | None, hosts: frozenset[str] | None) -> None:
        self.app, self.key, self.hosts = app, key.encode() if key else None, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in HEALTH:
            headers = Headers(scope=scope)
            self._check_host(headers)
            if not _is_page(scope["path"]):
                self._check_key(headers)
        await self.app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        if self.hosts is not None and host_name(headers.get("host", "")) not in self.hosts:
            raise Problem("wrong-host", "The Host header names a host that is not served here. See --allow-host.")

    def _check_key(self, headers: Headers) -> None:
        if self.key is None:
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        if not hmac.compare_digest(given.encode("latin-1"), self.key):
            detail = "Send the key as 'Authorization: Bearer KEY'." if not given else "The key is wrong."
            raise Problem("key-needed", detail, headers={"WWW-Authenticate": "Bearer"})


def host_name(host: str) -> str:
    """The name in a Host header, without its port; nothing if that is no name and port."""
    found = HOST.fullmatch(host.strip().lower())
    return found["name"] if found else ""
