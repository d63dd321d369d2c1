"""Hosts, keys, headers and logs."""

import logging

import httpx
import pytest

from mudy.server.config import Config
from mudy.server.middleware import host_name
from tests.served import Served
from tests.server.clients import BEARER, JSON, KEY, SHORT, ask_app, logged, posting, problem, wait_until_idle


def test_a_name_that_is_not_ours_is_refused_since_a_page_of_others_may_have_sent_it(client: httpx.Client) -> None:
    strange = ("[::1].evil.example", "localhost:x@evil.example", "localhost:80:80", "[::1", "localhost:", "a@localhost")
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "", *strange):
        problem(client.get("/v1/service", headers={"Host": host}), 421, "wrong-host")
        problem(client.post("/v1/extract", json={"text": SHORT}, headers={"Host": host}), 421, "wrong-host")
        problem(client.get("/", headers={"Host": host}), 421, "wrong-host")
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8000"):
        assert client.get("/v1/service", headers={"Host": host}).status_code == 200
    assert client.get("/healthz", headers={"Host": "10.0.0.7"}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/static/docs.js", "/v1/service", "/nothing", "/healthz"])
def test_every_answer_has_the_security_headers(path: str, client: httpx.Client) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert headers["cache-control"] == ("no-cache" if path in ("/", "/docs", "/static/docs.js") else "no-store")
    assert not [name for name in headers if name.startswith("access-control")]
    assert "server" not in headers


@pytest.mark.parametrize("path", ["/", "/docs", "/static/docs.js", "/healthz", "/readyz", "/v1/service", "/nothing"])
def test_head_is_answered_like_get_without_the_body(path: str, client: httpx.Client) -> None:
    whole, head = client.get(path), client.head(path)
    assert head.status_code == whole.status_code
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert head.content == b""
    assert client.head("/v1/extract").status_code == 405


def test_a_request_keeps_its_id_if_that_is_harmless(served: Served, client: httpx.Client) -> None:
    kept = client.get("/v1/service", headers={"X-Request-ID": "abc_DEF-123"})
    assert kept.headers["x-request-id"] == "abc_DEF-123"
    for harmful in ("a b", '"}', "x" * 65, ""):
        made = client.get("/healthz", headers={"X-Request-ID": harmful}).headers["x-request-id"]
        assert made != harmful
        assert len(made) == 32
    assert logged(served, "abc_DEF-123")


def test_a_request_is_one_line_in_the_log(served: Served, client: httpx.Client) -> None:
    client.post("/v1/extract", json={"texts": ["A river.", "An ice road."]}, headers={"X-Request-ID": "one-line"})
    (line,) = logged(served, "one-line")
    assert line.pop("milliseconds") > 0
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "message": "request",
        "request_id": "one-line",
        "method": "POST",
        "path": "/v1/extract",
        "status": 200,
        "texts": 2,
        "characters": 20,
    }


def test_no_text_is_ever_written_down(served: Served, client: httpx.Client) -> None:
    canary = "Quixworthington"
    good = {"text": f"{canary} met {canary} at the river."}
    assert canary in client.post("/v1/extract", json=good).text  # the word is found, so it was everywhere inside
    client.post("/v1/explain", json={**good, "gold": [canary]}, headers={"Accept": "application/x-ndjson"})
    client.post("/v1/extract", json={"text": canary, "candidates": [f"{canary} " * 200]})
    for wrong in (
        {"text": [canary]},
        {canary: 1},
        {"text": "a", "method": canary},
        {"text": "a", "settings": {canary: 1}},
    ):
        assert client.post("/v1/extract", json=wrong).status_code == 422
    client.post("/v1/extract", json={**good, "settings": {"alpha": 1e11}})
    client.post("/v1/extract", content=f'{{"text": "{canary}'.encode(), headers=JSON)
    client.post("/v1/extract", content=canary.encode() * 20_000, headers=JSON)
    client.get(f"/{canary}?q={canary}", headers={"User-Agent": canary, "X-Request-ID": f"{canary} {canary}"})
    client.request(canary, f"/static/{canary}", headers={"Host": canary})
    with posting(served, "/v1/extract", text=f"{canary} " * 500):
        pass
    wait_until_idle(served)
    assert canary.lower() not in served.written.lower()


@pytest.mark.parametrize("path", ["/v1/service", "/v1/methods", "/v1/models", "/metrics", "/openapi.json", "/nothing"])
def test_a_key_is_needed_where_there_is_one(path: str, guarded: Served) -> None:
    with guarded.client() as client:
        answer = client.get(path)
        problem(answer, 401, "key-needed")
        assert answer.headers["www-authenticate"] == "Bearer"
        for name, value in (
            ("Authorization", f"Bearer {KEY}x"),
            ("Authorization", f"Basic {KEY}"),
            ("X-API-Key", "é"),
        ):
            problem(client.get(path, headers={name.encode(): value.encode()}), 401, "key-needed")
        for right in (BEARER, {"X-API-Key": KEY}, {"Authorization": f"bearer {KEY}"}):
            assert client.get(path, headers=right).status_code in (200, 404)


def test_posts_need_the_key_before_anything_is_read(guarded: Served) -> None:
    with guarded.client() as client:
        problem(client.post("/v1/extract", content=b"not even JSON"), 401, "key-needed")


def test_the_page_and_health_need_no_key_and_any_name_will_do(guarded: Served) -> None:
    with guarded.client(headers={"Host": "keyphrases.example"}) as client:
        for path in ("/", "/docs", "/static/docs.js", "/healthz", "/readyz"):
            assert client.get(path).status_code == 200


def test_the_key_is_never_written_down(guarded: Served) -> None:
    with guarded.client() as client:
        client.get("/v1/service", headers=BEARER)
        client.get("/v1/service", headers={"X-API-Key": f"{KEY}x"})
        assert KEY not in client.get("/metrics", headers=BEARER).text
    assert KEY not in guarded.written


def test_a_proxys_name_can_be_allowed() -> None:
    config = Config(hosts=frozenset({"localhost", "keyphrases.example"}))
    assert ask_app("GET", "/v1/service", config, headers={"Host": "keyphrases.example"}).status_code == 200
    problem(ask_app("GET", "/v1/service", config, headers={"Host": "other.example"}), 421, "wrong-host")


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


def test_probes_of_health_are_not_written_down_unless_something_is_wrong(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mudy.server")
    with caplog.at_level(logging.INFO, "mudy.server"):
        ask_app("GET", "/v1/service")
        assert len(caplog.records) == 1
        ask_app("GET", "/healthz")  # 500: the worker was never started
        assert [record.__dict__["fields"]["status"] for record in caplog.records] == [200, 500]


def test_probes_that_are_well_are_no_lines_in_the_log(served: Served) -> None:
    with served.client() as client:
        for _ in range(3):
            assert client.get("/healthz", headers={"X-Request-ID": "a-probe"}).status_code == 200
            assert client.get("/readyz", headers={"X-Request-ID": "a-probe"}).status_code == 200
        client.get("/v1/service", headers={"X-Request-ID": "no-probe"})
    assert logged(served, "no-probe")
    assert not [line for line in served.log if line.get("request_id") == "a-probe"]
