"""The service as its clients meet it: a real process, real sockets."""

import asyncio
import json
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from fpdf import FPDF

from mudy import Extractor, readers
from mudy.cli.main import cli
from mudy.methods import METHODS
from mudy.server import descriptions
from mudy.server.app import create_app
from mudy.server.config import Config
from tests.served import PATIENCE, Served, alike, save_small_encoder, save_small_model, serving, until

TEXT = Path(__file__).parents[1].joinpath("examples", "floodplain.txt").read_text()
SHORT = TEXT[:300]
LONG = (TEXT * 12)[:40_000]  # about ten seconds for the small model
KEY = "correct-horse-battery-staple"
BEARER = {"Authorization": f"Bearer {KEY}"}
JSON = {"Content-Type": "application/json"}
PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def served(model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service for most of these tests; its limits are low so that they can be met."""
    encoder = save_small_encoder(tmp_path_factory.mktemp("encoder"))
    limits = ("--queue=2", "--max-body=100000", "--max-characters=50000", "--max-texts=5", "--body-timeout=2")
    patience = "--grace=250"  # to finish what is under way, however slow the machine is
    with serving(tmp_path_factory.mktemp("served"), "--model", model, "--encoder", encoder, patience, *limits) as found:
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as found:
        yield found


@pytest.fixture(scope="module")
def guarded(model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with a key, that ends soon when it is told to."""
    folder, secret = tmp_path_factory.mktemp("guarded"), {"MUDY_API_KEY": KEY}
    with serving(folder, "--model", model, "--grace", "0.3", environment=secret) as found:
        yield found


@pytest.fixture(scope="module")
def library(model: str) -> Extractor:
    return Extractor(model=model, speed="fast")


def problem(answer: httpx.Response, status: int, name: str) -> dict[str, Any]:
    """The problem that an answer tells, which must be the one expected."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    found: dict[str, Any] = answer.json()
    assert found["type"] == f"/problems/{name}"
    assert found["status"] == status
    assert found["detail"]
    assert found["request_id"] == answer.headers["x-request-id"]
    return found


def idle(served: Served) -> None:
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


# -- Answers ----------------------------------------------------------------------------------------------------------


def test_one_text_is_answered_as_by_the_library(client: httpx.Client, library: Extractor) -> None:
    answer = client.post("/v1/extract", json={"text": SHORT, "top_n": 4})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert alike(answer.json(), {"results": [library.extract(SHORT, 4).to_dict()]})


def test_many_texts_are_answered_in_order(client: httpx.Client, library: Extractor) -> None:
    texts = [SHORT, "", TEXT[300:500], "A radar map."]
    answer = client.post("/v1/extract", json={"texts": texts, "method": "promptrank", "settings": {"alpha": 0.4}})
    maker = library.using("promptrank", alpha=0.4)
    assert alike(answer.json(), {"results": [maker.extract(text).to_dict() for text in texts]})


def test_options_reach_the_library(client: httpx.Client, library: Extractor) -> None:
    options: dict[str, Any] = {
        "top_n": 0.05,
        "candidates": ["river Esk", "flood", "no such phrase"],
        "stop_phrases": ["flood"],
        "max_candidate_words": 2,
        "merge": False,
        "diversity": 0.5,
    }
    answer = client.post("/v1/extract", json={"text": SHORT, "method": "yake", **options})
    expected = library.using("yake").extract(SHORT, **options).to_dict()
    assert alike(answer.json(), {"results": [expected]})
    assert expected["not_found"] == ["no such phrase"]


@pytest.mark.parametrize("method", [name for name in METHODS if name != "empirical"])
def test_every_method_is_served(method: str, client: httpx.Client) -> None:
    answer = client.post("/v1/extract", json={"text": SHORT, "method": method})
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["results"]
    assert found["method"] == method
    best = found["keyphrases"][0]
    assert SHORT[best["occurrences"][0]["start"] : best["occurrences"][0]["end"]].split() == best["text"].split()


def test_an_explanation_is_that_of_the_library(client: httpx.Client, library: Extractor) -> None:
    asked = {"text": SHORT, "methods": ["promptrank", "mudy"], "gold": ["river", "absent phrase"]}
    answer = client.post("/v1/explain", json=asked)
    expected = library.explain(SHORT, ["promptrank", "mudy"], gold=["river", "absent phrase"]).to_dict()
    found = answer.json()
    for method in (*found["methods"], *expected["methods"]):
        assert method.pop("seconds") > 0
    assert alike(found, expected)
    assert [phrase["places"] == [] for phrase in found["gold"]] == [False, True]


def test_settings_of_an_explanation_are_by_method(client: httpx.Client) -> None:
    asked = {"text": SHORT, "methods": ["mudy", "promptrank"], "settings": {"mudy": {"kappa": 0.35}}}
    mudy, promptrank = client.post("/v1/explain", json=asked).json()["methods"]
    assert mudy["settings"]["kappa"] == 0.35
    assert "lambda_" in mudy["free"]
    assert promptrank["settings"]["alpha"] == 0.6


def test_progress_comes_as_lines_and_ends_with_the_answer(client: httpx.Client) -> None:
    asked = {"text": LONG[:4000], "methods": ["mudy"]}
    with client.stream("POST", "/v1/explain", json=asked, headers={"Accept": "application/x-ndjson"}) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines = [json.loads(line) for line in answer.iter_lines()]
    assert {line["state"] for line in lines[:-1]} <= {"waiting", "working"}
    elapsed = [line["elapsed"] for line in lines[:-1] if line["state"] == "working"]
    assert elapsed == sorted(elapsed)
    assert lines[-1]["state"] == "done"
    plain = client.post("/v1/explain", json=asked).json()
    found = lines[-1]["explanation"]
    for method in (*plain["methods"], *found["methods"]):
        method.pop("seconds")
    assert alike(found, plain)


def test_who_waits_is_told_how_many_are_ahead(served: Served, client: httpx.Client) -> None:
    with posting(served, "/v1/extract", text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
        accept = {"Accept": "application/x-ndjson"}
        with client.stream("POST", "/v1/explain", json={"text": LONG}, headers=accept) as answer:
            first = json.loads(next(answer.iter_lines()))
    assert (first["state"], first["ahead"]) == ("waiting", 1)
    idle(served)


def test_a_failure_is_the_last_line_of_a_stream(client: httpx.Client) -> None:
    asked = {"text": SHORT, "settings": {"mudy": {"sigma": -1}}}
    answer = client.post("/v1/explain", json=asked, headers={"Accept": "application/x-ndjson"})
    last = json.loads(answer.text.splitlines()[-1])
    assert last["state"] == "failed"
    assert last["problem"]["status"] == 422
    assert "sigma" in last["problem"]["detail"]


def test_what_is_served_can_be_asked(client: httpx.Client, model: str) -> None:
    service = client.get("/v1/service").json()
    assert service["model"] == model
    assert (service["speed"], service["default_method"]) == ("fast", "mudy")
    assert service["limits"] == {"body_bytes": 100_000, "characters": 50_000, "texts": 5, "seconds": 300}
    methods = {method["name"]: method for method in client.get("/v1/methods").json()["methods"]}
    assert list(methods) == list(METHODS)
    assert methods["mudy"]["asks"] == "backbone"
    assert methods["yake"]["asks"] is None
    assert [name for name, method in methods.items() if not method["available"]] == ["empirical"]
    models = {each["name"]: each for each in client.get("/v1/models").json()["models"]}
    assert models[model]["loaded"]
    assert not models["smollm2-135m"]["loaded"]


def test_health_readiness_and_figures(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    figures = client.get("/metrics").text
    for name in ("requests_total", "request_seconds_bucket", "waiting_requests", "batch_texts_bucket", "model_info"):
        assert f"mudy_{name}" in figures


def test_the_page_is_served_with_a_tag_that_saves_sending_it_again(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    again = client.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    script = client.get("/static/view.js")
    assert script.headers["content-type"].startswith("text/javascript")
    for outside in ("/static/../server/app.py", "/static/%2e%2e/server/app.py", "/static/nothing.js"):
        problem(client.get(outside), 404, "not-found")


# -- Refusals ---------------------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "text"),
    "misspelt": ({"txt": SHORT}, "text"),
    "both": ({"text": SHORT, "texts": [SHORT]}, "body"),
    "no texts": ({"texts": []}, "texts"),
    "null": ({"text": None}, "text"),
    "a number": ({"text": 5}, "text"),
    "another field": ({"text": SHORT, "langauge": "en"}, "langauge"),
    "text for number": ({"text": SHORT, "top_n": "10"}, "top_n"),
    "true for a number": ({"text": SHORT, "top_n": True}, "top_n"),
    "none at all": ({"text": SHORT, "top_n": 0}, "top_n"),
    "one for true": ({"text": SHORT, "merge": 1}, "merge"),
    "too diverse": ({"text": SHORT, "diversity": 2}, "diversity"),
    "unknown method": ({"text": SHORT, "method": "muddy"}, "method"),
    "not available": ({"text": SHORT, "method": "empirical"}, "method"),
    "unknown setting": ({"text": SHORT, "settings": {"kapa": 1}}, "settings"),
    "a model for a setting": ({"text": SHORT, "settings": {"backbone": 1}}, "settings"),
    "text for setting": ({"text": SHORT, "settings": {"kappa": "1"}}, "settings.kappa"),
    "list for setting": ({"text": SHORT, "settings": {"kappa": [1]}}, "settings.kappa"),
    "wrong choice": ({"text": SHORT, "settings": {"attention": "H"}}, "settings.attention"),
    "deep list": ({"text": SHORT, "settings": {"sam_layers": [[1]]}}, "settings.sam_layers"),
    "no such layer": ({"text": SHORT, "settings": {"sam_layers": [99]}}, "settings"),
    "out of range": ({"text": SHORT, "settings": {"sigma": 0}}, "settings"),
    "all memory": ({"text": SHORT, "method": "textrank", "settings": {"window": 10**9}}, "settings.window"),
    "overflow": ({"text": SHORT, "settings": {"alpha": 1e11}}, "settings"),
    "a number and a half": ({"text": SHORT, "top_n": 1.5}, "top_n"),
    "blank candidate": ({"text": SHORT, "candidates": [" "]}, "candidates.0"),
    "blank to us": ({"text": SHORT, "candidates": ["ice", "\x1c"]}, "candidates.1"),
    "too many texts": ({"texts": ["a"] * 6}, "texts"),
    "too long": ({"texts": ["a", "b" * 50_001]}, "texts.1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_valid_is_named(name: str, client: httpx.Client) -> None:
    body, where = WRONG[name]
    answer = client.post("/v1/extract", json=body)
    found = problem(answer, 422, answer.json()["type"].rpartition("/")[2])
    assert where in [error["where"] for error in found["errors"]], found


def test_what_is_not_valid_in_an_explanation_is_named(client: httpx.Client) -> None:
    twice = client.post("/v1/explain", json={"text": SHORT, "methods": ["mudy", "mudy"]})
    assert "only once" in problem(twice, 422, "not-valid")["detail"]
    others = client.post("/v1/explain", json={"text": SHORT, "methods": ["yake"], "settings": {"mudy": {}}})
    assert "'mudy'" in problem(others, 422, "not-valid")["detail"]
    wrong = client.post("/v1/explain", json={"text": SHORT, "settings": {"mudy": {"kappa": "x"}}})
    assert problem(wrong, 422, "not-valid")["errors"][0]["where"] == "settings.mudy.kappa"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'"text"',
        b"\xff\xfe",
        b"[" * 50_000,
        b'{"text": NaN}',
        b'{"text": "a", "top_n": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_not_json_is_refused(content: bytes, client: httpx.Client) -> None:
    problem(client.post("/v1/extract", content=content, headers=JSON), 422, "not-valid")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_numbers_that_are_none_are_refused(number: str, client: httpx.Client) -> None:
    for body in (f'{{"text": "a", "diversity": {number}}}', f'{{"text": "a", "settings": {{"kappa": {number}}}}}'):
        problem(client.post("/v1/extract", content=body, headers=JSON), 422, "not-valid")


@pytest.mark.parametrize("method", ["mudy", "yake"])
@pytest.mark.parametrize("odd", [r"\ud800", r"\u0000", r"\u200b\u202e", r"\ufeff", r"\ud83d\ude00", r"\u0085\u2028"])
def test_odd_characters_are_answered(odd: str, method: str, client: httpx.Client) -> None:
    body = f'{{"text": "An ice{odd} road {odd} and a river map.", "method": "{method}", "top_n": null}}'
    answer = client.post("/v1/extract", content=body, headers=JSON)
    assert answer.status_code == 200, answer.text
    text = json.loads(body)["text"]
    for phrase in answer.json()["results"][0]["keyphrases"]:
        for place in phrase["occurrences"]:
            assert text[place["start"] : place["end"]].strip()


BYTES = {"Content-Type": "application/octet-stream"}


def test_the_text_of_a_file_is_read(client: httpx.Client) -> None:
    made = FPDF()
    made.set_font("Helvetica", size=12)
    for line in ("River gauges.", "Flood walls."):
        made.add_page()
        made.multi_cell(0, 6, line)
    answer = client.post("/v1/read", params={"name": "a.pdf"}, content=bytes(made.output()), headers=BYTES)
    assert answer.json() == {"text": "River gauges.\n\nFlood walls.", "pages": [0, 15]}
    assert client.get("/v1/service").json()["readers"] == list(readers.endings())


def test_a_file_that_cannot_be_read_says_why(client: httpx.Client) -> None:
    found = problem(client.post("/v1/read", content=b"%PDF-1.7 and no more", headers=BYTES), 422, "unsuitable-text")
    assert found["detail"] == "is a broken PDF, or none"
    problem(
        client.post("/v1/read", content=b"River gauges.", headers={"Content-Type": "text/plain"}), 415, "wrong-type"
    )


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_is_not_called_json_is_refused(kind: str, client: httpx.Client) -> None:
    content = json.dumps({"text": SHORT}).encode()
    problem(client.post("/v1/extract", content=content, headers={"Content-Type": kind}), 415, "wrong-type")


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


def test_addresses_and_methods_that_are_not_known(client: httpx.Client) -> None:
    problem(client.get("/v1/nothing"), 404, "not-found")
    problem(client.get("/v1/service/"), 404, "not-found")
    refused = client.get("/v1/extract")
    problem(refused, 405, "method-not-allowed")
    assert refused.headers["allow"] == "POST"
    problem(client.delete("/v1/service"), 405, "method-not-allowed")
    problem(client.options("/v1/extract"), 405, "method-not-allowed")


def test_a_name_that_is_not_ours_is_refused_since_a_page_of_others_may_have_sent_it(client: httpx.Client) -> None:
    strange = ("[::1].evil.example", "localhost:x@evil.example", "localhost:80:80", "[::1", "localhost:", "a@localhost")
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "", *strange):
        problem(client.get("/v1/service", headers={"Host": host}), 421, "wrong-host")
        problem(client.post("/v1/extract", json={"text": SHORT}, headers={"Host": host}), 421, "wrong-host")
        problem(client.get("/", headers={"Host": host}), 421, "wrong-host")
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8000"):
        assert client.get("/v1/service", headers={"Host": host}).status_code == 200
    assert client.get("/healthz", headers={"Host": "10.0.0.7"}).status_code == 200


# -- Headers and logs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/docs", "/static/view.js", "/v1/service", "/nothing", "/healthz"])
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
    assert headers["cache-control"] == ("no-cache" if path in ("/", "/docs", "/static/view.js") else "no-store")
    assert not [name for name in headers if name.startswith("access-control")]
    assert "server" not in headers


def logged(served: Served, request: str) -> list[dict[str, Any]]:
    """The lines of a request; they are written after its answer is sent."""

    def lines() -> list[dict[str, Any]]:
        return [line for line in served.log if line.get("request_id") == request]

    until(lines, served)
    return lines()


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
    idle(served)
    assert canary.lower() not in served.written.lower()


# -- The queue --------------------------------------------------------------------------------------------------------


def test_a_full_queue_answers_503_and_when_to_come_back(served: Served, client: httpx.Client) -> None:
    with posting(served, "/v1/extract", text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
        with posting(served, "/v1/extract", text=LONG), posting(served, "/v1/extract", text=LONG):
            until(lambda: served.metric("mudy_waiting_requests") == 2, served)
            answer = client.post("/v1/extract", json={"text": "A river."})
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            problem(answer, 503, "queue-full")
            assert client.get("/healthz").status_code == 200
    idle(served)
    assert client.post("/v1/extract", json={"text": "A river."}).status_code == 200


def test_a_client_that_goes_away_while_it_waits_is_not_computed(served: Served) -> None:
    left = {"reason": "client-gone", "during": "waiting"}
    before = served.metric("mudy_texts_total"), served.metric("mudy_cancelled_total", left)
    with posting(served, "/v1/extract", text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
        with posting(served, "/v1/extract", text=LONG, method="yake"):
            until(lambda: served.metric("mudy_waiting_requests") == 1, served)
        until(lambda: served.metric("mudy_cancelled_total", left) == before[1] + 1, served)
    idle(served)
    assert served.metric("mudy_texts_total") == before[0]


def test_a_short_request_does_not_wait_for_a_long_one(served: Served, client: httpx.Client) -> None:
    gone = {"reason": "client-gone", "during": "working"}
    before = served.metric("mudy_cancelled_total", gone)
    with posting(served, "/v1/extract", text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
        assert client.post("/v1/extract", json={"text": "A river."}).status_code == 200
    idle(served)
    assert served.metric("mudy_cancelled_total", gone) == before + 1  # the long one was still being computed


@pytest.mark.parametrize("path", ["/v1/extract", "/v1/explain"])
def test_a_client_that_goes_away_while_it_is_computed_ends_the_work(path: str, served: Served) -> None:
    before = served.metric("mudy_texts_total")
    during = {"reason": "client-gone", "during": "working"}
    cancelled = served.metric("mudy_cancelled_total", during)
    with posting(served, path, text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
    idle(served)
    assert served.metric("mudy_texts_total") == before
    assert served.metric("mudy_cancelled_total", during) == cancelled + 1


def test_a_stream_that_is_closed_ends_the_work(served: Served, client: httpx.Client) -> None:
    before = served.metric("mudy_texts_total")
    accept = {"Accept": "application/x-ndjson"}
    with client.stream("POST", "/v1/explain", json={"text": LONG}, headers=accept) as answer:
        next(answer.iter_lines())
    idle(served)
    assert served.metric("mudy_texts_total") == before


def test_a_request_that_takes_too_long_is_ended() -> None:
    config = Config(timeout=0.05)  # and no worker at all
    plain = asked(config, "/v1/extract", {"text": LONG})
    problem(plain, 503, "time-limit")
    assert int(plain.headers["retry-after"]) >= 1
    stream = asked(config, "/v1/explain", {"text": LONG}, Accept="application/x-ndjson")
    last = json.loads(stream.text.splitlines()[-1])
    assert (last["state"], last["problem"]["type"]) == ("failed", "/problems/time-limit")


# -- The key ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/service", "/v1/methods", "/v1/models", "/metrics", "/openapi.json", "/nothing"])
def test_a_key_is_needed_where_there_is_one(path: str, guarded: Served) -> None:
    with guarded.client() as client:
        answer = client.get(path)
        problem(answer, 401, "key-needed")
        assert answer.headers["www-authenticate"] == "Bearer"
        for name, value in (("Authorization", f"Bearer {KEY}x"), ("Authorization", f"Basic {KEY}"), ("X-API-Key", "é")):
            problem(client.get(path, headers={name.encode(): value.encode()}), 401, "key-needed")
        for right in (BEARER, {"X-API-Key": KEY}, {"Authorization": f"bearer {KEY}"}):
            assert client.get(path, headers=right).status_code in (200, 404)


def test_posts_need_the_key_before_anything_is_read(guarded: Served) -> None:
    with guarded.client() as client:
        problem(client.post("/v1/extract", content=b"not even JSON"), 401, "key-needed")


def test_the_page_and_health_need_no_key_and_any_name_will_do(guarded: Served) -> None:
    with guarded.client(headers={"Host": "keyphrases.example"}) as client:
        for path in ("/", "/docs", "/static/view.js", "/healthz", "/readyz"):
            assert client.get(path).status_code == 200


def test_the_key_is_never_written_down(guarded: Served) -> None:
    with guarded.client() as client:
        client.get("/v1/service", headers=BEARER)
        client.get("/v1/service", headers={"X-API-Key": f"{KEY}x"})
        assert KEY not in client.get("/metrics", headers=BEARER).text
    assert KEY not in guarded.written


# -- Begin and end ----------------------------------------------------------------------------------------------------


def test_while_the_model_is_loaded_it_lives_but_is_not_ready_and_a_second_signal_ends_it_at_once(
    model: str, tmp_path: Path
) -> None:
    with serving(tmp_path, "--model", model, ready=False) as ending, posting(ending, "/v1/extract", text=LONG):
        assert httpx.get(f"{ending.address}/healthz").status_code == 200
        not_yet = httpx.get(f"{ending.address}/readyz")
        problem(not_yet, 503, "not-ready")
        assert not_yet.headers["retry-after"] == "1"
        until(lambda: ending.metric("mudy_working_requests") == 1, ending)
        ending.process.send_signal(signal.SIGINT)
        until(
            lambda: "waiting up to 30 s for 1 request that is under way. Press Ctrl-C again" in ending.written, ending
        )
        ending.process.send_signal(signal.SIGTERM)
        assert ending.ended() == 128 + signal.SIGTERM  # the request was not waited for


def test_a_model_that_cannot_be_loaded_ends_the_service(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with serving(tmp_path, "--model", str(tmp_path), ready=False) as broken:
        assert broken.ended() == 1
    assert "could not be loaded" in broken.written.splitlines()[-1]
    assert "Traceback" not in broken.written


# -- Without a process ------------------------------------------------------------------------------------------------


def asked(config: Config, path: str, body: Any = None, **headers: str) -> httpx.Response:
    """One request to the application itself, whose model is never loaded."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(config), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            if body is None:
                return await client.get(path, headers=headers)
            return await client.post(path, json=body, headers=headers)

    return asyncio.run(ask())


def test_a_fault_of_ours_is_told_without_its_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Config) -> None:
        raise ValueError("secret words")

    monkeypatch.setattr(descriptions, "service", broken)
    answer = asked(Config(), "/v1/service")
    problem(answer, 500, "fault")
    told = [record.__dict__["told"] for record in caplog.records if record.levelname == "ERROR"]
    assert told[0]["request_id"] == answer.json()["request_id"]
    assert told[0]["error"] == "ValueError"
    assert "secret" not in answer.text + json.dumps(told)


