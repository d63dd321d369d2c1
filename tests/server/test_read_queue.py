"""Files sent to the service: read a few at once, within limits, while everything else is answered."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache

import httpx
import pytest
from starlette.types import Message

from mudy.reading.formats import Limits
from mudy.server.answers import MAX_WAITING_FILES, READER_PROCESSES, ReadQueue
from mudy.server.app import create_app
from mudy.server.config import Config
from mudy.server.problems import HttpProblem
from mudy.server.telemetry import Metrics
from tests import hostile
from tests.reading.test_pool import RIVER, gone, slow_file, unsupported
from tests.served import PATIENCE
from tests.server.gate import staying

BYTES = {"Content-Type": "application/octet-stream"}
NAME = "a.docx"


async def until(fact: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not fact():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def opened(timeout: float = 300) -> AsyncIterator[ReadQueue]:
    queue = ReadQueue(Config(timeout=timeout), Metrics())
    try:
        yield queue
    finally:
        queue.close()


@asynccontextmanager
async def busy(queue: ReadQueue, files: int) -> AsyncIterator[list["asyncio.Task[object]"]]:
    """So many slow files in a queue, of which some are being read."""
    tasks: list[asyncio.Task[object]] = [
        asyncio.create_task(queue.read(slow_file(), NAME, staying)) for _ in range(files)
    ]
    await until(lambda: queue._inside == files and len(queue.pool._busy) == min(files, READER_PROCESSES))
    yield tasks
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def metric(queue: ReadQueue, line: str) -> bool:
    return line in queue._metrics.text().decode().splitlines()


def run(test: Callable[[], Awaitable[None]]) -> None:
    slow_file()  # made before the clock of any test runs
    asyncio.run(test())  # type: ignore[arg-type]


def test_few_files_are_read_at_once_and_few_wait() -> None:
    async def test() -> None:
        async with opened() as queue, busy(queue, READER_PROCESSES + MAX_WAITING_FILES):
            assert len(queue.pool._busy) == READER_PROCESSES
            with pytest.raises(HttpProblem, match="queue-full") as full:
                await queue.read(RIVER, NAME, staying)
            assert int(full.value.headers["Retry-After"]) >= 1
            assert metric(queue, 'mudy_refused_total{reason="queue-full"} 1.0')

    run(test)


def test_when_a_client_leaves_its_file_is_let_go_and_the_next_is_read() -> None:
    async def test() -> None:
        left = asyncio.Event()

        async def leaving() -> Message:
            await left.wait()
            return {"type": "http.disconnect"}

        async with opened() as queue, busy(queue, READER_PROCESSES - 1):
            reading = asyncio.create_task(queue.read(slow_file(), NAME, leaving))
            await until(lambda: len(queue.pool._busy) == READER_PROCESSES)
            pids = {process.pid for process in queue.pool._busy}
            waiting = asyncio.create_task(queue.read(RIVER, NAME, staying))
            left.set()
            with pytest.raises(HttpProblem, match="client-gone"):
                await reading
            assert (await waiting).text == "River gauge"
            await until(lambda: any(map(gone, pids)))
            assert metric(queue, 'mudy_cancelled_total{during="reading",reason="client-gone"} 1.0')

    run(test)


def test_a_file_waits_no_longer_than_a_request_may_take() -> None:
    async def test() -> None:
        async with opened() as queue, busy(queue, READER_PROCESSES):
            queue._timeout = 0.2
            with pytest.raises(HttpProblem, match="time-limit"):
                await queue.read(RIVER, NAME, staying)

    run(test)


def test_plain_text_waits_for_no_other_file() -> None:
    async def test() -> None:
        async with opened() as queue, busy(queue, READER_PROCESSES + MAX_WAITING_FILES):
            assert (await queue.read(b"River gauge", "a.txt", staying)).text == "River gauge"

    run(test)


def test_a_queue_that_is_closed_leaves_no_process_behind() -> None:
    async def test() -> None:
        async with opened() as queue, busy(queue, READER_PROCESSES) as tasks:
            pids = [process.pid for process in queue.pool._busy]
            queue.close()
            for task in tasks:
                with pytest.raises(HttpProblem, match="shutting-down"):
                    await task
            await until(lambda: all(map(gone, pids)))

    run(test)


def test_a_file_may_hold_a_few_times_the_text_that_a_request_may() -> None:
    async def test() -> None:
        for timeout, seconds in ((300, 30), (10, 10)):
            queue = ReadQueue(Config(max_characters=1_000, timeout=timeout), Metrics())
            assert queue.pool.limits == Limits(seconds=seconds, characters=4_000)
            queue.close()

    run(test)


@asynccontextmanager
async def service(config: Config) -> AsyncIterator[httpx.AsyncClient]:
    """The service without its model."""
    transport = httpx.ASGITransport(create_app(config))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=PATIENCE) as client:
        yield client


@cache
def swollen() -> bytes:
    return hostile.swelling_pdf(pages=2, strings=1)


@pytest.mark.parametrize(
    ("make", "detail"),
    [
        (unsupported, "is a Word document that is encrypted or packed in an unusual way"),
        (lambda: b"PK\x03\x04 and no more", "is a broken Word document"),
        (swollen, "holds more than 40,000 characters of text"),
    ],
)
def test_a_file_that_cannot_be_read_is_the_clients_error(make: Callable[[], bytes], detail: str) -> None:
    async def test() -> None:
        async with service(Config(max_characters=10_000)) as client:
            answer = await client.post("/v1/read", content=make(), headers=BYTES)
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith(detail)

    run(test)


@pytest.mark.skipif(os.name != "posix", reason="slow on Windows")
def test_while_slow_files_are_read_everything_else_is_answered() -> None:
    async def test() -> None:
        async with service(Config()) as client, asyncio.TaskGroup() as tasks:
            slow = [
                tasks.create_task(client.post("/v1/read", content=slow_file(), headers=BYTES))
                for _ in range(READER_PROCESSES + MAX_WAITING_FILES + 3)
            ]
            await until(lambda: sum(task.done() for task in slow) == 3)  # those for which there is no room
            for path in ("/", "/v1/methods", "/v1/service"):
                assert (await client.get(path)).status_code == 200
            assert (await client.post("/v1/read", content=b"Ice.", headers=BYTES)).json() == {
                "text": "Ice.",
                "pages": [],
                "blocks": None,
            }
            refused = [task.result() for task in slow if task.done()]
            assert {answer.status_code for answer in refused} == {503}
            assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
            assert len(refused) < len(slow)
            for task in slow:
                task.cancel()

    run(test)
