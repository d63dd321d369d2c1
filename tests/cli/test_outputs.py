"""No command writes over what it reads: through links, patterns, options, or standard input."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mudy.cli.main import cli

TEXT = "River gauges measure the water level. The flood gauge is read each day."


def command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    (tmp_path / "hard.txt").hardlink_to(path)
    (tmp_path / "soft.html").symlink_to(path)
    (tmp_path / "phrases.txt").write_text("flood gauge\n")
    return path


EXTRACT = ["-m", "yake", "-f", "jsonl"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.txt", *EXTRACT, "-o", "a.txt"],
        ["a.txt", *EXTRACT, "-o", "./hard.txt"],
        ["a.txt", *EXTRACT, "-o", "soft.html"],
        ["*.txt", *EXTRACT, "-o", "a.txt"],
        ["**/*.txt", *EXTRACT, "-o", "soft.html"],
        ["--text", TEXT, *EXTRACT, "--candidates", "a.txt", "-o", "a.txt"],
        ["--text", TEXT, *EXTRACT, "--stop-phrases", "a.txt", "-o", "hard.txt"],
    ],
)
def test_extract_refuses_an_output_that_it_reads(text: Path, arguments: list[str]) -> None:
    found = command("extract", *arguments)
    assert found.exit_code == 2
    assert "is also an input" in found.stderr
    assert text.read_text() == TEXT


def test_extract_refuses_the_file_that_standard_input_comes_from(text: Path) -> None:
    with text.open("rb") as stream:
        words = [sys.executable, "-m", "mudy", "extract", "-", *EXTRACT, "-o", "hard.txt"]
        done = subprocess.run(words, stdin=stream, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is also an input" in done.stderr
    assert text.read_text() == TEXT


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.txt", "--html", "a.txt"],
        ["a.txt", "--html", "soft.html"],
        ["a.txt", "--html", "hard.txt"],
        ["a.txt", "--gold", "phrases.txt", "--html", "phrases.txt"],
        ["a.txt", "--candidates", "phrases.txt", "--html", "phrases.txt"],
        ["a.txt", "--stop-phrases", "phrases.txt", "--html", "phrases.txt"],
    ],
)
def test_explain_refuses_an_output_that_it_reads(text: Path, arguments: list[str]) -> None:
    found = command("explain", *arguments, "-m", "yake")
    assert found.exit_code == 2
    assert "is also an input" in found.stderr
    assert text.read_text() == TEXT
    assert Path("phrases.txt").read_text() == "flood gauge\n"


def test_texts_are_not_saved_over_texts_that_are_read(text: Path) -> None:
    Path("a").write_text("Beaver dams slow the stream.")
    assert command("extract", "a", "a.txt", *EXTRACT, "--save-text", ".").exit_code == 0
    assert text.read_text() == TEXT
    assert Path("a-2.txt").read_text() == "Beaver dams slow the stream."
    assert Path("a.txt.txt").read_text() == TEXT


def test_saved_texts_whose_names_differ_in_case_alone_are_kept_apart_on_every_system(tmp_path: Path) -> None:
    for folder, name in (("one", "Note"), ("two", "note")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(f"The river dam of {folder} holds.", encoding="utf-8")
    sources = tmp_path / "one" / "Note", tmp_path / "two" / "note"
    assert command("extract", *sources, *EXTRACT, "--save-text", tmp_path / "texts").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "texts").iterdir()) == ["Note.txt", "note-2.txt"]


def test_a_name_that_the_code_page_of_standard_output_lacks_is_printed_as_utf_8(tmp_path: Path) -> None:
    row = {"id": "1", "text": "The river dam holds.", "keyphrases": ["river dam"]}
    (tmp_path / "河流.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    code_page = {**os.environ, "PYTHONIOENCODING": "cp1252"}  # as where Windows redirects it
    evaluated = [sys.executable, "-m", "mudy", "evaluate", "--method", "yake", str(tmp_path / "河流.jsonl")]
    done = subprocess.run(evaluated, env=code_page, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "河流" in done.stdout.decode()


def test_a_saved_text_replaces_a_link_and_does_not_follow_it(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("private")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt.txt").symlink_to(tmp_path / "private")
    (tmp_path / "a.txt").write_text("The flood gauge.")
    found = command("extract", tmp_path / "a.txt", *EXTRACT, "--save-text", tmp_path / "texts")
    assert found.exit_code == 0, found.stderr
    assert (tmp_path / "private").read_text() == "private"
    assert (tmp_path / "texts/a.txt.txt").read_text() == "The flood gauge."


def test_an_output_is_not_written_through_a_link_that_lies_beside_it(text: Path, tmp_path: Path) -> None:
    """The name that it has until it is whole cannot be guessed; before, it held the numbers of process and thread."""
    (tmp_path / "private").write_text("private")
    for number in (os.getpid(), f"{os.getpid()}-{threading.get_ident()}"):
        (tmp_path / f".out.jsonl.{number}.part").symlink_to(tmp_path / "private")
    found = command("extract", text, *EXTRACT[:2], "-f", "json", "-o", tmp_path / "out.jsonl")
    assert found.exit_code == 0, found.stderr
    assert (tmp_path / "private").read_text() == "private"
    assert json.loads((tmp_path / "out.jsonl").read_text())
