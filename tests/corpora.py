"""Small corpora of our own text, and runs over them."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from mudy import corpus

WORDS = Path("examples/floodplain.txt").read_text(encoding="utf-8").split()


def texts(count: int, seed: int = 0, longest: int = 40) -> list[str]:
    """Stretches of our own text."""
    chance = random.Random(seed)
    starts = [chance.randrange(len(WORDS) - longest) for _ in range(count)]
    return [" ".join(WORDS[start : start + chance.randrange(8, longest)]) for start in starts]


def jsonl(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an output, without what differs from run to run."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in found]


def run(source: Any, output: Path, **more: Any) -> corpus.Summary:
    return corpus.run(source, output, method="yake", **more)


def json_lines(some: list[str]) -> bytes:
    return "".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(some)).encode()


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mudy", "corpus", *arguments], capture_output=True, text=True, check=False
    )
