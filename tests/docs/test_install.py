"""What make installs, by hash, where the CPU build of torch comes from, and what an old pip makes of the extras."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLDEST_PIP = "22.3"  # that of Python 3.11.0
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is needed")


def planned(goal: str, folder: Path) -> str:
    """The commands that a goal would run in a bare clone."""
    for name in ("Makefile", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "lock", folder / "lock")
    made = subprocess.run(["make", "--dry-run", goal], cwd=folder, capture_output=True, text=True, check=True)
    return made.stdout


@needs_make
@pytest.mark.parametrize(
    ("goal", "lock"),
    [
        ("run", "lock/run.txt"),
        ("serve", "lock/run.txt"),
        ("docs", "lock/dev.txt"),
        ("test", "lock/dev.txt"),
        ("test-slow", "lock/dev.txt"),
        ("test-all", "lock/dev.txt"),
    ],
)
def test_a_goal_installs_what_it_needs_by_hash_and_says_so(goal: str, lock: str, tmp_path: Path) -> None:
    commands = planned(goal, tmp_path)
    installs = [line for line in commands.splitlines() if re.search(r"--requirement lock/(run|dev)\.txt", line)]
    assert len(installs) == 1
    assert f"--require-hashes --no-deps --requirement {lock} >>" in installs[0]
    assert f"Installing the packages of {lock}" in commands


@needs_make
def test_help_lists_every_goal_with_a_description() -> None:
    described = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[0] for line in listed.splitlines()] == described
    assert {"run", "serve", "test"} <= set(described)


@needs_make
def test_a_failed_installation_shows_the_log(tmp_path: Path) -> None:
    planned("run", tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho no route to the index\nexit 1\n")
    python.chmod(0o755)
    (tmp_path / ".venv" / "pip.installed").touch()
    failed = subprocess.run(["make", "run"], cwd=tmp_path, capture_output=True, text=True)
    assert failed.returncode != 0
    assert "no route to the index" in failed.stdout
    assert not (tmp_path / ".venv" / "run.installed").exists()


@needs_make
def test_to_run_an_example_no_torch_is_fetched(tmp_path: Path) -> None:
    assert "torch" not in planned("run", tmp_path)
    assert not re.search(r"^(torch|transformers|scipy)==", (ROOT / "lock" / "run.txt").read_text(), re.MULTILINE)


@needs_make
@pytest.mark.parametrize("index", ["that of pip", "that of PyTorch", "none"])
def test_without_a_gpu_the_cpu_build_is_taken_from_whichever_index_has_it(index: str, tmp_path: Path) -> None:
    commands = planned("test", tmp_path)
    step = commands[commands.index("if [") : commands.index("fi\n") + 3]
    works = {"that of pip": "*--no-deps\\ --requirement\\ lock/cpu.txt", "that of PyTorch": "*/whl/cpu*", "none": "-"}
    python = (
        'printf "%s\\n" "$*" >> asked; case "$*" in *metadata*) [ -e torch ];; '
        f"{works[index]}|*cuda.txt) touch torch;; *) echo no route >&2; false;; esac"
    )
    script = f'uname() {{ echo Linux; }}\ncommand() {{ [ "$2" != nvidia-smi ]; }}\npython() {{ {python}; }}\n'
    stubbed = script + step.replace(".venv/bin/python", "python")
    done = subprocess.run(["bash", "-c", stubbed], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    asked = (tmp_path / "asked").read_text()
    assert ("/whl/cpu" in asked) is (index != "that of pip")
    assert ("cuda.txt" in asked) is (index == "none")


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pip 22.3 does not run on later versions of Python")
def test_readers_that_the_oldest_pip_installs_read_a_web_page(tmp_path: Path) -> None:
    readers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["readers"]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=300)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for wanted in ([f"pip=={OLDEST_PIP}"], ["--constraint", str(ROOT / "constraints.txt"), *readers]):
        command = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *wanted]
        subprocess.run(command, env=environment, check=True, timeout=600)
    page = "<html><body><p>River ice melts.</p></body></html>"
    code = f"from mudy.reading.formats import read; print(read({page.encode()!r}).text)"
    environment |= {"PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run([python, "-P", "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert (ran.stdout, ran.returncode) == ("River ice melts.\n", 0), ran.stderr
