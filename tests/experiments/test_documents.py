"""The documents with gold keyphrases: every gold name occurs in its file, and every file is valid in its format."""

import ast
import csv
import html
import json
import re
from email import policy
from email.parser import BytesParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[2] / "experiments" / "documents"
FILES = FOLDER / "files"
FIELDS = ["id", "file", "genre", "language", "words", "main", "good", "junk"]
UNSPACED = {"zh", "ja"}

GOLD: list[dict[str, Any]] = [json.loads(line) for line in (FOLDER / "gold.jsonl").read_text("utf-8").splitlines()]
every_document = pytest.mark.parametrize("gold", GOLD, ids=lambda gold: str(gold["id"]))


def plain_text(path: Path) -> str:
    """The text of a file as its reader sees it, with single spaces and in folded case."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        text = "\n".join(["".join(cell["source"]) for cell in cells] + ["".join(output["text"]) for output in outputs])
    elif path.suffix in {".html", ".docbook"}:
        text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    return " ".join(text.split()).casefold()


def occurs(name: str, text: str, language: str) -> bool:
    """Whether a name occurs as whole words or, in languages without spaces, at all."""
    pattern = re.escape(name.casefold())
    if language not in UNSPACED:
        pattern = rf"(?<![^\W_]){pattern}(?![^\W_])"
    return re.search(pattern, text) is not None


def word_count(path: Path, language: str) -> int:
    """Words between spaces; in languages without spaces, characters other than punctuation."""
    text = path.read_text("utf-8")
    return len(re.findall(r"\w", text)) if language in UNSPACED else len(text.split())


def names(gold: dict[str, Any]) -> list[str]:
    return [name.casefold() for subject in gold["main"] + gold["good"] for name in subject]


def test_every_file_has_one_line_of_gold() -> None:
    assert sorted(gold["file"] for gold in GOLD) == sorted(path.name for path in FILES.iterdir())
    assert len({gold["id"] for gold in GOLD}) == len(GOLD)


@every_document
def test_fields_are_present(gold: dict[str, Any]) -> None:
    assert [field for field in gold if field != "note"] == FIELDS
    assert gold["id"] == Path(gold["file"]).stem
    assert gold["words"] == word_count(FILES / gold["file"], gold["language"])
    assert 300 <= gold["words"] <= 3000
    assert 4 <= len(gold["main"]) <= 8
    assert 5 <= len(gold["good"]) <= 15
    assert gold["junk"]


@every_document
def test_every_name_occurs_in_the_text(gold: dict[str, Any]) -> None:
    text = plain_text(FILES / gold["file"])
    assert [name for name in names(gold) if not occurs(name, text, gold["language"])] == []
    assert [phrase for phrase in gold["junk"] if phrase.casefold() not in text] == []


@every_document
def test_a_name_stands_for_one_subject_only(gold: dict[str, Any]) -> None:
    assert len(set(names(gold))) == len(names(gold))
    assert not set(names(gold)) & {phrase.casefold() for phrase in gold["junk"]}


def of_type(suffix: str) -> list[Path]:
    return sorted(FILES.glob(f"*{suffix}"))


@pytest.mark.parametrize("path", of_type(".eml"), ids=lambda path: path.stem)
def test_messages_are_valid(path: Path) -> None:
    message = BytesParser(policy=policy.default).parsebytes(path.read_bytes())
    assert not message.defects
    assert not any(part.defects for part in message.walk())
    assert all(message[header] for header in ("From", "To", "Subject", "Date", "Message-ID"))
    assert message["Date"].datetime


@pytest.mark.parametrize("path", of_type(".ipynb"), ids=lambda path: path.stem)
def test_notebooks_are_valid(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    assert notebook["nbformat"] == 4
    for cell in notebook["cells"]:
        assert cell["cell_type"] in {"markdown", "code"}
        if cell["cell_type"] == "code":
            ast.parse("".join(cell["source"]))
            assert {"outputs", "execution_count"} <= set(cell)


@pytest.mark.parametrize("path", of_type(".csv"), ids=lambda path: path.stem)
def test_tables_have_as_many_cells_in_every_row(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as lines:
        assert len({len(row) for row in csv.reader(lines, strict=True)}) == 1


@pytest.mark.parametrize("path", of_type(".srt"), ids=lambda path: path.stem)
def test_subtitles_are_numbered_and_in_order(path: Path) -> None:
    blocks = [block.splitlines() for block in path.read_text("utf-8").strip().split("\n\n")]
    assert [block[0] for block in blocks] == [str(number) for number in range(1, len(blocks) + 1)]
    times = [time for block in blocks for time in block[1].split(" --> ")]
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d,\d\d\d", time) for time in times)
    assert times == sorted(times)


@pytest.mark.parametrize("path", of_type(".docbook"), ids=lambda path: path.stem)
def test_docbook_is_well_formed(path: Path) -> None:
    assert ElementTree.parse(path).getroot().tag == "chapter"


@pytest.mark.parametrize("path", of_type(".py"), ids=lambda path: path.stem)
def test_source_files_parse(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
