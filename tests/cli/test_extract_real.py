"""`mudy extract` with a real model."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.command_line import SMALL, TRADE, VISION, run, spawn


@pytest.mark.real
def test_standard_output_is_pure_data_while_failures_are_told_beside_it(folder: Path) -> None:
    inputs = ("vision.txt", "absent.txt", "empty.txt", "trade.txt")
    with spawn("extract", *inputs, *SMALL, "--top-n", "2", "--format", "json", cwd=folder) as process:
        written, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (1, "mudy: absent.txt: no such file\n")
    vision, empty, trade = json.loads(written)
    assert [document["source"] for document in (vision, empty, trade)] == ["vision.txt", "empty.txt", "trade.txt"]
    assert [len(document["keyphrases"]) for document in (vision, empty, trade)] == [2, 0, 2]
    for document, text in ((vision, VISION), (trade, TRADE)):
        for phrase in document["keyphrases"]:
            best = phrase["occurrences"][0]
            assert text[best["start"] : best["end"]] == phrase["text"]


@pytest.mark.real
def test_a_file_and_standard_input_give_the_same_keyphrases_whatever_their_encoding(folder: Path) -> None:
    (folder / "marked.txt").write_text(VISION, encoding="utf-16")
    ended = run("extract", "marked.txt", "-", *SMALL, "--top-n", "25%", "--format", "jsonl", stdin=VISION)
    file, stdin = map(json.loads, ended.stdout.splitlines())
    assert (file["source"], stdin["source"]) == ("marked.txt", "-")
    assert file["keyphrases"] == stdin["keyphrases"]
    assert len(file["keyphrases"]) == 4  # a quarter of 14 words


@pytest.mark.real
def test_own_candidates_are_ranked_and_those_in_no_text_are_named(folder: Path) -> None:
    absent = "".join(f"absent {i}\n" for i in range(7))
    (folder / "phrases.txt").write_text(f"COMPUTER vision\nnatural images\n{absent}", encoding="utf-8")
    (folder / "stop.txt").write_text("Natural Images\n", encoding="utf-8")
    lists = ("--candidates", "phrases.txt", "--stop-phrases", "stop.txt")
    ended = run("extract", "vision.txt", *SMALL, *lists, "--format", "csv", "--top-n", "all")
    assert [row["text"] for row in csv.DictReader(io.StringIO(ended.stdout))] == ["computer vision"]
    assert ended.exit_code == 0
    assert "candidates not found in the text: 'absent 0'" in ended.stderr
    assert "'absent 4' and 2 more" in ended.stderr
    assert "absent 5" not in ended.stderr


@pytest.mark.slow
@pytest.mark.real
def test_a_candidate_too_long_for_the_model_fails_its_document_alone(folder: Path) -> None:
    phrase = " ".join(f"word{i}" for i in range(300))
    (folder / "long.txt").write_text(f"Here {phrase} stands.", encoding="utf-8")
    (folder / "phrases.txt").write_text(f"{phrase}\ncomputer vision\n", encoding="utf-8")
    ended = run("extract", "long.txt", "vision.txt", *SMALL, "--candidates", "phrases.txt", "--format", "jsonl")
    assert ended.exit_code == 1
    assert [json.loads(line)["source"] for line in ended.stdout.splitlines()] == ["vision.txt"]
    assert ended.stderr.startswith("mudy: long.txt: A candidate of ")
