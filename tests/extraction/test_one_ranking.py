"""One ranking: whoever asks, and whether for phrases or for reasons, is given the same order and the same scores."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pyarrow import parquet

from mudy import Extractor, corpus
from mudy.engines import Compute
from mudy.extraction.explanation import Explained
from mudy.extraction.ranking import rounded
from mudy.methods import METHODS
from mudy.server.app import create_app
from mudy.server.config import Config
from tests import small
from tests.explained import saved
from tests.extraction.test_explanation import recombined
from tests.served import until
from tests.taggers import english

SPEEDS = ("exact", "fast")
RANKING = [name for name in METHODS if name != "empirical"]  # which writes with a chat model
# More phrases than speed="fast" weights in a section.
TEXT = small.TEXT + (
    " A steel bridge, a wooden pier, two harbour cranes, an old lighthouse, the night train, fresh bread, a stone wall,"
    " green hills, a mountain lake, cold rain, the post office, a school bus, warm bread and the radar station wait for"
    " the next ferry. The ice road ends at the stone wall near the mountain lake."
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {family: saved(tmp_path_factory.mktemp(family), family) for family in ("llama", "bert")}


def extractor(models: dict[str, Path], method: str = "mudy", **options: Any) -> Extractor:
    return Extractor(method, str(models["llama"]), encoder=str(models["bert"]), language=english(), **options)


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("method", RANKING)
def test_an_explanation_ranks_as_an_extraction_does(models: dict[str, Path], method: str, speed: str) -> None:
    made = extractor(models, method, speed=speed)
    for text in (TEXT, small.TEXT, " ".join([TEXT] * 3)):
        (explained,) = made.explain(text).methods
        assert explained.result == made.extract(text, None)
        assert explained.result.keyphrases[:5] == made.extract(text, 5).keyphrases


@pytest.mark.parametrize("speed", SPEEDS)
def test_methods_that_are_compared_rank_as_they_do_alone(models: dict[str, Path], speed: str) -> None:
    made = extractor(models, "promptrank", speed=speed)
    for found in made.explain(TEXT, ["promptrank", "mudy", "yake"]).methods:
        assert found.result == extractor(models, found.result.method, speed=speed).extract(TEXT, None)


@pytest.fixture(scope="module")
def client(models: dict[str, Path]) -> Iterator[TestClient]:
    compute = Compute(speed="fast", threads=1)
    app = create_app(Config(model=str(models["llama"]), encoder=str(models["bert"]), compute=compute))
    with TestClient(app) as made:
        until(lambda: app.state.queue.ready)
        yield made
    app.state.queue.stop()


@pytest.mark.parametrize("method", ["mudy", "promptrank", "yake"])
def test_the_service_ranks_alike_on_both_routes(client: TestClient, method: str) -> None:
    (extracted,) = client.post("/v1/extract", json={"text": TEXT, "method": method, "top_n": None}).json()["results"]
    (explained,) = client.post("/v1/explain", json={"text": TEXT, "methods": [method]}).json()["methods"]
    assert extracted["keyphrases"] == explained["keyphrases"]


def test_coverage_is_the_same_from_every_side(client: TestClient, models: dict[str, Path], tmp_path: Path) -> None:
    text = " ".join([TEXT] * 8)
    options: dict[str, Any] = {"method": "mudyplus", "model": str(models["llama"]), "encoder": str(models["bert"])}
    extractor = Extractor(**options, speed="fast", threads=1)
    expected = extractor.extract(text).to_dict()["coverage"]
    assert [model["model"] for model in expected["models"]] == ["encoder", "language_model"]
    assert all(model["share"] < 1 for model in expected["models"])

    (explained,) = extractor.explain(text).to_dict()["methods"]
    (extracted,) = client.post("/v1/extract", json={"text": text, "method": "mudyplus"}).json()["results"]
    (reasons,) = client.post("/v1/explain", json={"text": text, "methods": ["mudyplus"]}).json()["methods"]
    assert [found["coverage"] for found in (explained, extracted, reasons)] == [expected] * 3

    (tmp_path / "in.jsonl").write_text(json.dumps({"text": text}))
    for name in ("out.jsonl", "out.parquet"):
        corpus.run(tmp_path / "in.jsonl", tmp_path / name, **options, speed="fast", threads=1)
    assert json.loads((tmp_path / "out.jsonl").read_text())["coverage"] == expected
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist()[0]["coverage"] == expected

    said = str(extractor.extract(text).coverage)
    assert re.search(r"\(encoder: \d+ %, language model: \d+ %\)", said)  # parts from all of the text
    assert said in extractor.extract(text).to_html()


def test_the_service_says_at_which_speed_it_works(client: TestClient) -> None:
    assert client.get("/v1/service").json()["speed"] == "fast"


# -- What an explanation of a fast ranking shows ---------------------------------------------------------------------


def places(found: Explained) -> list[dict[str, float]]:
    return [occurrence.to_dict() for phrase in found.result.keyphrases for occurrence in phrase.occurrences]


def test_a_fast_explanation_marks_which_likelihoods_were_weighted(models: dict[str, Path]) -> None:
    (fast,) = extractor(models, speed="fast", leaders=4).explain(TEXT).methods
    assert {place["weighted"] for place in places(fast)} == {0, 1}
    assert len({place["start"] for place in places(fast) if place["weighted"]}) >= 4
    (exact,) = extractor(models).explain(TEXT).methods
    assert all("weighted" not in place for place in places(exact))


@pytest.mark.parametrize("leaders", [2, 15])
def test_another_lambda_follows_from_the_parts_of_a_fast_ranking(models: dict[str, Path], leaders: int) -> None:
    """So whose likelihood is weighted cannot depend on lambda."""
    made = [extractor(models, speed="fast", leaders=leaders, lambda_=value) for value in (0.5, 4.0)]
    one, other = (each.explain(TEXT).methods[0] for each in made)
    assert one.free == ("lambda_",)
    expected = {(place["start"], place["end"]): place for place in places(other)}
    for place in places(one):
        moved = {**place, "lambda": place["lambda"] * 4.0 / 0.5}
        there = expected[place["start"], place["end"]]
        assert (place["p"], place["weighted"]) == (there["p"], there["weighted"])
        assert rounded(recombined(one, moved)) == rounded(there["score"])
