"""The first pages' blocks, run where nothing is installed but what `make run` installs: the packages of lock/run.txt.

Models are small random ones under the names of the real ones.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from tests.docs.conftest import FIRST_PAGES, needs_shell
from tests.test_lock import pins
from tools.doc_blocks import ROOT, Block, blocks, run_python, run_shell

BLOCKS = [block for block in blocks() if block.runs and block.page in FIRST_PAGES]
SHELL = [block for block in BLOCKS if block.kind == "sh"]
FIT = Block(ROOT, 0, "sh", "mudy fit examples/abstracts.jsonl --speed quick --limit 3 --output weights.json\n")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links are needed")


@pytest.fixture(scope="module")
def plain_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment with the packages of lock/run.txt and no others, linked from this environment."""
    folder = tmp_path_factory.mktemp("plain")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in ("mudy", *pins(ROOT / "lock" / "run.txt")):
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue  # it is for other platforms
        for entry in {file.parts[0] for file in installed.files or () if not file.name.endswith(".pth")} - {".."}:
            if not (packages / entry).exists():
                (packages / entry).symlink_to(Path(str(installed.locate_file(entry))))
    return str(folder / "bin" / "python")


def test_a_plain_install_has_no_package_that_only_the_tests_need(plain_python: str) -> None:
    code = (
        "from importlib.util import find_spec as f; print([n for n in ('numpy', 'pyarrow', 'scipy', 'torch') if f(n)])"
    )
    ran = subprocess.run([plain_python, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "['numpy']\n"


@needs_shell
@pytest.mark.parametrize("block", [*SHELL, pytest.param(FIT, id="fit")], ids=str)
def test_commands_of_the_first_pages_run(block: Block, plain_python: str, clone: Path, small_home: Path) -> None:
    run_shell(block, clone, plain_python, MUDY_HOME=str(small_home), MUDY_OFFLINE="1")


def test_python_of_the_first_pages_runs(plain_python: str, clone: Path, small_home: Path) -> None:
    asked = [block for block in BLOCKS if block.kind == "python"]
    assert len(run_python(asked, clone, plain_python, MUDY_HOME=str(small_home), MUDY_OFFLINE="1")) == len(asked) > 1