def test_a_proxys_name_can_be_allowed() -> None:
    config = Config(hosts=frozenset({"localhost", "keyphrases.example"}))
    assert asked(config, "/v1/service", Host="keyphrases.example").status_code == 200
    problem(asked(config, "/v1/service", Host="other.example"), 421, "wrong-host")


def test_the_document_names_the_limits_and_the_key() -> None:
    document = create_app(Config(max_texts=7, max_characters=99, api_key=KEY)).openapi()
    texts = document["components"]["schemas"]["ExtractRequest"]["properties"]["texts"]
    assert (texts["maxItems"], texts["items"]["maxLength"]) == (7, 99)
    assert document["security"] == [{"key": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert KEY not in json.dumps(document)
    assert "securitySchemes" not in create_app(Config()).openapi()["components"]


def refused(*options: str) -> tuple[int, str]:
    found = CliRunner().invoke(cli, ["serve", *options], env={"MUDY_API_KEY": None})
    return found.exit_code, found.stderr


def test_it_does_not_listen_beyond_this_machine_without_a_key() -> None:
    code, told = refused("--host", "0.0.0.0")
    assert code == 2
    assert "--insecure" in told
    assert "MUDY_API_KEY" in told


def test_a_port_that_is_taken_is_one_clear_line(served: Served) -> None:
    code, told = refused("--port", str(served.port))
    assert code == 1
    assert told.count("\n") == 1
    assert f"port {served.port}" in told


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--method", "empirical"), "chat model"),
        (("--api-key", "two words"), "without spaces"),
        (("--api-key", ""), "without spaces"),
        (("--queue", "0"), "--queue"),
        (("--timeout", "0"), "--timeout"),
    ],
)
def test_wrong_options_are_wrong_usage(options: tuple[str, ...], hint: str) -> None:
    code, told = refused(*options)
    assert code == 2
    assert hint in told


