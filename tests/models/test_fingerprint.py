"""Facts about the bytes of models: all of them count, and damage is seen at every start."""

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from mudy import models
from mudy.cli.main import cli
from mudy.errors import ModelUnavailable
from mudy.models import cache
from mudy.models.fetch import Report

MINILM = models.KNOWN["minilm-l6"]
SIZE = 5 << 20  # of the weights: more than the first and the last MB


def write_model(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in MINILM.needed:
        (folder / name).write_bytes(name.encode() * (SIZE // len(name) if name == "model.safetensors" else 10))


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds one known model, of bytes that no library would load."""
    monkeypatch.setenv("MUDY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "models" / MINILM.name
    write_model(folder)
    cache.write_model_manifest(MINILM, folder)
    return folder


@pytest.fixture
def local(tmp_path: Path) -> Path:
    write_model(tmp_path / "mine")
    return tmp_path / "mine"


def flip(path: Path) -> None:
    """One bit in the middle; size and times stay."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(before.st_size // 2)
        byte = file.read(1)[0]
        file.seek(before.st_size // 2)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("file", MINILM.needed)
def test_a_bit_that_flips_while_size_and_time_stay_keeps_a_known_model_from_being_used(known: Path, file: str) -> None:
    assert models.locate("minilm-l6", fetch=False) == str(known)
    flip(known / file)
    with pytest.raises(ModelUnavailable, match=rf"{file} is damaged"):
        models.locate("minilm-l6", fetch=False)


def test_a_damaged_model_is_pulled_again_where_it_may_be(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(model: models.KnownModel, partial: Path, report: Report) -> None:
        write_model(partial / "model")
        report("built", 0, None)
        cache.write_model_manifest(model, partial / "model")

    monkeypatch.setattr(cache, "build", build)
    flip(known / "model.safetensors")
    steps: list[str] = []
    assert models.locate("minilm-l6", report=lambda step, *_: steps.append(step)) == str(known)
    assert any("again" in step and "damaged" in step for step in steps)
    assert models.verify("minilm-l6") is None


def test_mudy_models_calls_a_damaged_model_damaged(known: Path) -> None:
    row = next(line for line in CliRunner().invoke(cli, ["models"]).output.splitlines() if "minilm-l6" in line)
    assert row.split()[-1] == "yes"
    flip(known / "model.safetensors")
    row = next(line for line in CliRunner().invoke(cli, ["models"]).output.splitlines() if "minilm-l6" in line)
    assert row.split()[-1] == "damaged"
    rows = json.loads(CliRunner().invoke(cli, ["models", "--format", "json"]).output)
    assert not any(row["cached"] for row in rows)


def test_a_status_by_sizes_reads_no_file(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "quick_hash", lambda _: pytest.fail("a file was read"))
    assert [row.name for row in models.status() if row.cached] == ["minilm-l6"]
    os.truncate(known / "config.json", 3)
    assert not any(row.cached for row in models.status())


@pytest.mark.parametrize("file", MINILM.needed)
def test_the_signature_of_a_folder_changes_with_any_byte(local: Path, file: str) -> None:
    before = models.signature(str(local))
    flip(local / file)
    assert models.signature(str(local)) != before
    flip(local / file)
    assert models.signature(str(local)) == before


def test_the_signature_does_not_depend_on_times_the_place_or_hidden_files(local: Path, tmp_path: Path) -> None:
    before = models.signature(str(local))
    shutil.copytree(local, tmp_path / "copy")
    (tmp_path / "copy" / ".git").mkdir()
    (tmp_path / "copy" / ".git" / "HEAD").write_text("ref")
    os.utime(tmp_path / "copy" / "config.json", (1, 1))
    assert models.signature(str(tmp_path / "copy")) == before


def test_files_that_change_their_names_change_the_signature(local: Path) -> None:
    before = models.signature(str(local))
    (local / "tokenizer_config.json").rename(local / "other.json")
    assert models.signature(str(local)) != before


def test_a_known_model_and_a_copy_of_its_folder_have_one_signature(known: Path, tmp_path: Path) -> None:
    shutil.copytree(known, tmp_path / "copy")
    assert models.signature("minilm-l6") == models.signature(str(tmp_path / "copy"))


def test_the_quick_hash_is_that_of_all_bytes_at_once(tmp_path: Path) -> None:
    from xxhash import xxh3_128_hexdigest

    for size in (0, 1, cache._CHUNK_BYTES, cache._CHUNK_BYTES + 1, 3 * cache._CHUNK_BYTES):
        (tmp_path / "file").write_bytes(os.urandom(size))
        assert cache.quick_hash(tmp_path / "file") == xxh3_128_hexdigest((tmp_path / "file").read_bytes())


def test_weights_that_are_not_read_are_not_hashed_but_their_size_and_all_else_count(known: Path) -> None:
    flip(known / "model.safetensors")
    assert models.locate(MINILM.name, fetch=False, check="all but weights") == str(known)
    with pytest.raises(ModelUnavailable, match="damaged"):
        models.locate(MINILM.name, fetch=False)
    flip(known / "tokenizer.json")
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json is damaged"):
        models.locate(MINILM.name, fetch=False, check="all but weights")
    flip(known / "tokenizer.json")
    with (known / "model.safetensors").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ModelUnavailable, match="bytes instead of"):
        models.locate(MINILM.name, fetch=False, check="all but weights")
