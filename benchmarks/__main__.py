"""All questions, each in a process of its own, so that none finds models or memory that another left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from time import monotonic

from benchmarks import QUESTIONS
from benchmarks.measure import say
from benchmarks.report import common, folder_of, forget, readme, sections, write

MINUTES = 28.0  # for all questions


def main() -> int:
    """What is not an option here is handed on to the one question that is asked."""
    parser = ArgumentParser("python -m benchmarks", description="Speed and memory, measured on this machine.")
    common(parser)
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=QUESTIONS, help="some of the questions")
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help="for all questions; one that is not done by then fails"
    )
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
    if set(asked.only) == set(QUESTIONS):
        forget(folder)  # the report is from one run
    failed, end = [], monotonic() + 60 * asked.minutes
    for name in asked.only:
        say(f"-- {name}, {(end - monotonic()) / 60:.1f} minutes left")
        if not answered([sys.executable, "-m", f"benchmarks.{name}", *shared], max(0.0, end - monotonic())):
            failed.append(name)
    if failed:
        say(f"Failed: {', '.join(failed)}")
    return len(failed)


def answered(command: Sequence[str], seconds: float) -> bool:
    """Run a question and whatever it starts; whether it gave an answer in time."""
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        say(f"It was not done after {seconds / 60:.1f} minutes.")
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
