"""Facts about the suite: what it reads and counts, a toy method entered by its adapter, and the leaderboard's page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from mudy.cli.main import cli
from mudy.errors import InputError
from mudy.evaluation import suite
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.measures import F1, MACRO, MAP, Predictions, nDCG
from mudy.evaluation.suite import (
    Outcome,
    SuiteResult,
    content_hash,
    diversity,
    faithfulness,
    near_duplicates,
    outcome,
    suite_documents,
)
from tools.leaderboard import PAGE, entries, load, page

TOY = """
def longest(text):
    return sorted(dict.fromkeys(text.lower().replace(".", " ").split()), key=len, reverse=True)

def one_text(text):
    return "ferry"

NUMBER = 3
"""
ROWS: list[dict[str, Any]] = [
    {"id": "a", "title": "Ferries", "text": "The ferryboat crossed a river.", "keyphrases": ["Ferryboats", "river"]},
    {"id": "b", "title": None, "text": "Glaciers feed the lake.", "keyphrases": ["glacier", "glaciers", "meltwater"]},
]


def records() -> list[Record]:
    return [Record(row["id"], row["title"], row["text"], tuple(row["keyphrases"])) for row in ROWS]


def embed(phrases: Sequence[str]) -> Any:
    """Equal phrases are alike, others have nothing in common."""
    return np.eye(len(phrases))


@pytest.fixture
def boats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "toy_method.py").write_text(TOY, encoding="utf-8")
    path = tmp_path / "boats.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["evaluate", *map(str, arguments)])


def register(monkeypatch: pytest.MonkeyPatch, **sets: list[str]) -> None:
    monkeypatch.setattr(suite, "register", lambda: sets)


@pytest.mark.real
def test_a_toy_method_is_entered_by_its_adapter(boats: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, boats=[content_hash(record) for record in records()], other=["0" * 12])
    found = run(boats, "--suite", "toy.json", "--function", "toy_method:longest", "--name", "Toy")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.startswith("Toy; suite 1, in per cent\n")
    written = (boats.parent / "toy.json").read_text(encoding="utf-8")
    assert not any(word in written for word in ("ferry", "river", "glacier", "lake"))
    result = load("toy.json")
    assert (result.name, result.method) == ("Toy", {"function": "toy_method:longest"})
    assert [one.hash for one in result.sets["boats"]] == [content_hash(record) for record in records()]
    first, second = result.sets["boats"]
    assert (first.gold, first.returned, list(first.hits)) == (2, 6, [1, 4])  # ferryboat, ferries, crossed, river
    assert (second.gold, second.returned, list(second.hits)) == (2, 4, [1])  # the two forms of glacier are one


def test_methods_of_mudy_are_entered_by_name(boats: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mudy.cli.data_commands.sentence_encoder", lambda *_: type("Encoder", (), {"embed": embed}))
    found = run(boats, "--suite", "yake.json", "-m", "yake", "-f", "json")
    assert found.exit_code == 0, found.stderr
    assert "boats has no document of the suite" in found.stderr
    assert json.loads(found.stdout)["measures"]["boats"]["F1@5"] > 0
    assert load("yake.json").method["method"] == "yake"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--function", "toy_method:longest"], "belong to --suite"),
        (["--suite", "r.json", "--limit", "1"], "--limit cannot be combined with --suite"),
        (["--suite", "r.json", "--averaging", "micro"], "--averaging cannot be combined with --suite"),
        (["--suite", "r.json", "--function", "toy_method:longest", "-m", "yake"], "cannot be combined with --function"),
        (["--suite", "r.json", "--function", "toy_method"], "write it as module:function"),
        (["--suite", "r.json", "--function", "toy_method:absent"], "must be installed or in the current folder"),
        (["--suite", "r.json", "--function", "toy_method:NUMBER"], "is not a function"),
        (["--suite", "r.json", "--function", "toy_method:one_text"], "Put it in a list"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_nothing_is_written(boats: Path, options: list[str], problem: str) -> None:
    found = run(boats, *options)
    assert found.exit_code != 0
    assert problem in found.stderr
    assert not Path("r.json").exists()


def test_documents_are_known_by_content_and_read_with_their_title(monkeypatch: pytest.MonkeyPatch) -> None:
    boat, ice = records()
    copy = Record("x", None, "FERRIES: the ferryboat  crossed a river", ("river", "ferryboat"))
    assert content_hash(copy) == content_hash(boat) != content_hash(ice)
    register(monkeypatch, boats=[content_hash(boat)])
    documents = suite_documents(Dataset("mine", "jsonl", (ice, boat)))
    assert [record.text for record in documents.values()] == ["Ferries\nThe ferryboat crossed a river."]
    register(monkeypatch, boats=["0" * 12])
    assert [record.id for record in suite_documents(Dataset("mine", "jsonl", (ice, boat))).values()] == ["b", "a"]


def test_512_words_are_read() -> None:
    (record,) = suite_documents(Dataset("d", "jsonl", (Record("a", "One two", "word " * 600, ("word",)),))).values()
    assert len(record.text.split()) == 512


def test_an_outcome_has_the_measures_of_the_phrases_it_stands_for() -> None:
    gold, phrases = ["oil spill", "Oil spills", "alaska"], ["tanker", "oil spills", "oil spill", "ship", "Alaska"]
    record = Record("r", None, "A tanker spilled oil off Alaska.", tuple(gold))
    made = outcome("h", record, phrases, embed)
    assert (made.gold, made.returned, made.hits) == (2, 4, [2, 4])
    for measure in (F1 @ 3, F1 @ 10, MAP @ 10, nDCG @ 10):
        assert measure([made.predictions()], MACRO) == measure([Predictions("h", phrases, gold)], MACRO)
    assert outcome("h", record, [], embed).hits == []


def test_faithful_phrases_stand_in_the_text_and_diverse_ones_share_no_stem() -> None:
    text = "The well-known ferry (of Lake Como) crossed\nthe lake."
    assert faithfulness(["Lake Como", "well known ferry", "crossed the lake", "ferry lake"], text) == 75
    assert faithfulness(["err"], text) == 0  # part of a word
    assert diversity(["lake", "lakes of Italy", "ferry"]) == pytest.approx(66.67)
    assert faithfulness([], text) is diversity(["lake"]) is None


def test_results_from_before_a_measure_have_all_others() -> None:
    old, new = Outcome("aa", 2, 3, [1], 50.0), Outcome("aa", 2, 3, [1], 50.0, 100.0, 40.0)
    assert suite.measured([new]) == {**suite.measured([old]), "faithful@10": 100, "diverse@10": 40}


def test_near_duplicates_are_found_across_sets_only() -> None:
    text = "the river froze over night and the ferry stayed in the harbour until spring"
    own = Record("a", None, text, ("river",))
    near = Record("b", None, f"{text} came back", ("river",))
    far = Record("c", None, "bread is baked in an oven of stone by the village", ("bread",))
    sets = [Dataset("one", "jsonl", (own, near)), Dataset("two", "jsonl", (near, far))]
    pairs = near_duplicates(sets)
    assert [pair[:4] for pair in pairs] == [("one", "a", "two", "b"), ("one", "b", "two", "b")]
    assert [pair[4] for pair in pairs] == [1, 1]


def test_a_result_that_was_changed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    SuiteResult("A", {}, 0.1, {"s": [Outcome("aa", 2, 3, [1], 50.0), Outcome("bb", 1, 0, [], 0.0)]}).save(file)
    assert load(file).sets["s"][0].hits == [1]
    file.write_text(file.read_text(encoding="utf-8").replace('"bb"', '"cc"'), encoding="utf-8")
    with pytest.raises(InputError, match="not those of its hash"):
        load(file)
    file.write_text(file.read_text(encoding="utf-8").replace('"suite": 1', '"suite": 0'), encoding="utf-8")
    with pytest.raises(InputError, match="version 0 of the suite"):
        load(file)


def test_the_leaderboard_is_that_of_its_result_files(tmp_path: Path) -> None:
    assert page(entries()) == PAGE.read_text(encoding="utf-8"), "run python -m tools.leaderboard"
    SuiteResult("A", {}, 0.1, {}).save(tmp_path / "r.json")
    with pytest.raises(InputError, match="not the documents of the suite: duc2001, nus"):
        entries(tmp_path)
