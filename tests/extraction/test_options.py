"""Facts about the declaration of options: one place, from which Python, commands, requests and tools are derived."""

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import mudy
from mudy import Extractor
from mudy._support.validation import options_of
from mudy.engines import Compute
from mudy.errors import SettingError
from mudy.extraction.options import DEFAULT_OPTIONS, OptionArguments, Options, RankingFocus, Setup

DECLARATION = '    shine: float = declared(0.5, "How much to shine.", least=0, most=2, assistants=float)\n'
FOUND_BY = """
import asyncio, json
from click.testing import CliRunner
from mudy import Extractor
from mudy.cli.main import cli
from mudy.errors import SettingError
from mudy.integrations.mcp import LocalBackend, keyphrase_server
from mudy.server.request_schemas import ExtractRequest

extractor = Extractor("yake")
assert extractor.prepare("").options.shine == 0.5
assert extractor.extract("", shine=1).keyphrases == ()
try:
    extractor.extract("", shine=3)
except SettingError as error:
    python = str(error)
tools = asyncio.run(keyphrase_server(LocalBackend({"method": "yake"})).list_tools())
print(json.dumps({
    "python": python,
    "help": CliRunner().invoke(cli, ["extract", "--help"]).output,
    "wrong": CliRunner().invoke(cli, ["extract", "--shine", "3", "--text", "a"]).output,
    "service": ExtractRequest.model_json_schema()["properties"]["shine"],
    "request": ExtractRequest.model_validate({"text": "a", "shine": 1.5}).options().shine,
    "tool": next(tool for tool in tools if tool.name == "extract_keyphrases").input_schema["properties"]["shine"],
}))
"""


def test_an_option_that_is_declared_once_is_found_everywhere(tmp_path: Path) -> None:
    for extra in ("mcp", "fastapi"):
        pytest.importorskip(extra)
    shutil.copytree(Path(mudy.__file__).parent, tmp_path / "mudy", ignore=shutil.ignore_patterns("__pycache__"))
    declaring = tmp_path / "mudy" / "extraction" / "options.py"
    text = declaring.read_text(encoding="utf-8")
    before = "    source: str | None = declared("
    assert text.count(before) == 1
    declaring.write_text(text.replace(before, DECLARATION + before), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", FOUND_BY], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["python"] == "shine is 3, but must be a number between 0 and 2."
    assert "--shine" in seen["help"]
    assert "How much to shine." in seen["help"]
    assert "3.0 is not in the range 0<=x<=2" in seen["wrong"]
    assert seen["service"] == {
        "default": 0.5,
        "description": "How much to shine.",
        "maximum": 2,
        "minimum": 0,
        "title": "Shine",
        "type": "number",
    }
    assert seen["request"] == 1.5
    assert seen["tool"] == {"default": 0.5, "title": "Shine", "type": "number"}


def test_the_typed_arguments_of_extract_are_the_options() -> None:
    declared = {name: option.kind for name, option in options_of(Options).items() if name != "top_n"}
    assert get_type_hints(OptionArguments) == declared
    assert inspect.signature(Extractor.extract).parameters["top_n"].default == DEFAULT_OPTIONS.top_n


def test_the_arguments_of_an_extractor_are_those_declared() -> None:
    arguments = inspect.signature(Extractor).parameters
    declared = options_of(Setup) | options_of(Compute) | {"style": options_of(RankingFocus)["style"]}
    assert set(arguments) == {*declared, "report", "settings"}
    assert {name: arguments[name].default for name in declared} == {n: option.default for n, option in declared.items()}


@pytest.mark.parametrize("declaring", [Options, RankingFocus, Setup, Compute])
def test_every_option_has_help_and_a_default_that_is_valid(declaring: type) -> None:
    for option in options_of(declaring).values():
        assert option.help.endswith((".", "..."))
        assert option.checked(option.default) == option.default


def test_an_option_that_needs_another_says_so() -> None:
    with pytest.raises(SettingError, match="boost has no effect without vocabulary"):
        Options(boost=1)
