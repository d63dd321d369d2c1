"""What something costs: CPU-seconds of all threads and wall seconds, as medians of interleaved repeats."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds."""

    cpu: float  # of all threads of this process
    wall: float


def cost_of(call: Callable[[], T]) -> tuple[T, Cost]:
    """What a call gives, and what it costs."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return found, Cost(cpu, wall)


def interleaved(calls: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Cost]:
    """The median cost of each of several calls, in rounds, so that a slow minute falls on all of them.

    Every other round goes backwards: none always comes after the same one.
    """
    found: dict[str, list[Cost]] = defaultdict(list)
    for turn in range(repeats):
        for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
            found[name].append(cost_of(calls[name])[1])
    return {name: middle(found[name]) for name in calls}


def middle(costs: Sequence[Cost]) -> Cost:
    """The median of each."""
    return Cost(median(cost.cpu for cost in costs), median(cost.wall for cost in costs))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch compute with so many threads; what it had before is put back."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def say(line: str) -> None:
    """What is being done, for whoever waits."""
    print(line, file=sys.stderr, flush=True)
