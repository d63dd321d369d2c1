"""Threads: a forked process works, and the number of threads stays the caller's."""

import json
import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")

MODEL = """
import json, os, signal, sys, threading, time
import torch
from mudy.engines import Compute
from mudy.engines.torch import Machine

machine = Machine.of(Compute("cpu", threads=2))
ones = torch.ones(1 << 20)

def work():
    with machine.at_work():
        return int((ones + ones).sum())
"""

FORK = """
def ended(child, seconds=60):
    \"\"\"Its exit code, or None if it had to be killed.\"\"\"
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

def forked():
    child = os.fork()
    if child == 0:
        os._exit(0 if work() == 1 << 21 else 3)
    return ended(child)
"""


def told(*scripts: str, **environment: str) -> Any:
    """What a process of its own prints as JSON."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
    code = "\n".join(textwrap.dedent(script) for script in scripts)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=known | environment, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_environment_and_the_number_of_threads_stay_the_callers() -> None:
    script = """
    torch.set_num_threads(3)
    before = dict(os.environ)
    work(), work()
    print(json.dumps([torch.get_num_threads(), dict(os.environ) == before]))
    """
    assert told(MODEL, script) == [3, True]


@pytest.mark.slow
@pytest.mark.real
def test_a_forked_child_finds_the_keyphrases_that_its_parent_finds() -> None:
    script = """
    from mudy import Extractor
    extractor = Extractor(model="smollm2-135m", threads=2)
    text = "A radar map guides trucks over the river ice, and the ice road closes in early spring. " * 8
    found = extractor.extract(text)
    def work():
        return (1 << 21) if extractor.extract(text) == found else 0
    print(json.dumps([len(found.keyphrases) > 2, forked()]))
    """
    assert told(MODEL, FORK, script, TOKENIZERS_PARALLELISM="false") == [True, 0]
