"""The queue of files to be read, and the few processes that read them. Texts are computed in `queue`."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive

from mudy.errors import InputError
from mudy.reading import formats as readers
from mudy.reading.formats import Limits, Reading
from mudy.reading.formats.pool import FileRead, ReaderPool
from mudy.server.answers import disconnected
from mudy.server.problems import HttpProblem
from mudy.server.telemetry import Metrics

READER_PROCESSES = 2  # files that are read at once
MAX_WAITING_FILES = 16
READ_SECONDS = 30.0  # for one file
RETRY_SECONDS = MAX_WAITING_FILES // READER_PROCESSES  # most files take less than a second
TEXT_FACTOR = 4  # a file may hold this many times the longest text, so that a person can choose a part of it


def reader_limits(max_characters: int, timeout: float) -> Limits:
    return Limits(seconds=min(READ_SECONDS, timeout), characters=TEXT_FACTOR * max_characters)


class ReadQueue:
    """Reads files in turn, each within `timeout` seconds including the wait; a file whose client is gone is dropped."""

    def __init__(self, limits: Limits, timeout: float, metrics: Metrics) -> None:
        self.pool = ReaderPool(READER_PROCESSES, limits)
        self._timeout, self._metrics = timeout, metrics
        self._free = asyncio.Semaphore(READER_PROCESSES)
        self._threads = ThreadPoolExecutor(READER_PROCESSES, "mudy-reader")
        self._closed = False
        self._inside = 0  # files that are read or waiting

    async def read(self, data: bytes, name: str, receive: Receive) -> Reading:
        """The text of a file; raises HttpProblem if too many wait, the client is gone, or time is up."""
        if readers.kind_of(data, name) == "plain":
            return await run_in_threadpool(readers.read, data, name)
        if self._inside >= READER_PROCESSES + MAX_WAITING_FILES:
            self._metrics.refused.labels("queue-full").inc()
            raise HttpProblem("queue-full", retry_after=RETRY_SECONDS)
        self._inside += 1
        leaving = asyncio.create_task(disconnected(receive))
        reading = asyncio.create_task(self._read(data, name))
        try:
            done, _ = await asyncio.wait({reading, leaving}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            if reading in done:
                return reading.result()
            if leaving in done:
                raise HttpProblem("client-gone")
            raise HttpProblem("time-limit", retry_after=RETRY_SECONDS)
        except HttpProblem as reason:
            self._metrics.cancelled.labels(reason.name, "reading").inc()
            raise
        finally:
            self._inside -= 1
            leaving.cancel()
            reading.cancel()  # which kills the process that reads the file

    async def _read(self, data: bytes, name: str) -> Reading:
        async with self._free:
            file, loop = FileRead(), asyncio.get_running_loop()
            try:
                return await loop.run_in_executor(
                    self._threads, lambda: readers.read(data, name, pool=self.pool, file=file)
                )
            except asyncio.CancelledError:
                file.stop()
                raise
            except InputError:
                if self._closed:
                    raise HttpProblem("shutting-down") from None
                raise

    def close(self) -> None:
        self._closed = True
        self.pool.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
