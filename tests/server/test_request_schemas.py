"""Invalid requests are refused, and odd ones answered."""

import json
from typing import Any

import httpx
import pytest

from tests.server.clients import JSON, SHORT, ask_app, problem

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
    "a file of the server": (
        {"text": SHORT, "method": "mudyplus", "settings": {"weights": "/etc/hostname"}},
        "settings.weights",
    ),
    "unknown style": ({"text": SHORT, "method": "mudyplus", "style": "subject"}, "style"),
    "style of another method": ({"text": SHORT, "method": "mudy", "style": "terms"}, "style"),
    "style twice": ({"text": SHORT, "method": "mudyplus", "style": "terms", "settings": {"style": "terms"}}, "style"),
    "a number and a half": ({"text": SHORT, "top_n": 1.5}, "top_n"),
    "blank candidate": ({"text": SHORT, "candidates": [" "]}, "candidates.0"),
    "blank to us": ({"text": SHORT, "candidates": ["ice", "\x1c"]}, "candidates.1"),
    "blocks out of order": (
        {"text": SHORT, "blocks": [{"start": 5, "end": 9, "kind": "code"}, {"start": 0, "end": 6, "kind": "heading"}]},
        "body",
    ),
    "a block beyond the text": ({"text": SHORT, "blocks": [{"start": 5, "end": 9_999, "kind": "code"}]}, "body"),
    "an unknown kind of block": ({"text": SHORT, "blocks": [{"start": 5, "end": 9, "kind": "cod"}]}, "blocks.0.kind"),
    "blocks of which text": ({"texts": [SHORT], "blocks": []}, "body"),
    "pages before the text": ({"text": SHORT, "pages": [-1]}, "pages.0"),
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


NOT_JSON = {
    b"{bad": "body: not JSON: expecting property name enclosed in double quotes at character 1",
    b'{"text": "a",\n "top_n": }': "body: not JSON: expecting value at character 24",
    b'{"text": "a"} b': "body: not JSON: extra data at character 14",
    b'{"text": "a\n"}': "body: not JSON: invalid control character at character 11",
}


@pytest.mark.parametrize("content", NOT_JSON)
def test_what_is_not_json_is_told_with_its_place(content: bytes) -> None:
    found = ask_app("POST", "/v1/extract", content=content, headers=JSON).json()
    assert found["detail"] == NOT_JSON[content]
    assert found["errors"] == [{"where": "body", "message": NOT_JSON[content].removeprefix("body: ")}]


@pytest.mark.parametrize(
    ("path", "content", "detail"),
    [
        ("/v1/extract", b"{}", "text: is missing; send text, or texts for several texts"),
        ("/v1/extract", b'{"txt": "a"}', "text: is missing; send text, or texts for several texts"),
        (
            "/v1/extract",
            b'{"text": "a", "texts": ["b"]}',
            "body: send either text or texts, not both",
        ),
        ("/v1/explain", b"{}", "text: is missing"),
        ("/v1/extract", b"", "body: is missing"),
        ("/v1/extract", b"[]", "body: must be a JSON object"),
    ],
)
def test_what_is_missing_is_named(path: str, content: bytes, detail: str) -> None:
    assert ask_app("POST", path, content=content, headers=JSON).json()["detail"] == detail
