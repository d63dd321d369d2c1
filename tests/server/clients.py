"""Requests to the service and to the app, and what their answers must be."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from mudy.server.app import create_app
from mudy.server.config import Config
from tests.served import PATIENCE, Served, until

TEXT = Path(__file__).parents[2].joinpath("examples", "floodplain.txt").read_text()
SHORT = TEXT[:300]
LONG = (TEXT * 12)[:40_000]  # about ten seconds for the small model
KEY = "correct-horse-battery-staple"
BEARER = {"Authorization": f"Bearer {KEY}"}
JSON = {"Content-Type": "application/json"}
PROBLEM = "application/problem+json"


def problem(answer: httpx.Response, status: int, name: str) -> dict[str, Any]:
    """The problem in an answer, which must be the one expected."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    found: dict[str, Any] = answer.json()
    assert found["type"] == f"/problems/{name}"
    assert found["status"] == status
    assert found["detail"]
    assert found["request_id"] == answer.headers["x-request-id"]
    return found


def wait_until_idle(served: Served) -> None:
    until(lambda: served.metric("mudy_waiting_requests") + served.metric("mudy_working_requests") == 0, served)


@contextmanager
def posting(served: Served, path: str, **body: Any) -> Iterator[socket.socket]:
    """A request whose answer nobody has read yet; leaving the block closes the connection."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    length = f"Content-Length: {len(content)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as connection:
        connection.sendall((head + length).encode() + content)
        yield connection


def logged(served: Served, request: str) -> list[dict[str, Any]]:
    """The log lines of a request; they are written after its answer is sent."""

    def lines() -> list[dict[str, Any]]:
        return [line for line in served.log if line.get("request_id") == request]

    until(lines, served)
    return lines()


def ask_app(method: str, path: str, config: Config | None = None, **options: Any) -> httpx.Response:
    """The answer of the application itself, whose model is never loaded."""
    return ask(create_app(config or Config()), method, path, **options)


def ask(app: FastAPI, method: str, path: str, **options: Any) -> httpx.Response:
    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return asyncio.run(request())
