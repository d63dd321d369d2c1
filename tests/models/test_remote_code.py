"""Facts about models that bring Python code: it is never run, whatever is typed."""

import ast
import io
import json
from pathlib import Path
from typing import Any

import pytest

import mudy
from mudy import Extractor
from mudy.errors import UnsupportedModel
from tests import small
from tests.taggers import english

SOURCE = Path(mudy.__file__).parent
CODE = """
import os
open(os.path.join({place!r}, "ran"), "w").close()
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
class Own(PretrainedConfig):
    model_type = "own"
class Model(PreTrainedModel):
    config_class = Own
class Tokens(PreTrainedTokenizerFast):
    pass
"""
OWN = {"AutoConfig": "own.Own", "AutoModel": "own.Model", "AutoModelForCausalLM": "own.Model"}


def change(path: Path, **values: Any) -> None:
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | values))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working model whose folder also holds code; whoever is asked types yes."""
    backbone = small.decoder("llama")
    backbone.model.save_pretrained(tmp_path / "model")
    backbone.tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "own.py").write_text(CODE.format(place=str(tmp_path)))
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n" * 100))
    return tmp_path / "model"


def own_config(folder: Path) -> None:
    change(folder / "config.json", model_type="own", auto_map=OWN)


def own_tokenizer(folder: Path) -> None:
    change(folder / "tokenizer_config.json", tokenizer_class="Tokens", auto_map={"AutoTokenizer": [None, "own.Tokens"]})


@pytest.mark.parametrize("harm", [own_config, own_tokenizer])
@pytest.mark.parametrize("method", ["mudy", "empirical", "embedrank"])
def test_the_code_of_a_model_is_not_run_though_yes_is_typed(method: str, harm: Any, folder: Path) -> None:
    harm(folder)
    made = Extractor(method, model=str(folder), encoder=str(folder), language=english())
    try:
        made.extract(small.TEXT)
    except UnsupportedModel as error:
        told = str(error)
    else:
        told = ""  # a library may know how to do without the code
    assert not (folder.parent / "ran").exists()
    if harm is own_config:
        assert ("never run" in told) or ("chat template" in told and method == "empirical")
        assert "trust_remote_code" not in told


def test_a_model_whose_code_transformers_has_itself_is_used_without_its_own(folder: Path) -> None:
    change(folder / "config.json", auto_map=OWN)
    made = Extractor("mudy", model=str(folder), language=english(), sam_layers=(1,), mixture=False)
    assert made.extract(small.TEXT, 3).keyphrases
    assert not (folder.parent / "ran").exists()


def calls(path: Path) -> list[ast.Call]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "from_pretrained"]


def test_every_call_that_loads_from_a_folder_says_that_its_code_is_not_trusted() -> None:
    found = [(path.name, call) for path in sorted(SOURCE.rglob("*.py")) for call in calls(path)]
    assert len(found) >= 4
    for name, call in found:
        values = {word.arg: word.value for word in call.keywords}
        trusted = values.get("trust_remote_code")
        assert isinstance(trusted, ast.Constant), name
        assert trusted.value is False, name
