"""The routes as clients meet them: a real process, real sockets."""

import json
from typing import Any

import httpx
import pytest
from fpdf import FPDF

from mudy import Extractor
from mudy.methods import METHODS
from mudy.reading import formats as readers
from tests.served import Served, alike, until
from tests.server.clients import LONG, SHORT, TEXT, posting, problem, wait_until_idle


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


def test_each_section_has_a_list_if_that_is_asked_for(client: httpx.Client, library: Extractor) -> None:
    text = f"# One\n\n{TEXT}\n\n## Two\n\n{TEXT}"
    asked = {"text": text, "method": "yake", "per_section": True}
    expected = library.using("yake").extract(text, per_section=True).to_dict()
    assert [section["heading"] for section in expected["sections"]] == ["One", "Two"]
    assert alike(client.post("/v1/extract", json=asked).json(), {"results": [expected]})
    answer = client.post("/v1/explain", json={"text": text, "methods": ["yake"], "per_section": True}).json()
    assert len(answer["methods"][0]["sections"]) == 2


def test_no_candidates_give_no_keyphrases(client: httpx.Client) -> None:
    answer = client.post("/v1/extract", json={"texts": [SHORT, SHORT], "method": "yake", "candidates": []})
    assert [result["keyphrases"] for result in answer.json()["results"]] == [[], []]


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
    wait_until_idle(served)


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
    assert service["limits"] == {"body_bytes": 100_000, "characters": 50_000, "texts": 5, "examples": 3, "seconds": 300}
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
    script = client.get("/static/docs.js")
    assert script.headers["content-type"].startswith("text/javascript")
    for outside in ("/static/../server/app.py", "/static/%2e%2e/server/app.py", "/static/nothing.js"):
        problem(client.get(outside), 404, "not-found")


BYTES = {"Content-Type": "application/octet-stream"}


def test_the_text_of_a_file_is_read(client: httpx.Client) -> None:
    made = FPDF()
    made.set_font("Helvetica", size=12)
    for line in ("River gauges.", "Flood walls."):
        made.add_page()
        made.multi_cell(0, 6, line)
    answer = client.post("/v1/read", params={"name": "a.pdf"}, content=bytes(made.output()), headers=BYTES)
    assert answer.json() == {"text": "River gauges.\n\nFlood walls.", "pages": [0, 15], "blocks": []}
    notes = b"# Ice roads\n\nThe road closes.\n\n    make ice\n"
    read = client.post("/v1/read", params={"name": "a.md"}, content=notes, headers=BYTES).json()
    kinds = [(read["text"][b["start"] : b["end"]], b["kind"], b["level"]) for b in read["blocks"]]
    assert kinds == [("Ice roads", "title", 1), ("make ice", "code", 0)]
    assert client.get("/v1/service").json()["readers"] == list(readers.endings())


def test_a_file_that_cannot_be_read_says_why(client: httpx.Client) -> None:
    found = problem(client.post("/v1/read", content=b"%PDF-1.7 and no more", headers=BYTES), 422, "unsuitable-text")
    assert found["detail"] == "is a broken PDF, or none"
    problem(
        client.post("/v1/read", content=b"River gauges.", headers={"Content-Type": "text/plain"}), 415, "wrong-type"
    )


def test_addresses_and_methods_that_are_not_known(client: httpx.Client) -> None:
    problem(client.get("/v1/nothing"), 404, "not-found")
    problem(client.get("/v1/service/"), 404, "not-found")
    refused = client.get("/v1/extract")
    problem(refused, 405, "method-not-allowed")
    assert refused.headers["allow"] == "POST"
    problem(client.delete("/v1/service"), 405, "method-not-allowed")
    problem(client.options("/v1/extract"), 405, "method-not-allowed")
