"""What is built of the project: the same bytes each time, and a wheel that works where nothing else is installed."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
needs_builder = pytest.mark.skipif(find_spec("hatch_vcs") is None, reason="hatch-vcs is needed: it is in lock/dev.txt")


def built(folder: Path, seconds: int) -> dict[str, bytes]:
    """A wheel and an sdist of a copy of the project, whose files have some time."""
    copy = folder / "project"
    kept = shutil.ignore_patterns("__pycache__", "tests", "results")
    for name in ("src", "examples", "docs", "lock", "tools"):
        shutil.copytree(ROOT / name, copy / name, ignore=kept)
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "constraints.txt", "Makefile"):
        shutil.copy(ROOT / name, copy / name)
    for path in copy.rglob("*"):
        os.utime(path, (seconds, seconds))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1577836800"}
    command = [sys.executable, "-P", "-m", "hatchling", "build", "--directory", str(folder / "dist")]
    subprocess.run(command, cwd=copy, env=environment, capture_output=True, check=True, timeout=300)
    return {path.name: path.read_bytes() for path in (folder / "dist").iterdir()}


@needs_builder
def test_a_wheel_and_an_sdist_have_the_same_bytes_whenever_they_are_built(tmp_path: Path) -> None:
    first, second = built(tmp_path / "one", 1_600_000_000), built(tmp_path / "two", 1_700_000_000)
    assert sorted(Path(name).suffix for name in first) == [".gz", ".whl"]
    assert first == second


@needs_builder
@pytest.mark.slow
@pytest.mark.real
def test_the_wheel_alone_in_an_empty_environment_runs_the_example(tmp_path: Path) -> None:
    built(tmp_path, 1_600_000_000)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=300)
    binaries = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    install: list[str | Path] = [
        binaries / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        ROOT / "constraints.txt",
        wheel,
    ]
    subprocess.run(install, env=environment, check=True, timeout=1800)
    command: list[str | Path] = [binaries / "mudy", "extract", ROOT / "examples" / "floodplain.txt"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert "floodplain" in ran.stdout
    listed = subprocess.run(
        [binaries / "python", "-m", "pip", "list"], env=environment, capture_output=True, text=True, check=True
    )
    assert not {"torch", "transformers", "scipy"} & {line.split()[0] for line in listed.stdout.splitlines()}
