"""The plug-in for `llm`, found by the real package."""

import subprocess
import sys

import llm
import pytest

from mudy import Extractor
from mudy.integrations import llm as plugin
from tests.integrations.texts import PARAGRAPHS


def test_the_tool_is_found_by_the_entry_point() -> None:
    tool = llm.get_tools()["extract_keyphrases"]
    assert tool.plugin == "mudy"
    assert tool.implementation is plugin.extract_keyphrases
    assert set(tool.input_schema["properties"]) == {"text", "top_n"}


def test_the_command_line_of_llm_lists_the_tool() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "llm", "tools", "list"], capture_output=True, text=True, timeout=120, check=True
    )
    assert "extract_keyphrases(text: str, top_n: int = 10)" in ran.stdout


def test_a_start_of_llm_loads_no_model() -> None:
    code = "import sys, mudy.integrations.llm; print({'torch', 'spacy', 'transformers'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.strip() == "set()"


@pytest.mark.real
def test_the_tool_gives_the_keyphrases_of_the_default_method() -> None:
    wanted = Extractor().extract(PARAGRAPHS[0], top_n=3)
    keyphrases = plugin.extract_keyphrases(PARAGRAPHS[0], 3)
    assert [keyphrase["text"] for keyphrase in keyphrases] == [keyphrase.text for keyphrase in wanted]
    assert all(PARAGRAPHS[0][k["start"] : k["end"]] == k["text"] for k in keyphrases)
