"""Request bodies: read within limits on every route, and never left half read on an open connection."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mudy.server.problems import HttpProblem
from mudy.server.route_table import RouteTable

DISCARD_SECONDS = 1.0  # how long the rest of a body is read after an early answer, so that the sender can receive it


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
