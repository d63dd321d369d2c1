"""The blocks of code in the README and in docs/, and how to run them.

    python -m tools.doc_blocks   write what blocks print into the pages, below them

A block of kind `text` is what the block above it prints. A block that is not run says why in a comment above it:
<!-- not run: it installs -->
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<kind>\w*)[^\n]*\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
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

# Runs blocks of Python, given as JSON, each with names of its own, and prints what each has printed, as JSON.
PYTHON = """
import io, json, os, sys, traceback, warnings
from contextlib import redirect_stdout

answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a library prints past Python is no output: DuckDB's progress bar
warnings.simplefilter("ignore")  # as a reader's own session may have it
printed = []
for name, code in json.load(sys.stdin):
    output = io.StringIO()
    try:
        with redirect_stdout(output):
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except BaseException:
        sys.exit(f"{name}:\\n{code}\\n{traceback.format_exc()}")
    printed.append(output.getvalue())
json.dump(printed, answer)
"""


@dataclass(frozen=True)
class Block:
    """A block of code of a page."""

    page: Path
    line: int
    kind: str
    code: str
    why: str | None = None  # it is not run
    output: str | None = None  # what it prints, as the page shows it

    def __str__(self) -> str:
        return f"{self.page.name} line {self.line}"

    @property
    def runs(self) -> bool:
        return self.why is None and self.kind in ("sh", "python")


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        yield Block(page, line, match["kind"], match["code"], match["why"], match["output"])


def blocks() -> list[Block]:
    """The blocks of all pages."""
    return [block for page in PAGES for block in blocks_of(page)]


def run_shell(block: Block, folder: Path, python: str = sys.executable, **environment: str) -> str:
    """What a block of commands prints. Afterwards folder/notes holds what pip and make were asked for."""
    script = f'PATH="{Path(python).parent}:$PATH"\n{PRELUDE}\n{block.code}'
    return _run(["bash", "-c", script], folder, f"{block}:\n{block.code}", "", environment)


def run_python(asked: Sequence[Block], folder: Path, python: str = sys.executable, **environment: str) -> list[str]:
    """What each block of Python prints; all run in one process, so that libraries are loaded once."""
    given = json.dumps([(str(block), block.code) for block in asked])
    printed: list[str] = json.loads(_run([python, "-c", PYTHON], folder, "Python", given, environment))
    return printed


def _run(command: list[str], folder: Path, what: str, given: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "NOTES": str(folder / "notes"),
            "PORT": str(_free_port()),
            "PYTHONUTF8": "1",
            "HF_HUB_OFFLINE": "1",
            **environment,
        },
        input=given,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert done.returncode == 0, f"{what}\n{done.stderr}"
    return done.stdout


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def outputs(folder: Path, shown: Iterable[Block]) -> dict[Block, str]:
    """What blocks print, with the real models."""
    shell = [block for block in shown if block.kind == "sh"]
    python = [block for block in shown if block.kind == "python"]
    printed = dict(zip(python, run_python(python, folder), strict=True))
    return printed | {block: run_shell(block, folder) for block in shell}


def main() -> None:
    """Write the outputs."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        for page in PAGES:
            shown = [block for block in blocks_of(page) if block.output is not None]
            text = page.read_text(encoding="utf-8")
            for block, output in outputs(Path(folder), shown).items() if shown else ():
                old = f"{block.code}```\n\n```text\n{block.output}```\n"
                assert text.count(old) == 1, f"{block}: the same block stands there twice"
                text = text.replace(old, f"{block.code}```\n\n```text\n{output.rstrip()}\n```\n")
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
