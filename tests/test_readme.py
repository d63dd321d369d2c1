"""The README's commands, run as they stand in a copy of the clone.

Models are small random ones under the names of the real ones; `make test-all` runs everything with the real models.
Only three commands are not run as they are: `pip` and `make` would change the environment, so what they are asked for
is noted and checked; `mudy serve` runs behind the next lines, on a free port.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mudy
from mudy.models import KNOWN
from mudy.models.cache import write_model_manifest
from mudy.storage import file_sha256
from tests import small

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
LONGEST = 900  # seconds for a block, on a busy machine

# Stands before every block of shell commands. $NOTES is a file, $PORT a free port.
PRELUDE = """
set -eo pipefail
pip() { echo "pip $*" >> "$NOTES"; }
make() { echo "make $*" >> "$NOTES"; }
mudy() {
  if [ "$1" = serve ]; then
    python -m mudy "$@" --port "$PORT" 2> serve.log &
    trap "kill $!" EXIT
    until python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$PORT/readyz')" 2> /dev/null; do
      kill -0 $! || { cat serve.log >&2; exit 1; }
      sleep 0.2
    done
  else
    python -m mudy "$@"
  fi
}
curl() { command curl --fail "${@/localhost:8000/127.0.0.1:$PORT}"; }
"""


@dataclass(frozen=True)
class Block:
    """A block of code of the README."""

    line: int
    kind: str
    code: str
    why: str | None  # it is not run


def blocks() -> Iterator[Block]:
    for match in FENCE.finditer(README):
        yield Block(README.count("\n", 0, match.start("code")), match["kind"], match["code"], match["why"])


SHELL = [block for block in blocks() if block.kind == "sh"]
RUN = [block for block in blocks() if block.kind in ("sh", "python") and block.why is None]


def small_models(home: Path) -> None:
    """Small random models where the embedded ones would be."""
    made: dict[str, Any] = {
        "gemma3-270m": small.decoder("gemma3"),
        "smollm2-135m": small.decoder("llama"),
        "minilm-l6": small.bert(),
    }
    for name, known in made.items():
        folder = home / "models" / name
        known.model.save_pretrained(folder)
        known.tokenizer.save_pretrained(folder)
        write_model_manifest(KNOWN[name], folder, {path.name: file_sha256(path) for path in folder.iterdir()})


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone holds that commands need, with the environment of these tests in .venv."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("examples", "constraints.txt", "pyproject.toml"):
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copied(ROOT / name, folder / name)
    (folder / ".venv" / "bin").mkdir(parents=True)
    own = Path(sys.executable).parent
    (folder / ".venv" / "bin" / "activate").write_text(f'PATH="{own}:$PATH"\n')
    return folder


@pytest.fixture(scope="module")
def small_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    small_models(home)
    return home


def run(block: Block, folder: Path, **environment: str) -> str:
    """Run a block; what went to standard output, or a failed test. Afterwards folder/notes holds pip's and make's."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    bash = ["bash", "-c", f"{PRELUDE}\nsource .venv/bin/activate\n{block.code}"]
    done = subprocess.run(
        bash if block.kind == "sh" else [sys.executable, "-c", block.code],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(mudy.__file__).parents[1]),
            "NOTES": str(folder / "notes"),
            "PORT": str(port),
            "PYTHONUTF8": "1",
            "HF_HUB_OFFLINE": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert done.returncode == 0, f"README.md, line {block.line}:\n{block.code}\n{done.stderr}"
    return done.stdout


def test_what_is_not_run_is_little_and_says_why() -> None:
    assert [block.why for block in blocks() if block.why] == [
        "it installs",
        "it installs",
        "it needs a chat server",
        "it needs the data sets",
    ]
    assert {block.kind for block in blocks()} == {"", "sh", "python"}


@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("curl") is None, reason="bash and curl are needed")
@pytest.mark.parametrize("block", RUN, ids=lambda block: f"line {block.line}")
def test_a_block_runs_as_it_stands(block: Block, clone: Path, small_home: Path) -> None:
    run(block, clone, MUDY_HOME=str(small_home), MUDY_OFFLINE="1")


@pytest.mark.load
@pytest.mark.real
@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("curl") is None, reason="bash and curl are needed")
def test_all_blocks_run_one_after_another_with_the_real_models(clone: Path) -> None:
    for block in RUN:
        run(block, clone)


@pytest.mark.real
def test_the_table_is_what_make_run_prints(clone: Path) -> None:
    command = re.search(r"bin/(mudy extract .*)", (ROOT / "Makefile").read_text())
    assert command is not None
    printed = run(Block(0, "sh", command[1], None), clone).splitlines()
    (table,) = (block.code for block in blocks() if block.kind == "")
    for line, shown in zip(printed, table.splitlines(), strict=True):
        words, expected = re.split(r"\s{2,}", line.strip()), re.split(r"\s{2,}", shown.strip())
        assert words[1] == expected[1]
        if words[0] != "#":
            assert float(words[2]) == pytest.approx(float(expected[2]), abs=0.01)


def test_every_file_that_a_command_names_is_in_the_clone() -> None:
    named = {name for block in SHELL for name in re.findall(r"examples/[\w./]+\w", block.code)}
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_pip_is_asked_for_extras_that_there_are_and_never_for_a_package_that_is_not_published() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [line for block in SHELL for line in block.code.splitlines() if line.startswith("pip install")]
    assert lines
    for line in lines:
        for asked in re.findall(r"\[([\w,]+)\]", line):
            assert set(asked.split(",")) <= extras.keys()
    assert not re.search(r"pip install [^\n`]*mudy", README)


# -- What make installs -----------------------------------------------------------------------------------------------

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
    [("run", "lock/run.txt"), ("serve", "lock/run.txt"), ("test", "lock/dev.txt"), ("test-all", "lock/dev.txt")],
)
def test_a_goal_installs_what_it_needs_by_hash_and_says_so(goal: str, lock: str, tmp_path: Path) -> None:
    commands = planned(goal, tmp_path)
    installs = [line for line in commands.splitlines() if re.search(r"--requirement lock/(run|dev)\.txt", line)]
    assert len(installs) == 1
    assert installs[0].endswith(f"--require-hashes --no-deps --requirement {lock}")
    assert f"Installing what is in {lock}" in commands


@needs_make
@pytest.mark.parametrize("index", ["that of pip", "that of PyTorch", "none"])
def test_without_a_gpu_the_cpu_build_is_taken_from_whichever_index_has_it(index: str, tmp_path: Path) -> None:
    commands = planned("run", tmp_path)
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
