"""Threads: forked processes work, and waiting threads leave the CPU to others."""

import json
import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="GNU OpenMP, as torch brings it on Linux")

MODEL = """
import json, os, signal, sys, threading, time
import torch
from mudy.engines.torch.machine import Machine

machine = Machine.of("cpu", threads=2)
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

WAIT = """
little = torch.ones(1 << 17)

def spent_waiting():
    \"\"\"CPU-seconds in which next to nothing is computed, and threads wait for the next time.\"\"\"
    little + little  # as a caller might, before we come
    with machine.at_work():
        before = time.process_time()
        for _ in range(100):
            little + little
            time.sleep(0.01)
        return time.process_time() - before

def teams():
    return [thread.name for thread in threading.enumerate()].count("mudy-openmp")
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


def test_a_forked_child_computes_after_its_parent_has_used_two_threads() -> None:
    found = told(MODEL, FORK, "work(); print(json.dumps([forked(), forked(), work()]))")
    assert found == [0, 0, 1 << 21]


def test_a_child_may_fork_again() -> None:
    script = """
    work()
    child = os.fork()
    if child == 0:
        os._exit(0 if work() == 1 << 21 and forked() == 0 else 3)
    print(json.dumps(ended(child)))
    """
    assert told(MODEL, FORK, script) == 0


def test_a_child_of_another_thread_than_the_one_that_computed_computes_too() -> None:
    script = """
    codes = []
    work()
    thread = threading.Thread(target=lambda: codes.append(forked()))
    thread.start()
    thread.join()
    print(json.dumps(codes))
    """
    assert told(MODEL, FORK, script) == [0]


@pytest.mark.slow
def test_threads_that_wait_leave_the_cpu_to_others() -> None:
    """Though torch was loaded by the caller, with nothing in the environment. 300,000 is how long OpenMP spins."""
    ours, spinning = (told(MODEL, WAIT, "print(spent_waiting())", **own) for own in ({}, {"GOMP_SPINCOUNT": "300000"}))
    assert ours * 2 < spinning


@pytest.mark.parametrize("own", [{"GOMP_SPINCOUNT": "300000"}, {"OMP_WAIT_POLICY": "active"}])
def test_how_long_threads_spin_is_left_to_the_environment_where_it_says_so(own: dict[str, str]) -> None:
    assert told(MODEL, WAIT, "work(); print(teams())", **own) == 0


def test_the_environment_and_the_number_of_threads_stay_the_callers() -> None:
    script = """
    torch.set_num_threads(3)
    before = dict(os.environ)
    work(), work()
    print(json.dumps([torch.get_num_threads(), dict(os.environ) == before, teams()]))
    """
    assert told(MODEL, WAIT, script) == [3, True, 1]


def test_one_thread_needs_no_others() -> None:
    script = "machine = Machine.of('cpu', threads=1); work(); print(teams())"
    assert told(MODEL, WAIT, script) == 0


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
