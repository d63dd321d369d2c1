"""Bodies that are too large, too slow, endless, or of the wrong type."""

import asyncio
import gzip
import json
import socket
import time
from contextlib import suppress
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

from mudy.server.middleware import IncomingBody
from tests.served import PATIENCE, Served
from tests.server.clients import JSON, SHORT, problem


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_is_not_called_json_is_refused(kind: str, client: httpx.Client) -> None:
    content = json.dumps({"text": SHORT}).encode()
    problem(client.post("/v1/extract", content=content, headers={"Content-Type": kind}), 415, "wrong-type")


@pytest.mark.parametrize("path", ["/v1/extract", "/v1/read"])
def test_a_compressed_body_is_refused_with_what_is_supported(path: str, client: httpx.Client) -> None:
    kind = "application/json" if path == "/v1/extract" else "application/octet-stream"
    content = gzip.compress(json.dumps({"text": SHORT}).encode())
    answer = client.post(path, content=content, headers={"Content-Type": kind, "Content-Encoding": "gzip"})
    problem(answer, 415, "wrong-encoding")
    assert answer.headers["accept-encoding"] == "identity"


def test_a_body_called_identity_is_accepted(client: httpx.Client) -> None:
    answer = client.post("/v1/extract", json={"text": "A river."}, headers={"Content-Encoding": "identity"})
    assert answer.status_code == 200


def test_a_body_that_is_too_large_is_refused_announced_or_not(client: httpx.Client) -> None:
    large = json.dumps({"text": "a" * 200_000}).encode()
    problem(client.post("/v1/extract", content=large, headers=JSON), 413, "body-too-large")
    pieces = (large[i : i + 10_000] for i in range(0, len(large), 10_000))
    problem(client.post("/v1/extract", content=pieces, headers=JSON), 413, "body-too-large")


def test_a_very_large_body_still_gets_its_answer(client: httpx.Client) -> None:
    problem(client.post("/v1/extract", content=b"a" * 30_000_000, headers=JSON), 413, "body-too-large")


def test_a_body_that_comes_too_slowly_is_refused_and_others_are_served_meanwhile(
    served: Served, client: httpx.Client
) -> None:
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as slow:
        slow.sendall(b"POST /v1/extract HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        slow.sendall(b'Content-Length: 1000\r\n\r\n{"text": "')
        assert client.post("/v1/extract", json={"text": "A river.", "method": "yake"}).status_code == 200
        answer = b""
        while chunk := slow.recv(65536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"/problems/body-too-slow" in answer


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: loc"])
def test_who_does_not_come_to_the_end_of_a_head_is_hung_up_on(sent: bytes, served: Served) -> None:
    start = time.monotonic()  # before the service can begin to count
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as silent:
        silent.sendall(sent)
        with suppress(ConnectionResetError):
            assert silent.recv(100) == b""
        assert time.monotonic() - start > 0.5


ROUTES = [
    ("POST", "/v1/extract"),
    ("POST", "/v1/nothing"),
    ("POST", "/"),
    ("PUT", "/v1/extract"),
    ("PATCH", "/v1/service"),
    ("DELETE", "/v1/service"),
    ("GET", "/v1/methods"),
    ("GET", "/healthz"),
    ("GET", "/static/docs.js"),
    ("ODD", "/v1/extract"),
]


def answer_to_endless_body(served: Served, method: str, path: str, *headers: str) -> bytes:
    """What comes back, up to the end of the connection, while chunk after chunk is sent."""
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked", *headers, "", ""]
    answer = b""
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as connection:
        connection.sendall("\r\n".join(head).encode())
        connection.settimeout(0.01)
        with suppress(BrokenPipeError, ConnectionResetError):
            while True:
                with suppress(TimeoutError):
                    connection.sendall(b"1000\r\n" + b"a" * 4096 + b"\r\n")
                with suppress(TimeoutError):
                    received = connection.recv(65536)
                    answer += received
                    if not received:
                        break
    return answer


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_an_endless_body_is_refused_on_every_route_and_its_connection_closed(
    method: str, path: str, served: Served
) -> None:
    answer = answer_to_endless_body(served, method, path, "Content-Type: application/json")
    assert answer.startswith(b"HTTP/1.1 413 "), answer[:200]
    assert b"connection: close" in answer.lower()


def test_who_is_refused_before_the_body_is_read_is_hung_up_on_too(served: Served) -> None:
    answer = answer_to_endless_body(served, "POST", "/v1/extract", "Content-Type: text/plain")
    assert answer.startswith(b"HTTP/1.1 415 "), answer[:200]
    assert b"connection: close" in answer.lower()


def test_a_refused_request_whose_body_has_arrived_keeps_its_connection(served: Served) -> None:
    with served.client() as client:
        refused = client.post("/v1/extract", content=b"{}", headers={"Content-Type": "text/plain"})
        assert refused.status_code == 415
        assert "connection" not in refused.headers
        assert client.get("/healthz").status_code == 200


def test_a_body_that_stops_half_way_is_answered_and_hung_up_on_where_no_body_is_wanted(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as connection:
        connection.sendall(b"GET /v1/service HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\nabc")
        answer = b""
        while received := connection.recv(65536):
            answer += received
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_client_that_waits_to_be_asked_for_its_body_is_not_asked_for_what_is_thrown_away() -> None:
    received = 0

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b"a", "more_body": received < 3}

    async def discarded(*headers: tuple[bytes, bytes]) -> tuple[bool, int]:
        nonlocal received
        received = 0
        incoming = IncomingBody(Headers(raw=[(b"content-length", b"3"), *headers]), receive)
        await incoming.discard()
        return incoming.complete, received

    assert asyncio.run(discarded((b"expect", b"100-continue"))) == (False, 0)
    assert asyncio.run(discarded()) == (True, 3)
