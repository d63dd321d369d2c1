"""Weights fitted over HTTP: as by the library, in turn with other requests, and every bad example is named."""

from functools import partial
from typing import Any, cast

import httpx
import pytest

from mudy import Extractor
from mudy.server.answers import extraction_job
from mudy.server.config import Config
from mudy.server.problems import HttpProblem
from mudy.server.request_schemas import ExtractRequest, validated_settings
from tests.extraction.test_adaptation import NEW, PAIRS
from tests.served import Served, alike, until
from tests.server.clients import SHORT, ask_app, posting, problem, wait_until_idle

EXAMPLES = [{"text": text, "keyphrases": phrases} for text, phrases in PAIRS]


def fit(client: httpx.Client, examples: list[Any], **options: Any) -> httpx.Response:
    return client.post("/v1/fit", json={"examples": examples, **options})


@pytest.fixture(scope="module")
def fitted(served: Served) -> dict[str, Any]:
    with served.client() as client:
        answer = fit(client, EXAMPLES[:5])
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_fit_is_that_of_the_library(fitted: dict[str, Any], served: Served, library: Extractor) -> None:
    command = cast(list[str], served.process.args)
    encoder = command[command.index("--encoder") + 1]
    own = Extractor(model=library.model, encoder=encoder, speed="fast", threads=1, examples=PAIRS[:5])
    assert own.adaptation is not None
    assert alike(fitted["weights"], own.adaptation.weights.to_dict(), 1e-3)
    assert fitted["summary"] == str(own.adaptation)
    assert fitted["helps"]
    assert fitted["after"] > fitted["before"]
    assert "shorter phrases" in fitted["changes"]


def test_later_requests_use_the_weights_that_they_send(client: httpx.Client, fitted: dict[str, Any]) -> None:
    def phrases(**settings: Any) -> list[str]:
        body = {"text": NEW, "method": "mudyplus", "settings": settings, "top_n": 3}
        answer = client.post("/v1/extract", json=body)
        assert answer.status_code == 200, answer.text
        return [keyphrase["text"].lower() for keyphrase in answer.json()["results"][0]["keyphrases"]]

    assert phrases()[0] == phrases(weights=None)[0] == "storm surge"
    assert "storm surge" not in phrases(weights=fitted["weights"])
    asked = {"text": NEW, "methods": ["yake", "mudyplus"], "settings": {"mudyplus": {"weights": fitted["weights"]}}}
    first = client.post("/v1/explain", json=asked).json()["methods"][1]["keyphrases"][0]["text"].lower()
    assert first == phrases(weights=fitted["weights"])[0]
    both = {"text": NEW, "method": "mudyplus", "style": "tags", "settings": {"weights": fitted["weights"]}}
    found = problem(client.post("/v1/extract", json=both), 422, "unknown-setting")
    assert found["detail"].startswith("Both style and weights are given")


def test_a_style_is_where_a_fit_starts(client: httpx.Client, fitted: dict[str, Any]) -> None:
    assert fit(client, EXAMPLES[:5], style="tags").json()["before"] != fitted["before"]


