"""Facts about models named by an id on the hub."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mudy import models
from mudy.cli.main import cli
from mudy.errors import ModelUnavailable
from mudy.models import fetch
from tests.hub import Hub, serving

FILES = {
    "config.json": b"{}",
    "tokenizer.json": b"{} ",
    "model.safetensors": b"weights",
    "pytorch_model.bin": b"the same again",
    "tf_model.h5": b"for another library",
    "modeling_own.py": b"raise SystemExit",
    "onnx/model.onnx": b"for yet another",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one model, and an empty cache for it."""
    from huggingface_hub import constants

    monkeypatch.delenv("MUDY_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with serving() as made:
        made.models["someone/small"] = dict(FILES)
        monkeypatch.setattr(constants, "ENDPOINT", made.url)
        files = "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", made.url + files)
        yield made


def close(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the hub's address be one where nobody answers."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    hub.asked.clear()


@pytest.mark.parametrize(
    "name", ["t5-base", "gpt2", "bert-base-uncased", "distilgpt2", "google/gemma-2-9b", "HuggingFaceTB/SmolLM2-135M"]
)
def test_an_id_on_the_hub_is_a_name_and_to_check_it_asks_nobody(name: str, hub: Hub) -> None:
    models.check_name(name)
    assert hub.asked == []


@pytest.mark.parametrize("name", ["nosuch", "en", "model", "gemma", "t5-huge", "mistral7b"])
def test_a_plain_word_that_is_no_known_name_is_refused_without_asking_the_hub(name: str, hub: Hub) -> None:
    with pytest.raises(ModelUnavailable, match=r"Unknown model .* Known: gemma3-270m"):
        models.locate(name)
    assert hub.asked == []


def test_serve_refuses_a_model_that_nobody_knows_before_it_asks_the_hub(hub: Hub) -> None:
    done = CliRunner().invoke(cli, ["serve", "--model", "nosuch"])
    assert done.exit_code == 2
    assert "Unknown model 'nosuch'" in done.output
    assert hub.asked == []


def test_a_model_is_fetched_once_with_weights_of_one_kind_and_without_code(
    hub: Hub, capfd: pytest.CaptureFixture[str]
) -> None:
    steps: list[str] = []
    folder = Path(models.locate("someone/small", report=lambda step, *_: steps.append(step)))
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert "someone/small" in steps[0]
    assert capfd.readouterr() == ("", "")
    hub.asked.clear()
    assert models.locate("someone/small") == str(folder)
    assert not any("/resolve/" in request for request in hub.asked)


def test_weights_of_an_older_kind_are_taken_where_there_are_no_others() -> None:
    assert fetch.files_to_fetch(["config.json", "pytorch_model.bin", "flax_model.msgpack"]) == [
        "config.json",
        "pytorch_model.bin",
    ]


def test_an_id_that_the_hub_does_not_know_is_an_error_after_one_question(hub: Hub) -> None:
    with pytest.raises(ModelUnavailable, match=r"'someone/nosuch' .* the hub has no model of this id"):
        models.locate("someone/nosuch")
    assert len(hub.asked) == 1


def test_a_hub_out_of_reach_is_an_error_that_says_so(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    close(hub, monkeypatch)
    with pytest.raises(ModelUnavailable, match="the hub could not be reached"):
        models.locate("someone/small")


def test_a_hub_that_never_answers_is_given_up(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "LOOK_UP_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ModelUnavailable, match="the hub could not be reached"):
            models.locate("someone/small")
    assert hub.asked == []


def test_what_was_fetched_before_is_used_while_the_hub_is_out_of_reach(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = models.locate("someone/small")
    close(hub, monkeypatch)
    assert models.locate("someone/small") == folder
    assert models.locate("someone/small", fetch=False) == folder


@pytest.mark.parametrize("how", ["HF_HUB_OFFLINE", "MUDY_OFFLINE"])
def test_offline_the_hub_is_not_asked(how: str, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "HF_HUB_OFFLINE":
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    else:
        monkeypatch.setenv("MUDY_OFFLINE", "1")
    with pytest.raises(ModelUnavailable, match=how):
        models.locate("someone/small")
    assert hub.asked == []


def test_a_model_fetched_by_half_is_not_taken_for_whole(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(models.locate("someone/small"))
    (folder / "model.safetensors").unlink()
    close(hub, monkeypatch)
    with pytest.raises(ModelUnavailable, match="is not in the cache"):
        models.locate("someone/small")


def test_the_signature_of_a_hub_model_is_that_of_its_bytes(hub: Hub, tmp_path: Path) -> None:
    before = models.signature("someone/small")
    (tmp_path / "copy").mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / "copy" / name).write_bytes(FILES[name])
    assert models.signature(str(tmp_path / "copy")) == before
    (Path(models.locate("someone/small")) / "model.safetensors").resolve().write_bytes(b"weighty")
    assert models.signature("someone/small") != before
    assert hub.asked


def test_a_full_disk_is_told_with_the_place_and_the_size(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("huggingface_hub.snapshot_download", full)
    with pytest.raises(ModelUnavailable, match=r"cache: No space left on device \(0\.0 GB are needed"):
        models.locate("someone/small")
    assert hub.asked
