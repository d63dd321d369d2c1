"""GNU OpenMP, torch's thread runtime on Linux, as a good neighbour: idle threads sleep, and a fork starts its own.

Two habits of it hurt. A thread without work spins for milliseconds before it sleeps, which takes the time of whatever
else runs on the machine, and of the very thread that it waits for: four times the CPU-seconds on a busy machine. And a
forked process waits for ever for threads that only its parent has. Other runtimes (LLVM's, Intel's) are left alone.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from threading import Event, Thread

import torch

SET_BY_USER = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")  # how long to spin, as libgomp reads it when it is loaded
SOFT_PAUSE = 1  # omp_pause_soft of OpenMP 5.0: threads end, settings stay


@cache
def survive_forks() -> None:
    """From now on a fork first ends the threads of the one that forks; parent and child start new ones when needed."""
    pause = getattr(_gnu_openmp(), "omp_pause_resource_all", None)
    if pause is not None and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: pause(SOFT_PAUSE))


@cache
def sleep_when_idle() -> None:
    """Have waiting threads sleep almost at once, unless the environment says how long they spin.

    libgomp reads GOMP_SPINCOUNT only while it is loaded, and a caller may have loaded it. But it also spins 100 times
    instead of 300,000 where it manages more threads than there are CPUs (its manual, GOMP_SPINCOUNT), and a team of one
    thread per CPU that sleeps in a corner makes any other team one too many.
    """
    runtime = _gnu_openmp()
    if runtime is None or any(name in os.environ for name in SET_BY_USER):
        return
    made = Event()
    Thread(target=_sleeping_team, args=(runtime, os.cpu_count() or 1, made), name="mudy-openmp", daemon=True).start()
    made.wait()


def _sleeping_team(runtime: ctypes.CDLL, threads: int, made: Event) -> None:
    """Run nothing on so many threads, and stay: a team lasts as long as the thread that made it."""
    nothing = ctypes.cast(runtime.omp_get_level, ctypes.c_void_p)  # a function that looks at no argument
    runtime.GOMP_parallel(nothing, None, ctypes.c_uint(threads), ctypes.c_uint(0))
    made.set()
    Event().wait()


@cache
def _gnu_openmp() -> ctypes.CDLL | None:
    """The library that torch's own calls of OpenMP go to, under whatever name it was loaded, if it is GNU's."""
    try:
        found = ctypes.CDLL(torch._C.__file__)  # symbols are also looked up in all that this was linked with
    except OSError:
        return None
    return found if hasattr(found, "GOMP_parallel") and not hasattr(found, "kmp_set_blocktime") else None
