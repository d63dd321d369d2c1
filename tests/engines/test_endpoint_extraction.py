"""Extraction with a chat model behind an address: from Python and from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mudy import Extractor, SettingError
from mudy.cli.main import cli
from tests.chat_server import KEY, TEXT, Server, fails, says
from tests.taggers import english


def test_the_extractor_asks_the_endpoint_and_looks_for_no_model(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.steps[:] = [says("Keyphrases: beaver dams; the moon; town")]
    extractor = Extractor("empirical", "gemma3-270", endpoint=server.url, language=english())
    result = extractor.extract(TEXT)
    assert [keyphrase.text for keyphrase in result.keyphrases] == ["Beaver dams", "town"]
    assert (result.model, result.dropped) == ("gemma3-270", ("the moon",))
    assert server.seen[0]["model"] == "gemma3-270"
    assert KEY not in json.dumps(result.to_dict()) + repr(result) + repr(extractor.scorer) + repr(vars(extractor))


def test_an_endpoint_for_a_method_that_does_not_write_is_refused() -> None:
    with pytest.raises(SettingError, match="promptrank does not write phrases"):
        Extractor("promptrank", endpoint="http://localhost/v1")


def run(server: Server, *arguments: str) -> Any:
    usual = ["extract", "--method", "empirical", "--endpoint", server.url, "--model", "qwen3:8b"]
    return CliRunner().invoke(cli, [*usual, *arguments])


def test_the_command_line_asks_the_endpoint_and_tells_what_was_dropped(server: Server) -> None:
    server.steps[:] = [says("Keyphrases: river; the moon; Mars")]
    ended = run(server, "--text", TEXT, "--format", "json")
    assert ended.exit_code == 0
    found = json.loads(ended.stdout)
    assert [phrase["text"] for phrase in found["keyphrases"]] == ["river"]
    assert (found["model"], found["dropped"]) == ("qwen3:8b", ["the moon", "Mars"])
    assert ended.stderr.startswith("mudy: 2 phrases")
    assert "'the moon', 'Mars'" in ended.stderr


def test_a_refused_key_ends_the_whole_run_with_one_line(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt").write_text(TEXT)
    server.steps[:] = [fails(401)]
    ended = run(server, str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert (ended.exit_code, ended.stdout, len(ended.stderr.splitlines())) == (1, "", 1)
    assert len(server.seen) == 1


def test_an_address_that_is_none_is_wrong_usage() -> None:
    arguments = ["extract", "--method", "empirical", "--endpoint", "localhost:8080", "--model", "m", "--text", TEXT]
    ended = CliRunner().invoke(cli, arguments)
    assert ended.exit_code == 2
    assert "endpoint is 'localhost:8080'" in ended.stderr