ABSENT = [{**example, "keyphrases": ["zeppelin"]} for example in EXAMPLES]
LONGEST = {"text": "b" * 50_001, "keyphrases": ["b"]}
WRONG: dict[str, tuple[Any, str, str]] = {
    "no list": (None, "examples", "must be|valid list"),
    "no examples": ([], "examples", "0 examples were given, but at least 3"),
    "one text": (EXAMPLES[:1], "examples", "1 example was given, but at least 3 different texts"),
    "one text three times": (EXAMPLES[:1] * 3, "examples", "phrases joined: 2.*at least 3 different texts"),
    "blank text": ([*EXAMPLES[:3], {"text": " ", "keyphrases": ["a"]}], "examples", "must be a str that is not blank"),
    "no phrases": ([*EXAMPLES[:3], {"text": SHORT, "keyphrases": []}], "examples.3.keyphrases", "at least 1 item"),
    "blank phrase": ([*EXAMPLES[:3], {"text": SHORT, "keyphrases": [" "]}], "examples.3.keyphrases.0", "pattern"),
    "phrases only": ([{"keyphrases": ["a"]}] * 3, "examples.0.text", "is missing"),
    "no phrase in its text": (ABSENT[:3], "examples", "Only 0 of 3 examples have one of their phrases"),
    "too many": (EXAMPLES, "texts", "6 texts were sent, but at most 5 are allowed"),
    "too long": ([*EXAMPLES[:3], LONGEST], "examples.3.text", "50,001 characters were sent"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_examples_are_named(name: str, client: httpx.Client) -> None:
    examples, where, message = WRONG[name]
    answer = client.post("/v1/fit", json={"examples": examples})
    found = problem(answer, 422, answer.json()["type"].rpartition("/")[2])
    assert where in [error["where"] for error in found["errors"]], found
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(found["detail"])


def test_what_is_not_used_is_told(client: httpx.Client) -> None:
    told = fit(client, [*EXAMPLES[:3], ABSENT[3]]).json()
    assert told["examples"] == 3
    assert told["notes"] == ["examples without any of their phrases in the text, not used: 1 (3)"]
    told = fit(client, [*EXAMPLES[:3], {**EXAMPLES[0], "keyphrases": ["boat"]}]).json()
    assert told["notes"] == ["texts given more than once, phrases joined: 1"]


def test_contradictory_examples_keep_the_weights_of_the_style(client: httpx.Client) -> None:
    everything = {"method": "mudyplus", "top_n": None, "merge": False, "distinct": False}
    answer = client.post("/v1/extract", json={"texts": [text for text, _ in PAIRS[:5]], **everything})
    lists = [[keyphrase["text"] for keyphrase in result["keyphrases"]] for result in answer.json()["results"]]
    wanted = [phrases[:4] for phrases in lists[:3]] + [phrases[-4:] for phrases in lists[3:]]  # the opposite
    examples = [{**example, "keyphrases": phrases} for example, phrases in zip(EXAMPLES, wanted, strict=False)]
    told = fit(client, examples).json()
    assert not told["helps"]
    assert told["after"] <= told["before"]
    assert "do not help, so the weights stay as they were" in told["summary"]
    plain = {"text": NEW, "method": "mudyplus"}
    kept = {**plain, "settings": {"weights": told["weights"]}}
    scores = [client.post("/v1/extract", json=body).json()["results"][0]["keyphrases"] for body in (plain, kept)]
    assert alike(scores[1], scores[0], 1e-3)


def test_a_fit_whose_client_is_gone_is_cancelled(served: Served) -> None:
    texts = [SHORT.replace("the", f"the {number}th") * 90 for number in range(3)]
    gone = partial(served.metric, "mudy_cancelled_total", {"reason": "client-gone"})
    before = gone()
    with posting(served, "/v1/fit", examples=[{"text": text, "keyphrases": ["river"]} for text in texts]):
        until(lambda: served.metric("mudy_working_requests") == 1, served)
    until(lambda: gone() == before + 1, served)
    wait_until_idle(served)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("mine.json", "must be the content of the file, a JSON object"),
        ([], r"weights is \[\]"),
        ({}, "not a file of weights"),
        ({"version": 1}, "weights of version 1"),
        ({"version": 4, "fitted_on": {}, "quick": {"evidence": {"length": 1}}, "full": None}, "unknown evidence"),
        ({"version": 4, "fitted_on": {}, "quick": {"evidence": {"digit": 1e9}}, "full": None}, "must be a number from"),
        ({"version": 4, "fitted_on": {}, "quick": {"evidence": {"digit": 1}}, "full": None, "options": 3}, "options"),
    ],
)
def test_bad_weights_are_refused_before_the_queue(weights: Any, message: str) -> None:
    with pytest.raises(HttpProblem) as caught:
        validated_settings("mudyplus", {"weights": weights}, "settings")
    assert [where for where, _ in caught.value.errors] == ["settings.weights"]
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(caught.value.detail)


def test_equal_weights_share_an_extractor_whatever_else_the_file_says(fitted: dict[str, Any]) -> None:
    other = {**fitted["weights"], "options": {"by": "me"}, "fitted_on": {"mine": 9}}
    keys = {validated_settings("mudyplus", {"weights": weights}, "") for weights in (fitted["weights"], other)}
    assert len(keys) == 1


def test_a_style_of_the_service_gives_way_to_weights(fitted: dict[str, Any]) -> None:
    request = ExtractRequest(text=NEW, settings={"weights": fitted["weights"]})
    (queued,) = extraction_job(request, Config(style="terms"), "-").texts
    assert dict(queued.extractor.settings).keys() == {"weights"}


def test_the_document_describes_the_route() -> None:
    document = ask_app("GET", "/openapi.json", Config(max_texts=7, max_characters=99)).json()
    parts = document["components"]["schemas"]
    assert parts["FitRequest"]["properties"]["examples"]["minItems"] == 3
    assert parts["FitRequest"]["properties"]["examples"]["maxItems"] == 7
    assert parts["FitExample"]["properties"]["text"]["maxLength"] == 99
    assert {"200", "422", "503"} <= document["paths"]["/v1/fit"]["post"]["responses"].keys()
