"""Whether work grows in proportion to its input, told from the work itself and not from the machine's speed.

Seconds say little on a busy machine, so none are compared with a fixed bound: the same work is measured for an input
and for one eight times as long, in the processor time of this thread alone.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

TINY = 0.01  # seconds in which next to nothing was done: linear, or too little to matter
TIMES = 8  # how much longer the long input is
GROWTH = 24  # between TIMES, which is linear, and TIMES squared
TRIES = 5  # before work is said to grow faster

Input = TypeVar("Input")


def is_linear(work: Callable[[Input], object], make: Callable[[int], Input], size: int) -> bool:
    """Whether an input of `size` takes far less than 64 times as long as an eighth of it.

    Time is only ever added by what disturbs a measurement, so the least of all that was measured counts. Quadratic
    work is found as such however often it is tried; linear work has to be disturbed in every try.
    """
    longer = shorter = float("inf")
    for _ in range(TRIES):
        longer = min(longer, seconds(work, make(size)))
        if longer < TINY:
            return True
        shorter = min(shorter, *(seconds(work, make(size // TIMES)) for _ in range(3)))
        if longer < GROWTH * shorter:
            return True
    return False


def seconds(work: Callable[[Input], object], given: Input) -> float:
    """The processor time of this thread alone, without the garbage collector's."""
    with _no_garbage_collected():
        start = time.thread_time()
        work(given)
        return time.thread_time() - start


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
