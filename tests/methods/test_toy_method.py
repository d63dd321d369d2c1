"""A method is one file and one line of registration: from there on it is found everywhere."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.reproduce.comparison import simple_rows
from experiments.reproduce.workspace import ReproduceOptions, Workspace
from mudy.evaluation.runs import Run
from mudy.methods import METHODS
from tests.browser import launched, visiting
from tests.page import find, ready, rows
from tests.served import Served, serving
from tests.server.clients import ask_app

LINE = ("toy", "tests.methods.toy:Toy")  # the line in METHODS
COMMAND = (
    f"from mudy.methods import METHODS; METHODS[{LINE[0]!r}] = {LINE[1]!r}; from mudy.__main__ import main; main()"
)
ROOT = Path(__file__).parents[2]
TEXT = "Beavers built three dams. The old river dams hold the river."


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, *LINE)


def mudy(*arguments: str) -> str:
    """What the command line writes, with the toy registered before it starts."""
    command = [sys.executable, "-c", COMMAND, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


# -- The command line -------------------------------------------------------------------------------------------------


def test_the_command_line_lists_it_with_its_settings() -> None:
    assert "toy " in mudy("methods")
    explained = mudy("methods", "toy")
    assert "The number of a phrase's words" in explained
    assert "--set power=1.0" in explained
    assert json.loads(mudy("methods", "toy", "--format", "json"))[0]["title"] == "Toy"


def test_the_command_line_extracts_with_it() -> None:
    printed = mudy("extract", "--method", "toy", "--set", "power=2", "--text", TEXT, "--format", "json")
    result = json.loads(printed)
    assert result["method"] == "toy"
    best = result["keyphrases"][0]
    assert best["text"] == "old river dams"
    assert best["score"] == 9
    assert best["occurrences"][0]["words"] == 3


# -- The service and its page -----------------------------------------------------------------------------------------


def toy_of(methods: list[dict[str, Any]]) -> dict[str, Any]:
    (toy,) = (method for method in methods if method["name"] == "toy")
    return toy


@pytest.mark.usefixtures("registered")
def test_the_service_describes_it() -> None:
    toy = toy_of(ask_app("GET", "/v1/methods").json()["methods"])
    assert toy["title"] == "Toy"
    assert toy["citation"] == "Nobody, Nowhere 2026"
    assert toy["needs"] == []
    assert toy["asks"] is None
    assert toy["available"] is True
    (part,) = toy["parts"]
    assert (part["name"], part["symbol"], part["words"]) == ("words", "n", "words in the phrase")
    assert toy["settings"] == {"power": 1.0}
    assert toy["descriptions"] == {"power": "Exponent of the number of words."}
    assert toy["presets"] == []


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = ("--method", "toy")
    environment = {"PYTHONPATH": str(ROOT)}
    with serving(tmp_path_factory.mktemp("toy"), *options, environment=environment, mudy=("-c", COMMAND)) as service:
        yield service


def test_the_page_offers_it_and_names_its_parts(served: Served) -> None:
    with launched() as browser, visiting(browser, served.address) as visit:
        page = visit.page
        ready(page)
        assert page.locator("#method option[value=toy]").text_content() == "Toy"
        page.select_option("#method", "toy")
        find(page, TEXT)
        assert rows(page)[0] == "old river dams"
        page.locator(".mv-ranking .mv-phrase").first.click()
        assert "words in the phrase" in (page.locator("body").text_content() or "")


# -- The paper's tables -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registered")
def test_reproduce_compares_it_in_a_row_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    document = {"id": "one", "text": TEXT, "keyphrases": ["river dams"]}
    (tmp_path / "data" / "duc2001.jsonl").write_text(json.dumps(document))
    workspace = Workspace(ReproduceOptions(tmp_path / "data", (), tmp_path / "out"))
    (row,) = (row for row in simple_rows(workspace) if row.label == "Toy")
    assert row.paper == {}
    run = row.of("duc2001")
    assert isinstance(run, Run)
    assert [judged.words for judged in run.documents] == [len(TEXT.split())]
