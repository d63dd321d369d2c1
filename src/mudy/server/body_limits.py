"""Bodies of requests: taken in within limits, whatever the route, and never left half read on an open connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mudy.server.problems import Problem

DISCARDED_SECONDS = 1.0  # for how long the rest of a body is read after an early answer, so that its sender can read it


class Incoming:
    """The body of a request on its way in."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        self._receive = receive
        self._waits = "expect" in headers  # the client sends its body once it is asked for it
        self.complete = "transfer-encoding" not in headers and headers.get("content-length", "0").strip("0") == ""

    async def receive(self) -> Message:
        self._waits = False
        message = await self._receive()
        if not message.get("more_body", False):  # the last piece, or the client is gone
            self.complete = True
        return message

    async def discard(self) -> None:
        """Read on for a moment: who is still sending when we hang up would see a broken pipe instead of our answer."""
        if self._waits:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(DISCARDED_SECONDS):
                while not self.complete:
                    await self.receive()


class Bodies:
    """Takes in the body of any request before a route sees it: not too large, not too slow, of the type asked for.

    `types` says what the body of a post must be called, by path. It also keeps pages of other sites from posting: for
    these types browsers ask us first, and we never agree.
    """

    def __init__(self, app: ASGIApp, types: Mapping[str, str], most: int, seconds: float) -> None:
        self.app, self.types, self.most, self.seconds = app, types, most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        needed = self.types.get(scope["path"]) if scope["method"] == "POST" else None
        if needed and headers.get("content-type", "").partition(";")[0].strip().lower() != needed:
            raise Problem("wrong-type", f"Send the body with 'Content-Type: {needed}'.")
        first: list[Message] = [
            {"type": "http.request", "body": await self._body(headers, receive), "more_body": False}
        ]

        async def receiving() -> Message:
            return first.pop() if first else await receive()

        await self.app(scope, receiving, send)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > self.most:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.seconds):
                return await self._received(receive)
        except TimeoutError:
            raise Problem("body-too-slow", f"The body did not arrive within {self.seconds:g} seconds.") from None

    async def _received(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem("client-gone", "The client went away before its request was there.")
            body += message.get("body", b"")
            if len(body) > self.most:
                raise self._too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> Problem:
        return Problem("body-too-large", f"The body is larger than the {self.most:,} bytes that are allowed.")
