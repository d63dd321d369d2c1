"""The MCP tools of the service, asked by the real client over HTTP."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import anyio
import httpx
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from mudy.server.app import create_app
from mudy.server.config import Config
from tests.served import Served, serving

TEXT = "River ice is thin in spring. The ice road closes, and a ferry crosses the river until the ice is back."
KEY = "k" * 20
LIMITS = ("--method", "yake", "--speed", "exact", "--max-characters", "5000", "--max-body", "20000")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("served")
    with serving(folder, *LIMITS, environment={"MUDY_API_KEY": KEY}) as served:
        yield served


def called(service: Served, name: str, arguments: dict[str, Any]) -> Any:
    async def call() -> Any:
        headers = {"Authorization": f"Bearer {KEY}"}
        async with (
            httpx.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{service.address}/mcp", http_client=http)) as client,
        ):
            if name == "tools":
                return {tool.name for tool in (await client.list_tools()).tools}
            return await client.call_tool(name, arguments)

    return anyio.run(call)


def post(service: Served, **options: Any) -> httpx.Response:
    return httpx.post(f"{service.address}/mcp", timeout=60, **options)


def test_the_tools_read_no_file_of_the_service(service: Served) -> None:
    assert called(service, "tools", {}) == {"extract_keyphrases", "explain_phrase", "list_methods"}


def test_the_tools_give_what_the_routes_give(service: Served) -> None:
    with service.client(headers={"Authorization": f"Bearer {KEY}"}) as client:
        (result,) = client.post("/v1/extract", json={"text": TEXT, "top_n": 3}).json()["results"]
    content = called(service, "extract_keyphrases", {"text": TEXT, "top_n": 3}).structured_content
    assert [(k["text"], k["score"]) for k in content["keyphrases"]] == [
        (k["text"], k["score"]) for k in result["keyphrases"]
    ]
    explained = called(service, "explain_phrase", {"text": TEXT, "phrase": "ice road"}).structured_content
    assert explained["phrase"] == "ice road"
    assert TEXT[explained["occurrences"][0]["start"] :].startswith("ice road")


def test_calls_go_through_the_queue(service: Served) -> None:
    before = service.metric("mudy_texts_total", headers={"Authorization": f"Bearer {KEY}"})
    called(service, "extract_keyphrases", {"text": TEXT})
    assert service.metric("mudy_texts_total", headers={"Authorization": f"Bearer {KEY}"}) == before + 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"text": "river " * 1000}, "at most 5,000 are allowed"),
        ({"text": TEXT, "method": "empirical"}, "There is no method 'empirical'"),
        ({"text": TEXT, "top_n": 0}, "a whole number from 1"),
        (
            {"text": TEXT, "language": "de"},
            "Unknown argument 'language'. Known: method, per_section, style, text, top_n.",
        ),
        ({"path": "/etc/hostname"}, "Unknown argument 'path'"),
    ],
)
def test_the_limits_of_requests_hold(service: Served, arguments: dict[str, Any], told: str) -> None:
    answer = called(service, "extract_keyphrases", arguments)
    assert answer.is_error
    assert told in answer.content[0].text


def test_middleware_comes_before_the_tools(service: Served) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    assert post(service, json={}).status_code == 401
    assert post(service, content=b"{}", headers=headers | {"Content-Type": "text/plain"}).status_code == 415
    assert post(service, json={"x": "y" * 30_000}, headers=headers).status_code == 413


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("http://127.0.0.1.evil.example", 403),
        ("null", 403),
        ("", 403),
        ("http://127.0.0.1:1234", 200),
        (None, 200),
    ],
)
def test_a_page_of_another_site_is_refused(service: Served, origin: str | None, status: int) -> None:
    headers = {"Authorization": f"Bearer {KEY}", "Accept": "application/json, text/event-stream"}
    answer = post(service, json=INITIALIZE, headers=headers | ({} if origin is None else {"Origin": origin}))
    assert answer.status_code == status, answer.text
    if status == 403:
        assert answer.json()["type"] == "/problems/wrong-origin"


def test_no_stream_can_be_held_open(service: Served) -> None:
    headers = {"Authorization": f"Bearer {KEY}", "Accept": "text/event-stream"}
    assert httpx.get(f"{service.address}/mcp", headers=headers, timeout=60).status_code == 405


def test_a_body_that_is_no_call_is_refused(service: Served) -> None:
    answer = post(service, json={"no": "call"}, headers={"Authorization": f"Bearer {KEY}"})
    assert 400 <= answer.status_code < 500


def test_logs_hold_no_texts(service: Served) -> None:
    called(service, "extract_keyphrases", {"text": "Xylophone quartets rehearse."})
    called(service, "extract_keyphrases", {"text": "Xylophone", "top_n": "Xylophone"})
    assert "ylophone" not in service.written


@pytest.mark.parametrize("package", [None, ModuleType("mcp")])
def test_without_the_extra_or_with_another_version_of_it_the_service_has_no_such_route(
    package: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("mcp.", "mudy.integrations.mcp", "mudy.server.mcp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", cast("Any", package))  # None: it cannot be imported
    app = create_app(Config(method="yake"))
    assert "/mcp" not in {getattr(route, "path", None) for route in app.routes}
