"""Weights in 8 bits between processes: converted at once, with no room to write, damaged by another."""

import subprocess
import sys
from pathlib import Path

import pytest

from mudy._support.processes import python_environment
from mudy.engines.light.weights import converted_path
from tests.engines.light import saved

CONVERT = """
import sys
from pathlib import Path
from mudy.engines.light.weights import int8_weights
told = []
weights = int8_weights(Path(sys.argv[1]), lambda words, done, total: told.append(words))
print(sum(int(weights.tensor(name).sum()) for name in weights), sum("Rounding" in words for words in told) > 0)
"""
WITHOUT_ROOM = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # a larger file cannot be written, as on a full disk
"""
UNTIL_CUT = """
import sys
from pathlib import Path
from mudy.engines.light import weights
print("started", flush=True)
sys.stdin.readline()
try:
    weights.int8_weights(Path(sys.argv[1]))
except weights.ModelUnavailable as error:
    print(error)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved.decoder_folder(tmp_path_factory.mktemp("llama"), "llama")


def started(code: str, model: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=python_environment(),
    )


def ended(process: subprocess.Popen[str], say: str = "") -> tuple[str, str]:
    printed, errors = process.communicate(say, timeout=120)
    return printed.strip(), errors


def files_beside(path: Path) -> list[Path]:
    return [each for each in path.parent.iterdir() if each != path and each.suffix != ".lock"]


def test_of_three_processes_that_begin_at_once_one_converts_and_all_have_the_same_weights(model: Path) -> None:
    answers = [ended(process) for process in [started(CONVERT, model) for _ in range(3)]]
    assert [errors for _, errors in answers] == ["", "", ""]
    sums, converted = zip(*(printed.split() for printed, _ in answers), strict=True)
    assert len(set(sums)) == 1
    assert sorted(converted) == ["False", "False", "True"]
    assert files_beside(converted_path(model)) == []


@pytest.mark.skipif(sys.platform == "win32", reason="a limit for the size of files")
def test_without_room_to_write_a_process_says_so_leaves_nothing_and_the_next_one_converts(model: Path) -> None:
    _, errors = ended(started(WITHOUT_ROOM + CONVERT, model))
    assert "ModelUnavailable: The 8-bit weights of" in errors
    assert "Set MUDY_HOME to a folder that can be written" in errors
    path = converted_path(model)
    assert not path.exists()
    assert files_beside(path) == []
    assert ended(started(CONVERT, model))[0].endswith("True")


def test_what_another_process_damages_is_noticed_and_made_again(model: Path) -> None:
    first, _ = ended(started(CONVERT, model))
    path = converted_path(model)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(damaged)
        assert ended(started(CONVERT, model)) == (first, "")
        assert path.read_bytes() == whole


def test_a_source_that_is_cut_short_before_it_is_converted_is_an_error_of_ours(model: Path, tmp_path: Path) -> None:
    copied = tmp_path / "model"
    copied.mkdir()
    for file in model.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    process = started(UNTIL_CUT, copied)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    source = copied / "model.safetensors"
    source.write_bytes(source.read_bytes()[:1000])
    printed, errors = ended(process, "\n")
    assert "cannot be read: the file is cut short" in printed or "bytes instead of" in printed
    assert errors == ""
