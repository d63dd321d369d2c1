"""Weights in 8 bits: written once, checked at every use, made again when damaged or outdated."""

import errno
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mudy.engines.light import weights
from mudy.engines.light.weights import WeightFile, converted_path, int8_weights
from mudy.errors import ModelUnavailable
from mudy.models import home


@pytest.fixture
def model(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "model"))


def test_every_weight_is_within_half_a_step_of_what_it_was(model: Path) -> None:
    source, rounded = WeightFile(model / "model.safetensors"), int8_weights(model)
    for name in source:
        values, found = source.floats(name), rounded.tensor(name)
        if found.dtype == np.float32:
            np.testing.assert_array_equal(found, values)
            continue
        scales = rounded.tensor(f"{name}.scales")[:, None]
        whole = found.astype(np.float32) - 128 if found.dtype == np.uint8 else found.T.astype(np.float32)
        assert (np.abs(whole * scales - values) <= scales * 0.5001).all()


def test_what_was_converted_is_used_again(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    int8_weights(model)
    monkeypatch.setattr(weights, "convert_to_int8", None)
    assert "model.norm.weight" in int8_weights(model)


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "header"])
def test_a_damaged_file_is_noticed_and_made_again(model: Path, damage: str) -> None:
    int8_weights(model)
    path = converted_path(model)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "cut": whole[:middle],
            "changed": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "empty": b"",
            "header": b"\xff" * 8 + whole[8:],
        }[damage]
    )
    int8_weights(model)
    assert path.read_bytes() == whole


def test_weights_of_another_source_are_made_again(model: Path) -> None:
    int8_weights(model)
    before = converted_path(model).stat().st_mtime_ns
    os.utime(model / "model.safetensors", ns=(1, 1))
    int8_weights(model)
    assert converted_path(model).stat().st_mtime_ns > before


def test_a_copy_of_the_cache_is_used_as_it_is(model: Path) -> None:
    source = model / "model.safetensors"
    (model / "manifest.json").write_text('{"files": {"model.safetensors": {"size": 1, "xxh3_128": "abc"}}}')
    before = weights.source_identity(source)
    os.utime(source, ns=(1, 1))
    assert weights.source_identity(source) == before


def test_two_that_convert_at_once_do_the_work_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, convert = [], weights.convert_to_int8

    def counted(*given: Any) -> None:
        made.append(given)
        convert(*given)

    monkeypatch.setattr(weights, "convert_to_int8", counted)
    with ThreadPoolExecutor(2) as threads:
        files = list(threads.map(int8_weights, [model, model]))
    assert len(made) == 1
    assert list(files[0]) == list(files[1])


def test_a_full_disk_is_an_error_of_ours_and_leaves_nothing(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(weights, "safetensors_header", full)
    with pytest.raises(ModelUnavailable, match=r"No space left.*quarter of the model's size.*MUDY_HOME"):
        int8_weights(model)
    assert [path for path in converted_path(model).parent.iterdir() if path.suffix != ".lock"] == []


def test_the_weights_of_a_cached_model_are_kept_with_it_and_those_of_a_folder_apart(model: Path) -> None:
    assert converted_path(model).parent == home() / "converted"
    assert converted_path(home() / "models" / "gemma3-270m").parent.name == "gemma3-270m"


@pytest.mark.parametrize("keep", [0, 7, 1000])
def test_float_weights_that_are_cut_short_are_not_read(model: Path, keep: int) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        WeightFile(path)


def test_a_folder_without_weights_in_one_file_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"one model\.safetensors"):
        int8_weights(tmp_path)
