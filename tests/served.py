"""The real service in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import small

ADDRESS = re.compile(r"^mudy: listening on (http://\S+),", re.MULTILINE)
PATIENCE = 180.0  # seconds for anything at all: only a test that fails waits so long, on a busy machine too


@dataclass
class Served:
    """A running service, and what it has written so far."""

    process: "subprocess.Popen[bytes]"
    stderr: Path
    address: str

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=PATIENCE, **options)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def written(self) -> str:
        return self.stderr.read_text()

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines that are JSON."""
        return [json.loads(line) for line in self.written.splitlines() if line.startswith("{")]

    def metric(self, name: str, labels: Mapping[str, str] = {}, headers: Mapping[str, str] = {}) -> float:
        """The sum of a metric over all labels but those given."""
        text = httpx.get(f"{self.address}/metrics", headers=headers, timeout=PATIENCE).text
        samples = (s for family in text_string_to_metric_families(text) for s in family.samples if s.name == name)
        return sum(s.value for s in samples if labels.items() <= s.labels.items())

    def ended(self) -> int:
        """The exit code, once the process has come to its end by itself."""
        return self.process.wait(PATIENCE)


@contextmanager
def serving(
    folder: Path,
    *options: str,
    ready: bool = True,
    environment: dict[str, str] | None = None,
    mudy: Sequence[str] = ("-m", "mudy"),
) -> Iterator[Served]:
    """Start `mudy serve` on a free port, wait until it is ready, and end it; `mudy` is how Python finds the command."""
    command = [sys.executable, *mudy, "serve", "--port", "0", "--threads", "1", "--method", "mudy", *options]
    with started(folder, command, ready=ready, environment=environment) as found:
        yield found


@contextmanager
def started(
    folder: Path, command: Sequence[str | Path], *, ready: bool = True, environment: dict[str, str] | None = None
) -> Iterator[Served]:
    """Run a command that serves, wait until it is ready, and end it."""
    stderr = folder / f"stderr-{time.monotonic_ns()}.txt"
    own = {name: value for name, value in os.environ.items() if name != "MUDY_API_KEY"}
    with stderr.open("wb") as errors:
        process = subprocess.Popen(command, stderr=errors, env={**own, **(environment or {})})
    try:
        found = Served(process, stderr, _address(process, stderr))
        if ready:
            until(lambda: httpx.get(f"{found.address}/readyz", timeout=PATIENCE).status_code == 200, found)
        yield found
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def _address(process: "subprocess.Popen[bytes]", stderr: Path) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if told := ADDRESS.search(stderr.read_text()):
            return told[1]
        if process.poll() is not None:
            break
        time.sleep(0.05)
    pytest.fail(f"The service did not start: {stderr.read_text()}")


def until(fact: Any, served: Served | None = None, seconds: float = PATIENCE) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not fact():
        if served is not None and served.process.poll() is not None:
            pytest.fail(f"The service ended: {served.written}")
        if time.monotonic() > end:
            pytest.fail(f"It did not become true within {seconds:g} s.")
        time.sleep(0.02)


def save_small_model(folder: Path) -> str:
    """A small random model in a folder: T5, which needs no encoder beside it."""
    return _saved(small.t5(), folder)


def save_small_encoder(folder: Path) -> str:
    return _saved(small.bert(), folder)


def _saved(known: Any, folder: Path) -> str:
    known.model.save_pretrained(folder)
    known.tokenizer.save_pretrained(folder)
    return str(folder)


def alike(found: Any, expected: Any, tolerance: float = 1e-6) -> bool:
    """Whether two answers are the same: all but the noise of float32 in numbers."""
    if isinstance(expected, float) and isinstance(found, float):
        return abs(found - expected) <= tolerance * max(abs(found), abs(expected))
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(alike(found[k], expected[k], tolerance) for k in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(lambda f, e: alike(f, e, tolerance), found, expected))
    return bool(found == expected)
