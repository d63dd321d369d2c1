"""Facts about `mudy fit`: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from mudy import Extractor
from mudy.extraction.model_loader import ModelLoader
from mudy.methods.mudyplus.weights import load_weights
from tests import small
from tests.command_line import run

EXAMPLES = Path(__file__).parents[2] / "examples"
THINGS = ("river ice", "radar map", "ice road", "ferry crew", "truck driver")


def rows(*things: str) -> str:
    text = "The {0} matters. People saw the {0} near an old bridge. A small boat crossed, and the {0} was gone."
    made = [{"id": f"d{i}", "text": text.format(thing), "keyphrases": [thing]} for i, thing in enumerate(things)]
    return "".join(json.dumps(row) + "\n" for row in made)


@pytest.fixture
def rivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder's data; models are small and random."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ModelLoader, "encoder", lambda _: small.bert())
    monkeypatch.setattr(ModelLoader, "backbone", lambda _: small.decoder("llama"))
    path = tmp_path / "rivers.jsonl"
    path.write_text(rows(*THINGS))
    path.with_name("roads.jsonl").write_text(rows(*reversed(THINGS)))
    return path


def fit(*arguments: str | Path) -> Result:
    return run("fit", *arguments, "-o", "mine.json")


def test_figures_of_two_sets_are_printed_and_the_weights_written(rivers: Path) -> None:
    found = fit(rivers, "roads.jsonl")
    assert found.exit_code == 0, found.output
    title, head, *lines = found.stdout.splitlines()
    assert title == "mudyplus, fitted on 10 texts; micro F1@5/10/15 in per cent; left out: one data set"
    assert head.split("  ")[0] == "Data set"
    assert [line.split()[:3] for line in lines[:6]] == [
        [name, documents, own]
        for own in ("quick", "full")
        for name, documents in (("rivers", "5"), ("roads", "5"), ("mean", "10"))
    ]
    assert all(line.count("/") == 6 for line in lines[:6])
    assert found.stdout.count("Brier score of ") == 2
    assert "Probability" in found.stdout
    assert load_weights("mine.json").fitted_on == {"rivers": 5, "roads": 5}
    assert load_weights("mine.json").full is not None
    assert "Adapted to 10 examples: F1@10 of examples left out" in found.stdout
    assert [path.name for path in rivers.parent.iterdir() if path.name.startswith(".")] == []


def test_the_weights_are_used_where_they_are_named(rivers: Path) -> None:
    assert fit(rivers, "-q").exit_code == 0
    text = "A harbour wall broke. The harbour wall was old."
    shipped, mine = (
        run("extract", "--text", text, "-f", "json", *options) for options in ((), ("--set", "weights=mine.json"))
    )
    assert mine.exit_code == 0, mine.output
    found = [keyphrase["score"] for keyphrase in json.loads(mine.stdout)["keyphrases"]]
    assert found != [keyphrase["score"] for keyphrase in json.loads(shipped.stdout)["keyphrases"]]
    assert found == pytest.approx([k.score for k in Extractor(weights="mine.json").extract(text)], abs=1e-4)


def test_quick_asks_no_language_model(rivers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelLoader, "backbone", pytest.fail)
    found = fit(rivers, "--speed", "quick", "--limit", "4", "-q")
    assert found.exit_code == 0, found.output
    assert found.stderr == ""
    assert "left out: one text" in found.stdout
    assert load_weights("mine.json").full is None
    refused = run("extract", "--text", "river ice", "--set", "weights=mine.json")
    assert refused.exit_code == 2
    assert "mine.json: fitted without a language model" in refused.stderr
    assert "--speed quick" in refused.stderr
    assert run("extract", "--text", "river ice", "--set", "weights=mine.json", "--speed", "quick").exit_code == 0


def test_json_holds_weights_and_figures(rivers: Path) -> None:
    found = json.loads(fit(rivers, "--speed", "quick", "-f", "json", "-q").stdout)
    assert found["weights"] == json.loads(Path("mine.json").read_text())
    assert found["figures"][0]["dataset"] == "rivers"
    assert len(found["figures"][0]["left_out"]) == 3
    assert 0 <= found["calibration"]["quick"]["brier"] <= 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rivers.jsonl", "-o", "rivers.jsonl"], 2, "also an input"),
        (["rivers.jsonl", "-o", "."], 2, "is a directory"),
        (["rivers.jsonl", "-o", "nowhere/mine.json"], 2, "does not exist"),
        (["rivers.jsonl", "-o", "-"], 2, "must be a file"),
        (["rivers.jsonl"], 2, "--output"),
        (["-o", "mine.json"], 2, "DATA"),
        (["rivers.jsonl", "-o", "mine.json", "--form", "nonsense"], 2, "nonsense"),
        (["missing.jsonl", "-o", "mine.json"], 1, "no such file"),
        (["notes.txt", "rivers.jsonl", "-o", "mine.json"], 1, "not a data set in a known format"),
        (["rivers.jsonl", "rivers.jsonl", "-o", "mine.json"], 1, "Two data sets have the name"),
        (["rivers.jsonl", "-o", "mine.json", "--limit", "1"], 1, "at least 3 are needed"),
        (["no_gold.jsonl", "-o", "mine.json"], 1, "no text has a gold phrase among its candidates"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_no_file(
    arguments: list[str], code: int, message: str, rivers: Path
) -> None:
    Path("notes.txt").write_text("one two three\n")
    Path("no_gold.jsonl").write_text(rows(*THINGS).replace('"keyphrases": ["', '"keyphrases": ["zeppelin of '))
    Path("mine.json").write_text("before")
    data = rivers.read_bytes()
    found = run("fit", *arguments)
    assert found.exit_code == code, found.output
    assert message in found.stderr
    assert found.stdout == ""
    assert rivers.read_bytes() == data
    assert Path("mine.json").read_text() == "before"


@pytest.mark.parametrize("leaders", [1, 30])
def test_examples_of_which_the_language_model_sees_few_phrases_are_used(rivers: Path, leaders: int) -> None:
    options = ("--examples", rivers, "--set", f"leaders={leaders}", "-f", "json")
    found = run("extract", "--text", "A harbour wall broke. The harbour wall was old.", *options)
    assert found.exit_code == 0, found.output
    assert "5 examples" in found.stderr
    assert json.loads(found.stdout)["keyphrases"]


@pytest.mark.slow
@pytest.mark.real
def test_weights_of_the_examples_with_the_real_models(tmp_path: Path) -> None:
    output = tmp_path / "mine.json"
    found = run("fit", EXAMPLES / "tagged_notes.csv", "--threads", "1", "-o", output)
    assert found.exit_code == 0, found.output
    assert "shorter phrases" in found.stdout
    assert load_weights(output).fitted_on == {"tagged_notes": 6}
    text = (EXAMPLES / "floodplain.txt").read_text(encoding="utf-8")
    phrases = [keyphrase.text for keyphrase in Extractor(weights=str(output), threads=1).extract(text, 5)]
    assert max(len(phrase.split()) for phrase in phrases) == 1


@pytest.mark.slow
@pytest.mark.real
def test_texts_that_do_not_help_give_the_weights_of_the_style(tmp_path: Path) -> None:
    extractor, output, liked = Extractor(threads=1), tmp_path / "mine.json", tmp_path / "liked.jsonl"
    texts = [json.loads(line)["text"] for line in (EXAMPLES / "abstracts.jsonl").read_text("utf-8").splitlines()]
    lists = ([k.text for k in extractor.extract(text, 10, merge=False, distinct=False)] for text in texts)
    pairs = zip(texts, lists, strict=True)  # what the style finds already: nothing can be better
    liked.write_text("".join(json.dumps({"text": text, "keyphrases": found}) + "\n" for text, found in pairs), "utf-8")
    found = run("fit", liked, "--threads", "1", "-o", output, "-f", "json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["adaptation"]["helps"] is False
    assert json.loads(found.stdout)["weights"] == json.loads(output.read_text())
    assert load_weights(output) == load_weights()
