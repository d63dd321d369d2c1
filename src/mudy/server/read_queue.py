"""Files that wait to be read, and the few processes that read them; texts are computed elsewhere, in the desk."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive

from mudy import readers
from mudy.errors import InputError
from mudy.readers import FileRead, Limits, ReaderPool, Reading
from mudy.server.jobs import ClientGone, Ended, ShuttingDown, TimeLimit
from mudy.server.metrics import Metrics
from mudy.server.queue import QueueFull

READERS = 2  # files that are read at once
WAITING = 16  # files that may wait for that
SECONDS = 30.0  # for reading one file
TEXTS = 4  # how many times longer than a text may be for the other routes, so that a person can choose a part of it


def limits(characters: int, timeout: float) -> Limits:
    """How much a file may cost a service that takes texts of so many characters."""
    return Limits(seconds=min(SECONDS, timeout), characters=TEXTS * characters)


class ReadQueue:
    """Reads files in turn: no longer than `timeout` for each, waiting included, and none whose client has left."""

    def __init__(self, limits: Limits, timeout: float, metrics: Metrics) -> None:
        self.pool = ReaderPool(READERS, limits)
        self._timeout, self._metrics = timeout, metrics
        self._free = asyncio.Semaphore(READERS)
        self._threads = ThreadPoolExecutor(READERS, "mudy-reader")
        self._closed = False
        self._inside = 0  # files that are read or wait
        self._seconds = 1.0  # that a file takes, as seen of late

    async def read(self, data: bytes, name: str, receive: Receive) -> Reading:
        """The text of a file; QueueFull where too many wait, and Ended where there is nothing to wait for any more."""
        if readers.kind_of(data, name) == "plain":
            return await run_in_threadpool(readers.read, data, name)
        if self._inside >= READERS + WAITING:
            self._metrics.refused.labels("queue-full").inc()
            raise QueueFull(self._retry_after())
        self._inside += 1
        try:
            return await self._read_unless_ended(data, name, receive)
        except Ended as reason:
            self._metrics.cancelled.labels(reason.label, "reading").inc()
            raise
        finally:
            self._inside -= 1

    async def _read_unless_ended(self, data: bytes, name: str, receive: Receive) -> Reading:
        """The text, unless the client leaves or the time is over before; then the process that reads is killed."""
        leaving = asyncio.create_task(_left(receive))
        reading = asyncio.create_task(self._read(data, name))
        try:
            over, _ = await asyncio.wait({reading, leaving}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            if reading in over:
                return reading.result()
            raise ClientGone if leaving in over else TimeLimit
        finally:
            leaving.cancel()
            reading.cancel()

    async def _read(self, data: bytes, name: str) -> Reading:
        async with self._free:
            file, start, loop = FileRead(), monotonic(), asyncio.get_running_loop()
            try:
                return await loop.run_in_executor(
                    self._threads, lambda: readers.read(data, name, pool=self.pool, file=file)
                )
            except asyncio.CancelledError:
                file.stop()
                raise
            except InputError:
                if self._closed:
                    raise ShuttingDown from None
                raise
            finally:
                self._seconds += 0.3 * (monotonic() - start - self._seconds)

    def _retry_after(self) -> int:
        """Seconds after which there is likely to be room again."""
        return max(1, math.ceil(self._seconds * self._inside / READERS))

    def close(self) -> None:
        """End the processes and what they read."""
        self._closed = True
        self.pool.close()
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
