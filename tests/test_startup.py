"""What a command loads: no library and no model that it does not need."""

import json
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from mudy._support import this_process

HEAVY = ("torch", "transformers", "onnxruntime", "spacy", "scipy", "ray", "fastapi", "matplotlib")
RUN = f"""
import json, sys
from mudy.cli.main import run_cli
try:
    run_cli()
except SystemExit as end:
    code = end.code or 0
print(json.dumps([code, [name for name in {HEAVY!r} if name in sys.modules]]), file=sys.stderr)
"""
TEXT = "Deep learning has changed computer vision. Large language models find keyphrases in scientific papers."
NOWHERE = ("--model", "some/model-that-is-nowhere")


def loaded(*arguments: str, cwd: Path | None = None) -> set[str]:
    """The heavy libraries that a good command has loaded at its end."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, timeout=300, cwd=cwd, check=False
    )
    code, found = json.loads(ran.stderr.splitlines()[-1])
    assert code == 0, ran.stderr
    return set(found)


@pytest.mark.parametrize("command", ["--help", "models", "languages", "extract --help", "serve --help"])
def test_a_command_that_reads_no_text_loads_nothing(command: str) -> None:
    assert loaded(*command.split()) == set()


def test_methods_are_listed_without_transformers_and_without_a_tagger() -> None:
    assert not loaded("methods") & {"transformers", "spacy"}


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_an_empty_file_needs_neither_tagger_nor_model(tmp_path: Path, text: str) -> None:
    (tmp_path / "empty.txt").write_text(text)
    assert loaded("extract", "empty.txt", cwd=tmp_path) == set()


def test_a_text_without_candidates_needs_no_model() -> None:
    assert loaded("extract", "--text", "It was so, and then it was not.", *NOWHERE) == {"spacy"}


@pytest.mark.parametrize("method", ["yake", "textrank", "singlerank", "topicrank", "multipartiterank"])
def test_a_method_without_a_model_loads_neither_torch_nor_transformers(method: str) -> None:
    assert loaded("extract", "--text", TEXT, "--method", method) == {"spacy"}


def test_only_a_process_of_our_own_keeps_torch_from_thinc() -> None:
    """A caller of the library may use spaCy's transformers beside us."""
    code = "import mudy, thinc.compat; mudy.Extractor('yake').extract('A radar map.'); print(thinc.compat.has_torch)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert ran.stdout.strip() == "True"


def test_thinc_keeps_torch_where_a_pipeline_may_compute_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.meta_path)
    monkeypatch.setattr(sys, "meta_path", list(before))
    monkeypatch.setattr(this_process, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setattr(this_process, "_owned", False)
    this_process.own_process()
    assert sys.meta_path[1:] == before
    monkeypatch.setattr(this_process, "find_spec", lambda _: None)
    this_process.own_process()
    assert sys.meta_path[3:] == before


def test_only_a_process_of_our_own_shortens_spacy_and_its_command_line_can_still_be_imported() -> None:
    code = (
        "import sys; from mudy._support import this_process; this_process.own_process(); import spacy; "
        "print('spacy.cli.download' in sys.modules, callable(spacy.load)); import spacy.cli.validate"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert ran.stdout.split() == ["False", "True"]


@pytest.mark.real
def test_an_embedded_model_loads_neither_torch_nor_transformers() -> None:
    found = loaded("extract", "--text", TEXT, "--model", "smollm2-135m", "--threads", "1")
    assert found == {"onnxruntime", "spacy"}
