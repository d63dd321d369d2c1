"""Requests that are wrong at the edges: endless bodies, odd JSON, and what is said about them."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from mudy.server.app import create_app
from mudy.server.body_limits import Incoming
from mudy.server.config import Config
from mudy.server.middleware import host_name
from tests.served import PATIENCE, Served, save_small_model, serving, until

JSON = {"Content-Type": "application/json"}
LIMITS = ("--max-body=100000", "--body-timeout=2")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    model = save_small_model(tmp_path_factory.mktemp("model"))
    with serving(tmp_path_factory.mktemp("served"), "--model", model, *LIMITS) as found:
        yield found


def asked(method: str, path: str, config: Config | None = None, **options: Any) -> httpx.Response:
    """One request to the application itself, whose model is never loaded."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(config or Config()), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return asyncio.run(ask())


# -- Endless bodies ---------------------------------------------------------------------------------------------------

ROUTES = [
    ("POST", "/v1/extract"),
    ("POST", "/v1/nothing"),
    ("POST", "/"),
    ("PUT", "/v1/extract"),
    ("PATCH", "/v1/service"),
    ("DELETE", "/v1/service"),
    ("GET", "/v1/methods"),
    ("GET", "/healthz"),
    ("GET", "/static/view.js"),
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


def test_a_route_that_is_added_has_the_limits_without_being_listed() -> None:
    app = create_app(Config(max_body=1000))

    @app.post("/v1/later")
    async def later() -> None: ...

    async def ask(content: bytes) -> int:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post("/v1/later", content=content, headers=JSON)).status_code

    assert asyncio.run(ask(b"a" * 1001)) == 413
    assert asyncio.run(ask(b"a" * 1000)) == 200


def test_a_client_that_waits_to_be_asked_for_its_body_is_not_asked_for_what_is_thrown_away() -> None:
    received = 0

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b"a", "more_body": received < 3}

    async def discarded(*headers: tuple[bytes, bytes]) -> tuple[bool, int]:
        nonlocal received
        received = 0
        incoming = Incoming({"type": "http", "headers": [(b"content-length", b"3"), *headers]}, receive)
        await incoming.discard()
        return incoming.complete, received

    assert asyncio.run(discarded((b"expect", b"100-continue"))) == (False, 0)
    assert asyncio.run(discarded()) == (True, 3)


# -- What is said -----------------------------------------------------------------------------------------------------

NOT_JSON = {
    b"{bad": "body: not JSON: expecting property name enclosed in double quotes at line 1, column 2",
    b'{"text": "a",\n "top_n": }': "body: not JSON: expecting value at line 2, column 11",
    b'{"text": "a"} b': "body: not JSON: extra data at line 1, column 15",
    b'{"text": "a\n"}': "body: not JSON: invalid control character at line 1, column 12",
}


@pytest.mark.parametrize("content", NOT_JSON)
def test_what_is_not_json_is_told_with_its_place(content: bytes) -> None:
    found = asked("POST", "/v1/extract", content=content, headers=JSON).json()
    assert found["detail"] == NOT_JSON[content]
    assert found["errors"] == [{"where": "body", "message": NOT_JSON[content].removeprefix("body: ")}]


@pytest.mark.parametrize(
    ("path", "content", "detail"),
    [
        ("/v1/extract", b"{}", "text: is missing; send text, or texts for several"),
        ("/v1/extract", b'{"txt": "a"}', "text: is missing; send text, or texts for several"),
        (
            "/v1/extract",
            b'{"text": "a", "texts": ["b"]}',
            "body: both text and texts are given, but only one is needed",
        ),
        ("/v1/explain", b"{}", "text: is missing"),
        ("/v1/extract", b"", "body: is missing"),
        ("/v1/extract", b"[]", "body: a JSON object is needed"),
    ],
)
def test_what_is_missing_is_named(path: str, content: bytes, detail: str) -> None:
    assert asked("POST", path, content=content, headers=JSON).json()["detail"] == detail


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:8000", "localhost"),
        ("127.0.0.1:1", "127.0.0.1"),
        ("[::1]:8000", "[::1]"),
        ("[::1]", "[::1]"),
        ("[::1].evil.com", ""),
        ("[::1]evil.com", ""),
        ("localhost:x@evil", ""),
        ("localhost:80@evil", ""),
        ("user@localhost", ""),
        ("localhost:", ""),
        ("localhost:123456", ""),
        ("localhost/evil", ""),
        ("", ""),
    ],
)
def test_a_host_header_is_a_name_and_perhaps_a_port_and_nothing_else(host: str, name: str) -> None:
    assert host_name(host) == name


# -- What is written down ---------------------------------------------------------------------------------------------


def test_probes_of_health_are_not_written_down_unless_something_is_wrong(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mudy.server")
    with caplog.at_level(logging.INFO, "mudy.server"):
        asked("GET", "/v1/service")
        assert len(caplog.records) == 1
        asked("GET", "/healthz")  # 500: the worker was never started
        assert [record.__dict__["told"]["status"] for record in caplog.records] == [200, 500]


def test_probes_that_are_well_are_no_lines_in_the_log(served: Served) -> None:
    with served.client() as client:
        for _ in range(3):
            assert client.get("/healthz", headers={"X-Request-ID": "a-probe"}).status_code == 200
            assert client.get("/readyz", headers={"X-Request-ID": "a-probe"}).status_code == 200
        client.get("/v1/service", headers={"X-Request-ID": "no-probe"})
    written = _lines(served, "no-probe")
    assert written
    assert not [line for line in served.log if line.get("request_id") == "a-probe"]


def _lines(served: Served, request: str) -> list[dict[str, Any]]:
    until(lambda: [line for line in served.log if line.get("request_id") == request], served)
    return [line for line in served.log if line.get("request_id") == request]


# -- The description --------------------------------------------------------------------------------------------------


def test_the_description_of_the_api_needs_nothing_from_other_sites() -> None:
    page = asked("GET", "/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert " style=" not in page.text  # the policy allows no styles or scripts in the page itself
    assert "<script>" not in page.text
