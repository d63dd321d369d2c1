"""Every example of an integration runs, with the real models and the real packages, and prints phrases of its text."""

import runpy
import subprocess
import sys

import pytest

from tests.integrations.texts import EXAMPLES

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]
HEAVY = ("bertopic", "dask", "haystack", "keyllm", "llama_index", "spark")
PRINTED = {  # by the tool: a word that any good list of its text has
    "bertopic": "reefs",
    "dask": "sourdough",
    "datasets": "sourdough",
    "duckdb": "sourdough",
    "haystack": "floodplain",
    "keybert_calls": "floodplain",
    "keyllm": "floodplain",
    "langchain": "floodplain",
    "llama_index": "floodplain",
    "llm": "floodplain",
    "mcp": "floodplain",
    "pandas": "sourdough",
    "polars": "sourdough",
    "sklearn": "['water', 'food']",
    "spacy": "floodplain",
    "spark": "sourdough",
}


def example(tool: str) -> str:
    return str(EXAMPLES / "integrations" / f"with_{tool}.py")


@pytest.mark.parametrize("tool", [tool for tool in PRINTED if tool not in HEAVY])
def test_an_example_prints_what_it_promises(tool: str, capfd: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(example(tool), run_name="__main__")
    assert PRINTED[tool] in capfd.readouterr().out


@pytest.mark.heavy_package
@pytest.mark.parametrize("tool", HEAVY)
def test_an_example_with_a_heavy_package_prints_what_it_promises(tool: str) -> None:
    ran = subprocess.run([sys.executable, example(tool)], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert PRINTED[tool] in ran.stdout


def test_no_example_is_left_out() -> None:
    assert {path.stem.removeprefix("with_") for path in (EXAMPLES / "integrations").glob("*.py")} == set(PRINTED)


def test_examples_are_short() -> None:
    for path in (EXAMPLES / "integrations").glob("*.py"):
        code = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        assert len(code) <= 20, path.name
