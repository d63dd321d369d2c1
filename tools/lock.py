"""Write the lock files: every package that is installed, by version and hash, for all platforms.

    python tools/lock.py             keep the versions of constraints.txt, add what is new
    python tools/lock.py --upgrade   the newest versions that pyproject.toml allows

    lock/pip.txt     pip alone, which installs the rest
    lock/run.txt     what `mudy extract` and `mudy serve` need
    lock/dev.txt     that, and all that the tests need
    lock/cpu.txt     torch's CPU build for Linux, tried first; where pip finds none, lock/dev.txt has PyPI's build ...
    lock/cuda.txt    ... which needs these packages beside itself on Linux
    constraints.txt  the versions of lock/dev.txt, without hashes

No file names an index: pip takes whichever it is set to use, and refuses what has another hash.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = "3.11"
RUN_EXTRAS = ("readers", "server")
BUILD = "hatchling\nhatch-vcs\neditables\n"  # what builds this project, so that pip need not fetch it without a hash
CONSTRAINTS = """\
# Versions that the project was tested with, written by tools/lock.py. The ranges in pyproject.toml are wider.
"""
GPU_ONLY = re.compile(r"(cuda-|nvidia-|triton\b)")
CPU_TORCH = """\
torch==2.13.0+cpu ; python_version == "3.11" and sys_platform == "linux" and platform_machine == "x86_64" \\
    --hash=sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
"""  # not on PyPI, so written here by hand


def main() -> None:
    """Resolve twice, for those who use and those who develop, and write all files."""
    upgrade = "--upgrade" in sys.argv[1:]
    dev = locked(["dev"], ROOT / "constraints.txt" if not upgrade else None)
    versions = pinned_versions([block for block in dev if not GPU_ONLY.match(block)])
    write(ROOT / "constraints.txt", [CONSTRAINTS, *(f"{version}\n" for version in versions)])
    run = locked(RUN_EXTRAS, ROOT / "constraints.txt")
    for name, blocks in {
        "pip": [block for block in dev if block.startswith("pip==")],
        "run": [block for block in run if not GPU_ONLY.match(block)],
        "dev": [block for block in dev if not GPU_ONLY.match(block)],
        "cpu": [CPU_TORCH],
        "cuda": [block for block in dev if GPU_ONLY.match(block)],
    }.items():
        write(ROOT / "lock" / f"{name}.txt", ["# Written by tools/lock.py.\n", *blocks])


def pinned_versions(blocks: list[str]) -> list[str]:
    """Each package with its version, and with the platforms that a version is for where there are several."""
    names = [block.partition("==")[0] for block in blocks]
    first = [block.partition(" \\")[0] for block in blocks]
    return [line if names.count(name) > 1 else line.split()[0] for name, line in zip(names, first, strict=True)]


def locked(extras: list[str] | tuple[str, ...], constraints: Path | None) -> list[str]:
    """One block of lines for each package: its version, the platforms that need it, and its hashes."""
    command = [sys.executable, "-P", "-m", "uv", "pip", "compile", "pyproject.toml", "-"]
    command += ["--universal", "--python-version", OLDEST_PYTHON]
    command += ["--generate-hashes", "--no-annotate", "--no-header", "--quiet"]
    command += [f"--extra={extra}" for extra in extras]
    command += ["--constraint", str(constraints)] if constraints else []
    done = subprocess.run(command, cwd=ROOT, input=BUILD, stdout=subprocess.PIPE, text=True, check=True)
    return re.findall(r"^\S.*\n(?:[ \t].*\n)*", done.stdout, re.MULTILINE)


def write(path: Path, lines: list[str]) -> None:
    """Replace a file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
