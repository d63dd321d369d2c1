"""Facts about Ctrl-C: at any time the command ends with exit code 130 and prints no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mudy

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")

# Interrupts its own process when a module is about to be imported, as an impatient user does.
PROGRAM = """
import os, signal, sys
wanted = sys.argv.pop(1)
class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                if "turned" in os.environ:
                    raise ImportError("a library's own words")
                raise
sys.meta_path.insert(0, Impatient())
from mudy.__main__ import main
main()
"""


def interrupted(module: str, *arguments: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", program, module, *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "module", ["mudy.cli.main", "click", "mudy.errors", "mudy.extraction.extractor", "spacy", "thinc"]
)
def test_an_interrupt_during_an_import_ends_with_130_and_no_traceback(
    module: str, turned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if turned:  # into another error, as libraries do
        monkeypatch.setenv("turned", "1")
    output = tmp_path / "out.json"
    done = interrupted(module, "extract", "--text", "Sea ice.", "-m", "yake", "-f", "json", "-o", str(output))
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert "KeyboardInterrupt" not in done.stderr
    assert done.stdout == ""
    assert not output.exists()


def test_an_interrupt_after_the_command_has_ended_prints_no_traceback() -> None:
    late = "import atexit, os, signal\natexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
    done = interrupted("none", "--version", program=late + PROGRAM)
    assert done.returncode == 130
    assert done.stdout.startswith("mudy ")
    assert done.stderr == ""


def test_a_command_in_the_background_that_ignores_interrupts_goes_on() -> None:
    ignore = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = interrupted("mudy.cli.main", "--version", program=ignore + PROGRAM)
    assert done.returncode == 0


def test_public_names_are_there_though_none_is_imported_at_first() -> None:
    loaded = "'mudy.extraction.extractor' in sys.modules"
    code = f"import sys, mudy; print({loaded}); from mudy import *; print(Extractor, MudyError)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.startswith("False\n")
    assert "mudy.extraction.extractor.Extractor" in done.stdout
    assert all(hasattr(mudy, name) and name in dir(mudy) for name in mudy.__all__)
    with pytest.raises(AttributeError, match="nosuch"):
        mudy.nosuch  # noqa: B018
