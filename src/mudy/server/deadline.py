"""A time limit for every route."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mudy.server.jobs import TimeLimit

MARGIN_SECONDS = 5.0  # routes with a time limit of their own answer first


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
