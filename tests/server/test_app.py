"""The application without a process."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI, Request
from starlette.responses import StreamingResponse

from mudy.server import middleware, response_schemas
from mudy.server.app import create_app
from mudy.server.config import Config
from tests.server.clients import BEARER, JSON, KEY, ask, ask_app, problem


def test_a_fault_of_ours_is_told_without_its_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Config) -> None:
        raise ValueError("secret words")

    monkeypatch.setattr(response_schemas, "service_info", broken)
    answer = ask_app("GET", "/v1/service")
    problem(answer, 500, "fault")
    told = [record.__dict__["fields"] for record in caplog.records if record.levelname == "ERROR"]
    assert told[0]["request_id"] == answer.json()["request_id"]
    assert told[0]["error"] == "ValueError"
    assert "secret" not in answer.text + json.dumps(told)


def test_the_description_of_the_api_needs_nothing_from_other_sites() -> None:
    page = ask_app("GET", "/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert " style=" not in page.text  # the policy allows no styles or scripts in the page itself
    assert "<script>" not in page.text


# -- Safe by default --------------------------------------------------------------------------------------------------


def app_with_new_route(**limits: Any) -> FastAPI:
    """An app to which a route is added as plainly as possible, after all else is set up."""
    app = create_app(Config(max_body=1000, **limits))

    @app.post("/v1/later/{number}")
    async def later(request: Request, number: int) -> int:
        return number + len(await request.body())

    return app


def test_a_new_route_is_answered() -> None:
    answer = ask(app_with_new_route(), "POST", "/v1/later/7", content=b"abc", headers=JSON)
    assert (answer.status_code, answer.json()) == (200, 10)


def test_a_new_route_has_a_limit_for_bodies() -> None:
    app = app_with_new_route()
    assert ask(app, "POST", "/v1/later/7", content=b"a" * 1000, headers=JSON).status_code == 200
    problem(ask(app, "POST", "/v1/later/7", content=b"a" * 1001, headers=JSON), 413, "body-too-large")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_new_route_accepts_json_only(kind: str) -> None:
    answer = ask(app_with_new_route(), "POST", "/v1/later/7", content=b"abc", headers={"Content-Type": kind})
    assert problem(answer, 415, "wrong-type")["title"] == "Unsupported Content-Type"


def test_a_new_route_needs_the_key_and_the_right_host() -> None:
    app = app_with_new_route(api_key=KEY, hosts=frozenset({"localhost"}))
    problem(ask(app, "POST", "/v1/later/7", content=b"abc", headers=JSON), 401, "key-needed")
    problem(ask(app, "POST", "/v1/later/7", headers={**JSON, **BEARER, "Host": "evil.example"}), 421, "wrong-host")
    assert ask(app, "POST", "/v1/later/7", content=b"abc", headers={**JSON, **BEARER}).status_code == 200


def test_a_new_route_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MARGIN_SECONDS", 0.0)
    app = create_app(Config(timeout=0.05))
    cancelled = False

    @app.post("/v1/endless")
    async def endless() -> None:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise

    answer = ask(app, "POST", "/v1/endless", headers=JSON)
    assert problem(answer, 503, "time-limit")["title"] == "Request timed out"
    assert cancelled


def test_an_answer_that_has_begun_in_time_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MARGIN_SECONDS", 0.0)
    app = create_app(Config(timeout=0.05))

    async def lines() -> AsyncIterator[bytes]:
        yield b"first"
        await asyncio.sleep(0.2)
        yield b" last"

    @app.post("/v1/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(lines())

    assert ask(app, "POST", "/v1/stream", headers=JSON).text == "first last"


def test_a_new_route_is_in_the_log_without_what_a_client_wrote_into_its_path(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mudy.server"):
        ask(app_with_new_route(), "POST", "/v1/later/secret", headers=JSON)
    assert [record.__dict__["fields"]["path"] for record in caplog.records] == ["/v1/later/{number}"]


def test_a_new_route_is_in_the_document() -> None:
    app = create_app(Config())
    assert "/v1/later" not in app.openapi()["paths"]

    @app.post("/v1/later")
    async def later() -> None: ...

    document = app.openapi()
    assert "/v1/later" in document["paths"]
    assert "ProblemDetails" in document["components"]["schemas"]


@pytest.mark.parametrize(
    ("method", "path", "status", "title"),
    [
        ("GET", "/v1/nothing", 404, "Not found"),
        ("POST", "/v1/nothing", 404, "Not found"),
        ("GET", "/v1/extract", 405, "Method not allowed"),
        ("POST", "/v1/extract", 415, "Unsupported Content-Type"),
    ],
)
def test_problems_have_their_usual_names(method: str, path: str, status: int, title: str) -> None:
    answer = ask_app(method, path)
    assert (answer.status_code, answer.json()["title"]) == (status, title)
