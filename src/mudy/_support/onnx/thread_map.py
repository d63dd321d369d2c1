"""One function for several items on a few threads, with the results in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cached_property
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


class ThreadMap:
    """Up to `threads` threads, of which the caller's is one; the others are started when they are first needed.

    The function should spend its time where Python's lock is not held, as onnxruntime and numpy do.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __call__(self, function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """What the function makes of each item. Whoever is free takes the next one."""
        if self.threads == 1:
            return list(map(function, items))
        waiting = deque(enumerate(items))
        found: dict[int, Found] = {}

        def work() -> None:
            while waiting:
                try:
                    index, item = waiting.popleft()
                except IndexError:  # another thread was quicker
                    return
                found[index] = function(item)

        helpers = self._helpers(work, len(waiting) - 1)
        try:
            work()
        finally:
            waiting.clear()  # after an exception
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()
        return [found[index] for index in range(len(found))]

    def _helpers(self, work: Callable[[], None], most: int) -> list[Future[None]]:
        """The same work in other threads, which know the caller's context, and with it who may cancel."""
        return [self._pool.submit(copy_context().run, work) for _ in range(min(self.threads - 1, most))]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads - 1, "mudy-products")
