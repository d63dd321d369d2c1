"""All questions, each in a process of its own, so that none finds models or memory that another left behind."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser

from benchmarks import QUESTIONS
from benchmarks.measure import say
from benchmarks.report import common, folder_of, readme, sections, write


def main() -> int:
    """What is not an option here is handed on to the one question that is asked."""
    parser = ArgumentParser("python -m benchmarks", description="Speed and memory, measured on this machine.")
    common(parser)
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=QUESTIONS, help="some of the questions")
    parser.add_argument("--again", action="store_true", help="measure nothing; write the report from the figures there")
    asked, others = parser.parse_known_args()
    if others and len(asked.only) > 1:
        parser.error(f"{' '.join(others)} belongs to one question; name it with --only.")
    folder = folder_of(asked)
    if asked.again:
        for name in sections(folder):
            write(folder, name)
        readme(folder)
        return 0
    shared = [
        *(["--quick"] if asked.quick else []),
        *(["--output", str(asked.output)] if asked.output else []),
        *others,
    ]
    failed = []
    for name in asked.only:
        say(f"-- {name}")
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *shared], check=False).returncode:
            failed.append(name)
    if failed:
        say(f"Failed: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
