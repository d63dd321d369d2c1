"""What a vocabulary does to a result, whoever asks: library, command line, service and corpus."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from pyarrow import parquet

from mudy import Extractor, InputError, Keyphrase, Result, SettingError, Vocabulary, corpus
from mudy.extraction.concepts import MOST_PHRASES, LabelVectors
from mudy.server.app import create_app
from mudy.server.config import Config
from tests import small
from tests.command_line import run as mudy
from tests.corpora import jsonl, rows, texts
from tests.served import until
from tests.server.clients import ask_app, problem

TEXT = Path("examples/floodplain.txt").read_text(encoding="utf-8")
ENTRIES: list[Any] = [
    {"id": "Q1", "label": "flood"},
    {"id": "Q2", "label": "wetland", "alternatives": ["floodplain", "marsh"]},
    {"id": "Q3", "label": "flood wall"},
    "volcano",
]
VOCABULARY = Vocabulary.of(ENTRIES)


@pytest.fixture(scope="module")
def yake() -> Extractor:
    return Extractor("yake")


def concept_ids(keyphrases: Any) -> list[str | None]:
    return [None if k.concept is None else k.concept.id for k in keyphrases]


def of_phrase(result: Result, text: str) -> Keyphrase:
    return next(k for k in result if k.text == text)


# -- The library ------------------------------------------------------------------------------------------------------


def test_only_concepts_that_stand_in_the_text_are_returned_each_once(yake: Extractor) -> None:
    result = yake.extract(TEXT, None, vocabulary=VOCABULARY)
    assert sorted(map(str, concept_ids(result))) == ["Q1", "Q2", "Q3"]
    assert all(k.concept and k.concept.match == "label" for k in result)


def test_every_place_of_a_concept_holds_one_of_its_labels(yake: Extractor) -> None:
    for keyphrase in yake.extract(TEXT, None, vocabulary=VOCABULARY):
        forms = {TEXT[o.start : o.end].lower() for o in keyphrase.occurrences}
        assert forms == {form.lower() for form in (keyphrase.text, *keyphrase.variants)}
    wetland = next(k for k in yake.extract(TEXT, vocabulary=VOCABULARY) if k.concept and k.concept.id == "Q2")
    assert {"floodplain", "wetlands"} <= {wetland.text, *wetland.variants}


def test_a_label_is_not_found_inside_a_longer_one(yake: Extractor) -> None:
    flood = yake.extract("Flood walls and a flood.", vocabulary=VOCABULARY)
    assert {k.text: len(k.occurrences) for k in flood} == {"Flood walls": 1, "flood": 1}


def test_a_boost_raises_known_phrases_by_deviations_and_leaves_the_others(yake: Extractor) -> None:
    plain, raised = yake.extract(TEXT, None), yake.extract(TEXT, None, vocabulary=VOCABULARY, boost=2)
    known = of_phrase(raised, "flood")
    gain = known.occurrences[0].parts["vocabulary"]
    assert known.score == pytest.approx(of_phrase(plain, "flood").score + gain)
    assert of_phrase(raised, "river").score == pytest.approx(of_phrase(plain, "river").score)
    best = {k.text: k.score for k in yake.extract(TEXT, None, merge=False)}
    assert gain == pytest.approx(2 * np.std(list(best.values())), rel=0.05)


def test_a_boost_of_nothing_changes_no_rank(yake: Extractor) -> None:
    plain, same = yake.extract(TEXT, 5), yake.extract(TEXT, 5, vocabulary=["flood"], boost=0)
    assert [k.text for k in same] == [k.text for k in plain]


def test_a_boost_adds_to_the_log_odds_of_a_probability() -> None:
    extractor = Extractor(speed="quick")
    extractor.loader.in_memory["encoder"] = small.bert()
    plain = extractor.extract(TEXT, None, distinct=False)
    raised = extractor.extract(TEXT, None, distinct=False, vocabulary=["river"], boost=1.5)
    before, after = of_phrase(plain, "river").score, of_phrase(raised, "river").score
    assert np.log(after / (1 - after)) == pytest.approx(np.log(before / (1 - before)) + 1.5, abs=1e-4)
    parts = of_phrase(raised, "river").occurrences[0].parts
    assert sum(parts.values()) == pytest.approx(np.log(after / (1 - after)), abs=1e-4)


def test_stop_phrases_hold_for_concepts_too(yake: Extractor) -> None:
    assert "Q1" not in concept_ids(yake.extract(TEXT, None, vocabulary=VOCABULARY, stop_phrases=["flood", "flooded"]))


def test_a_text_without_any_concept_has_no_keyphrases(yake: Extractor) -> None:
    assert len(yake.extract(TEXT, vocabulary=["volcano"])) == 0


@pytest.mark.parametrize("options", [{"boost": 1}, {"near": 0.5}, {"vocabulary": ["x"], "candidates": ["y"]}])
def test_options_that_do_not_go_together_are_refused(yake: Extractor, options: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        yake.extract(TEXT, **options)


def test_a_path_is_no_vocabulary_but_says_how_to_load_one(yake: Extractor) -> None:
    with pytest.raises(InputError, match=r"Vocabulary.load\('terms.csv'\)"):
        yake.extract(TEXT, vocabulary="terms.csv")


def test_results_do_not_depend_on_company(yake: Extractor) -> None:
    some = texts(12)
    together = list(yake.extract_many(some, vocabulary=VOCABULARY, boost=1))
    assert together == [yake.extract(text, vocabulary=VOCABULARY, boost=1) for text in some]


# -- Near concepts ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def near() -> Extractor:
    extractor = Extractor("yake")
    extractor.loader.in_memory["encoder"] = small.bert()
    return extractor


def test_a_near_concept_is_marked_and_its_phrase_stands_in_the_text(near: Extractor) -> None:
    result = near.extract(TEXT, None, vocabulary=VOCABULARY, near=0.0)
    marked = [k for k in result if k.concept and k.concept.match == "near"]
    assert marked
    for keyphrase in result:
        assert all(TEXT[o.start : o.end] for o in keyphrase.occurrences)
    assert all(k.concept and k.concept.label == "volcano" and k.concept.similarity is not None for k in marked)
    assert len(marked) == 1  # the others occur in the text, and no concept is given twice


def test_a_threshold_that_nothing_reaches_leaves_what_stands_in_the_text(near: Extractor) -> None:
    result = near.extract(TEXT, None, vocabulary=VOCABULARY, near=1.0)
    assert sorted(map(str, concept_ids(result))) == ["Q1", "Q2", "Q3"]
    assert [k.rank for k in result] == [1, 2, 3]


def test_a_near_concept_goes_to_the_phrase_nearest_to_it(near: Extractor) -> None:
    (marked,) = [k for k in near.extract(TEXT, None, vocabulary=["volcano"], near=0.0) if k.concept]
    best = [k.text for k in near.extract(TEXT, None)[:MOST_PHRASES]]
    vectors = LabelVectors(small.bert(), Vocabulary.of(["volcano"]))
    similarities = [similarity for _, similarity in vectors.nearest(best)]
    assert marked.concept is not None
    assert marked.concept.similarity == max(similarities)


def test_the_nearest_label_is_that_of_a_plain_loop() -> None:
    vocabulary = Vocabulary.of(["ice road", "radar map", "river"])
    found = LabelVectors(small.bert(), vocabulary).nearest(["ice", "the crew"])
    vectors = small.bert().embed(["ice", "the crew", "ice road", "radar map", "river"])
    for row, (concept, similarity) in enumerate(found):
        cosines = [float(vectors[row] @ vectors[2 + label]) for label in range(3)]
        assert concept == vocabulary.concepts[int(np.argmax(cosines))]
        assert similarity == pytest.approx(max(cosines), abs=2e-3)


# -- The command line -------------------------------------------------------------------------------------------------


def vocabulary_file(folder: Path) -> Path:
    path = folder / "terms.json"
    path.write_text(json.dumps(ENTRIES))
    return path


def test_the_command_line_gives_what_the_library_gives(tmp_path: Path, yake: Extractor) -> None:
    arguments = ("extract", "examples/floodplain.txt", "-m", "yake", "--vocabulary", vocabulary_file(tmp_path))
    found = json.loads(mudy(*arguments, "--format", "json").stdout)
    assert found["keyphrases"] == yake.extract(TEXT, vocabulary=VOCABULARY).to_dict()["keyphrases"]
    boosted = json.loads(mudy(*arguments, "--boost", "2", "--format", "json").stdout)
    assert boosted["keyphrases"] == yake.extract(TEXT, vocabulary=VOCABULARY, boost=2).to_dict()["keyphrases"]


def test_csv_and_the_table_name_the_concepts(tmp_path: Path) -> None:
    arguments = ("extract", "examples/floodplain.txt", "-m", "yake", "--vocabulary", vocabulary_file(tmp_path))
    lines = list(csv.DictReader(io.StringIO(mudy(*arguments, "--format", "csv").stdout)))
    assert {(line["concept_id"], line["concept_label"], line["concept_match"]) for line in lines} == {
        ("Q1", "flood", "label"),
        ("Q2", "wetland", "label"),
        ("Q3", "flood wall", "label"),
    }
    assert "wetland (Q2)" in mudy(*arguments).stdout


def test_a_bad_vocabulary_ends_the_command_before_any_work(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("a,b\n1,2\n")
    result = mudy("extract", "examples/floodplain.txt", "-m", "yake", "--vocabulary", path)
    assert result.exit_code == 2
    assert "no column `label`" in result.stderr


def test_an_ambiguous_vocabulary_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("id,label\n1,flood\n2,flood\n")
    result = mudy("extract", "examples/floodplain.txt", "-m", "yake", "--vocabulary", path, "--format", "json")
    assert result.exit_code == 0
    assert "'flood' of 1, 2" in result.stderr


# -- The corpus -------------------------------------------------------------------------------------------------------


def test_every_form_of_a_corpus_holds_the_concepts(tmp_path: Path, yake: Extractor) -> None:
    some = texts(8)
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in some])
    expected = [yake.extract(text, vocabulary=VOCABULARY).to_dict()["keyphrases"] for text in some]
    for ending in ("jsonl", "parquet", "csv"):
        corpus.run(source, tmp_path / f"out.{ending}", method="yake", options={"vocabulary": VOCABULARY})
    assert [row["keyphrases"] for row in rows(tmp_path / "out.jsonl")] == expected
    typed = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    found = [[(k["concept"]["id"], k["concept"]["match"]) for k in row["keyphrases"]] for row in typed]
    assert found == [[(k["concept"]["id"], "label") for k in row] for row in expected]
    with (tmp_path / "out.csv").open(encoding="utf-8-sig") as stream:
        lines = [line["concept_id"] for line in csv.DictReader(stream) if line["keyphrase"]]
    assert lines == [k["concept"]["id"] for row in expected for k in row]


def test_a_run_is_not_continued_with_another_vocabulary(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(2)])
    corpus.run(source, tmp_path / "out.jsonl", method="yake", options={"vocabulary": VOCABULARY})
    with pytest.raises(InputError, match=r"options.vocabulary was"):
        corpus.run(source, tmp_path / "out.jsonl", method="yake", options={"vocabulary": ["flood"]})


# -- The service ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    app = create_app(Config(method="yake"))
    with TestClient(app) as made:
        until(lambda: app.state.queue.ready)
        yield made
    app.state.queue.stop()


def test_the_service_gives_what_the_library_gives_on_both_routes(client: TestClient, yake: Extractor) -> None:
    expected = yake.extract(TEXT, None, vocabulary=VOCABULARY, boost=1).to_dict()["keyphrases"]
    body = {"text": TEXT, "vocabulary": {"concepts": ENTRIES, "boost": 1}, "top_n": None}
    (extracted,) = client.post("/v1/extract", json={**body, "method": "yake"}).json()["results"]
    assert extracted["keyphrases"] == expected
    (explained,) = client.post("/v1/explain", json={**body, "methods": ["yake"]}).json()["methods"]
    assert explained["keyphrases"] == expected


@pytest.mark.parametrize(
    "body",
    [
        {"vocabulary": {"boost": 1}},
        {"vocabulary": {"concepts": []}},
        {"vocabulary": {"concepts": [{"name": "x"}]}},
        {"vocabulary": {"concepts": ["x"]}, "candidates": ["y"]},
        {"vocabulary": {"concepts": [{"label": "x", "alternatives": ["y"] * 5_000}]}},
    ],
)
def test_the_service_refuses_a_vocabulary_that_cannot_be_used(body: dict[str, Any]) -> None:
    answer = ask_app("POST", "/v1/extract", json={"text": "x", "method": "yake", **body})
    problem(answer, 422, "not-valid")
