"""Phrases that a vocabulary lacks, counted over a finished corpus."""

import csv
import json
from pathlib import Path

import pytest

from mudy import Vocabulary
from mudy.corpus.comparison import NewTerm, new_terms
from tests.command_line import run as mudy

TEXTS = {
    "a": "The flood wall protects the harbour. Sandbags help where the flood wall ends.",
    "b": "Sandbags were filled at the harbour; each sandbag weighs ten kilograms.",
    "c": "A ferry leaves the harbour.",
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": name, "text": text}) for name, text in TEXTS.items()]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "terms.csv").write_text("id,label,alternatives\n1,flood wall,\n2,port,harbour|harbours\n")
    return tmp_path


def asked(folder: Path, *more: str | Path) -> tuple[str | Path, ...]:
    files = (folder / "in.jsonl", folder / "out.jsonl", "--vocabulary", folder / "terms.csv")
    return ("corpus", *files, "--method", "yake", *more)


@pytest.mark.real
def test_frequent_phrases_without_a_label_are_reported_with_their_documents(rows: Path) -> None:
    result = mudy(*asked(rows, "--boost", "0", "--new-terms", rows / "new.csv"))
    assert result.exit_code == 0, result.stderr
    with (rows / "new.csv").open(encoding="utf-8-sig", newline="") as stream:
        (line,) = csv.DictReader(stream)
    assert (line["phrase"].lower().rstrip("s"), line["documents"], line["examples"]) == ("sandbag", "2", "a; b")
    assert line["nearest_label"] in ("flood wall", "port")
    again = mudy(*asked(rows, "--boost", "0", "--new-terms", "-"))  # from the finished output
    assert "sandbag" in again.stdout.lower()
    mudy(*asked(rows, "--boost", "0", "--new-terms", rows / "new.jsonl"))
    assert json.loads((rows / "new.jsonl").read_text())["documents"] == 2


def test_the_most_frequent_terms_come_first_and_labels_by_their_stems_are_known(tmp_path: Path) -> None:
    lists = [["Ferries", "flood walls", "ferry"], ["ferry", "tide"], ["Tide", "ferry", "once"]]
    lines = [
        json.dumps({"id": n, "keyphrases": [{"text": t, "score": 0.5} for t in some], "error": None})
        for n, some in enumerate(lists)
    ]
    (tmp_path / "out.jsonl").write_text("\n".join(lines))
    terms = new_terms(tmp_path / "out.jsonl", Vocabulary.of(["flood wall"]))
    assert terms == [NewTerm("ferry", 3, 0.5, "0; 1; 2"), NewTerm("tide", 2, 0.5, "1; 2")]


@pytest.mark.parametrize("more", [("--new-terms", "x.csv"), ("--boost", "0", "--new-terms", "x.pdf")])
def test_what_cannot_be_reported_is_refused_before_the_run(
    rows: Path, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(rows)
    assert mudy(*asked(rows, *more)).exit_code == 2
    assert mudy("corpus", rows / "in.jsonl", rows / "out.jsonl", "--new-terms", "-").exit_code == 2
    assert not (rows / "out.jsonl").exists()