def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("mudy.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, told = refused()
    assert code == 1
    assert 'pip install "mudy[server]"' in told


# The last tests: they end the services that the others have used.


def test_what_was_admitted_is_answered_whole_when_the_service_is_told_to_end(
    served: Served, library: Extractor
) -> None:
    with served.client() as client, ThreadPoolExecutor() as threads:
        working = threads.submit(client.post, "/v1/extract", json={"text": LONG[:20_000]})
        until(lambda: served.metric("mudy_working_requests") == 1, served)
        waiting = threads.submit(client.post, "/v1/extract", json={"text": LONG[:20_000], "method": "yake"})
        until(lambda: served.metric("mudy_waiting_requests") == 1, served)
        served.process.send_signal(signal.SIGTERM)
        until(lambda: "2 requests that are under way" in served.written, served)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{served.address}/healthz")
        assert alike(working.result().json(), {"results": [library.extract(LONG[:20_000]).to_dict()]})
        assert alike(waiting.result().json(), {"results": [library.using("yake").extract(LONG[:20_000]).to_dict()]})
    assert served.ended() == 0
    assert "Traceback" not in served.written
    assert not [line for line in served.log if line["level"] == "error"]


def test_after_its_grace_the_service_ends_with_what_is_left(guarded: Served) -> None:
    with guarded.client(headers=BEARER) as client, ThreadPoolExecutor() as threads:
        working = threads.submit(client.post, "/v1/extract", json={"text": LONG})
        until(lambda: guarded.metric("mudy_working_requests", headers=BEARER) == 1, guarded)
        guarded.process.send_signal(signal.SIGTERM)
        problem(working.result(), 503, "shutting-down")
    assert guarded.ended() == 0
