"""Commands that list and manage models."""

import json
from pathlib import Path

import pytest

from tests.command_line import run


def test_models_are_listed_with_size_licence_and_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUDY_HOME", str(folder / "home"))
    listed = {model["name"]: model for model in json.loads(run("models", "--format", "json").stdout)}
    assert listed.keys() == {"gemma3-270m", "smollm2-135m", "minilm-l6", "use-multilingual"}
    assert listed["gemma3-270m"]["licence"] == "Gemma Terms of Use"
    assert listed["smollm2-135m"]["cached"] is False
    assert listed["smollm2-135m"]["path"] == str(folder / "home" / "models" / "smollm2-135m")
    table = run("models").stdout
    assert "smollm2-135m decoder 135 M" in " ".join(table.split())
    assert str(folder / "home") in table


def test_an_absent_model_is_told_by_verify_and_harmless_to_remove(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUDY_HOME", str(folder / "home"))
    monkeypatch.setenv("MUDY_OFFLINE", "1")
    assert run("models", "verify").exit_code == 0
    assert run("models", "verify", "minilm-l6").exit_code == 1
    assert "was not in the cache" in run("models", "remove", "minilm-l6").stderr
    pulled = run("models", "pull", "minilm-l6", "smollm2-135m")
    assert (pulled.exit_code, pulled.stdout, len(pulled.stderr.splitlines())) == (1, "", 2)
