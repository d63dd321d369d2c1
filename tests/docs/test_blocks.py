"""The commands of the README and of the pages in docs/, run as they stand in a copy of the clone.

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

ROOT = Path(__file__).parents[2]
PAGES = {
    path.name: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
WORDS = 900  # of the README at most
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
    """A block of code of a page."""

    page: str
    line: int
    kind: str
    code: str
    why: str | None  # it is not run


def blocks() -> Iterator[Block]:
    for page, text in PAGES.items():
        for match in FENCE.finditer(text):
            yield Block(page, text.count("\n", 0, match.start("code")), match["kind"], match["code"], match["why"])


SHELL = [block for block in blocks() if block.kind == "sh"]
RUN = [block for block in blocks() if block.kind in ("sh", "python") and block.why is None]
HEAVY = [pytest.param(block, marks=() if block.page == "README.md" else pytest.mark.load) for block in RUN]


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
    assert done.returncode == 0, f"{block.page}, line {block.line}:\n{block.code}\n{done.stderr}"
    return done.stdout


def test_what_is_not_run_says_why() -> None:
    reasons = {"it installs", "it needs a chat server", "it needs the data sets", "the files are yours"}
    assert {block.why for block in blocks() if block.why} <= reasons
    assert {block.kind for block in blocks()} == {"", "sh", "python"}


def test_the_readme_can_be_read_in_a_few_minutes() -> None:
    assert len(PAGES["README.md"].split()) <= WORDS


@pytest.mark.parametrize("page", PAGES)
def test_every_link_to_a_file_leads_somewhere(page: str) -> None:
    folder = ROOT if page == "README.md" else ROOT / "docs"
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", PAGES[page])
    assert [link for link in links if not link.startswith("http") and not (folder / link).exists()] == []


@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("curl") is None, reason="bash and curl are needed")
@pytest.mark.parametrize("block", HEAVY, ids=lambda block: f"{block.page} line {block.line}")
def test_a_block_runs_as_it_stands(block: Block, clone: Path, small_home: Path) -> None:
    run(block, clone, MUDY_HOME=str(small_home), MUDY_OFFLINE="1")


@pytest.mark.load
@pytest.mark.real
@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("curl") is None, reason="bash and curl are needed")
def test_the_readmes_blocks_run_one_after_another_with_the_real_models(clone: Path) -> None:
    for block in RUN:
        if block.page == "README.md":
            run(block, clone)


@pytest.mark.real
def test_the_table_is_what_make_run_prints(clone: Path) -> None:
    command = re.search(r"bin/(mudy extract .*)", (ROOT / "Makefile").read_text())
    assert command is not None
    printed = run(Block("Makefile", 0, "sh", command[1], None), clone).splitlines()
    (table,) = (block.code for block in blocks() if block.kind == "" and block.page == "README.md")
    for line, shown in zip(printed, table.splitlines(), strict=True):
        words, expected = re.split(r"\s{2,}", line.strip()), re.split(r"\s{2,}", shown.strip())
        assert words[1] == expected[1]
        if words[0] != "#":
            assert float(words[2]) == pytest.approx(float(expected[2]), abs=0.01)


def test_every_file_that_a_command_names_is_in_the_clone() -> None:
    named = {name for block in SHELL for name in re.findall(r"examples/[\w./]+\w", block.code) if block.why is None}
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_pip_is_asked_for_extras_that_there_are_and_never_for_a_package_that_is_not_published() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [line for block in SHELL for line in block.code.splitlines() if line.startswith("pip install")]
    assert lines
    for line in lines:
        for asked in re.findall(r"\[([\w,]+)\]", line):
            assert set(asked.split(",")) <= extras.keys()
    assert not any(re.search(r"pip install [^\n`]*mudy", text) for text in PAGES.values())
