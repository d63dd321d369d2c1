"""The queue as clients meet it: full, left, or out of time."""

import json

import httpx
import pytest

from mudy.server.config import Config
from tests.served import Served, until
from tests.server.clients import LONG, ask_app, posting, problem, wait_until_idle


def test_a_full_queue_answers_503_and_when_to_come_back(served: Served, client: httpx.Client) -> None:
    with posting(served, "/v1/extract", text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
        with posting(served, "/v1/extract", text=LONG), posting(served, "/v1/extract", text=LONG):
            until(lambda: served.metric("mudy_waiting_requests") == 2, served)
            answer = client.post("/v1/extract", json={"text": "A river."})
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            problem(answer, 503, "queue-full")
            assert client.get("/healthz").status_code == 200
    wait_until_idle(served)
    assert client.post("/v1/extract", json={"text": "A river."}).status_code == 200


def test_a_client_that_goes_away_while_it_waits_is_not_computed(served: Served) -> None:
    left = {"reason": "client-gone", "during": "waiting"}
    before = served.metric("mudy_texts_total"), served.metric("mudy_cancelled_total", left)
    with posting(served, "/v1/extract", text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
        with posting(served, "/v1/extract", text=LONG, method="yake"):
            until(lambda: served.metric("mudy_waiting_requests") == 1, served)
        until(lambda: served.metric("mudy_cancelled_total", left) == before[1] + 1, served)
    wait_until_idle(served)
    assert served.metric("mudy_texts_total") == before[0]


def test_a_short_request_does_not_wait_for_a_long_one(served: Served, client: httpx.Client) -> None:
    gone = {"reason": "client-gone", "during": "working"}
    before = served.metric("mudy_cancelled_total", gone)
    with posting(served, "/v1/extract", text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
        assert client.post("/v1/extract", json={"text": "A river."}).status_code == 200
    wait_until_idle(served)
    assert served.metric("mudy_cancelled_total", gone) == before + 1  # the long one was still being computed


@pytest.mark.parametrize("path", ["/v1/extract", "/v1/explain"])
def test_a_client_that_goes_away_while_it_is_computed_ends_the_work(path: str, served: Served) -> None:
    before = served.metric("mudy_texts_total")
    during = {"reason": "client-gone", "during": "working"}
    cancelled = served.metric("mudy_cancelled_total", during)
    with posting(served, path, text=LONG):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
    wait_until_idle(served)
    assert served.metric("mudy_texts_total") == before
    assert served.metric("mudy_cancelled_total", during) == cancelled + 1


def test_a_stream_that_is_closed_ends_the_work(served: Served, client: httpx.Client) -> None:
    before = served.metric("mudy_texts_total")
    accept = {"Accept": "application/x-ndjson"}
    with client.stream("POST", "/v1/explain", json={"text": LONG}, headers=accept) as answer:
        next(answer.iter_lines())
    wait_until_idle(served)
    assert served.metric("mudy_texts_total") == before


def test_a_request_that_takes_too_long_is_ended() -> None:
    config = Config(timeout=0.05)  # and no worker at all
    plain = ask_app("POST", "/v1/extract", config, json={"text": LONG})
    problem(plain, 503, "time-limit")
    assert int(plain.headers["retry-after"]) >= 1
    lines = {"Accept": "application/x-ndjson"}
    stream = ask_app("POST", "/v1/explain", config, json={"text": LONG}, headers=lines)
    last = json.loads(stream.text.splitlines()[-1])
    assert (last["state"], last["problem"]["type"]) == ("failed", "/problems/time-limit")
