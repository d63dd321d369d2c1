"""Many clients at once: none is lost, none gets another's answer, and the bad ones harm no one.

The short variant runs with the other tests, the long one (64 clients for 30 seconds) under the mark `load`. Figures are
printed, and written as JSON to the file that MUDY_LOAD_REPORT names.
"""

import asyncio
import json
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx
import pytest

from mudy import Extractor
from tests.served import PATIENCE, Served, alike, serving
from tests.served import until as wait_until

MODEL = "smollm2-135m"
ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "examples" / "floodplain.txt", *sorted((ROOT / "benchmarks" / "texts").glob("*.txt"))]
TOP_N = 5


def texts() -> list[str]:
    """Short and medium texts of ours: sentences, and whole paragraphs."""
    found = []
    for source in SOURCES:
        text = source.read_text()
        paragraphs = [p for p in text.split("\n\n") if len(p.split()) > 20]
        found += [paragraphs[0].split(". ")[0] + ".", " ".join(paragraphs[1].split()[:60]), paragraphs[2]]
    return found


@dataclass
class Figures:
    """What the clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)  # requests without an answer
    answers: list[tuple[str, Any]] = field(default_factory=list)  # a text, and what was found in it
    seconds: list[float] = field(default_factory=list)  # of each answer that was 200, retries included
    wrong: list[str] = field(default_factory=list)  # answers that are not the library's
    exact: int = 0  # equal to the library's to the last bit

    def compare(self, extractor: Extractor) -> None:
        """With what the library finds in each text alone."""
        known = {text: [extractor.extract(text, TOP_N).to_dict()] for text in {text for text, _ in self.answers}}
        self.exact = sum(found == known[text] for text, found in self.answers)
        self.wrong = [json.dumps(found)[:300] for text, found in self.answers if not alike(found, known[text])]

    def report(self, clients: int, lasted: float) -> dict[str, Any]:
        cuts = quantiles(self.seconds, n=100)
        return {
            "clients": clients,
            "seconds": round(lasted, 1),
            "requests": sum(self.statuses.values()) + len(self.lost),
            "answered": self.statuses[200],
            "refused_503": self.statuses[503],
            "other_5xx": sum(n for status, n in self.statuses.items() if status >= 500 and status != 503),
            "lost": len(self.lost),
            "wrong": len(self.wrong),
            "equal_to_the_last_bit": self.exact,
            "per_second": round(self.statuses[200] / lasted, 1),
            "p50": round(cuts[49], 2),
            "p95": round(cuts[94], 2),
            "p99": round(cuts[98], 2),
        }


async def client(served: Served, known: Sequence[str], figures: Figures, until: float, seed: int) -> None:
    """Ask for one text after the other until the time is over; whoever is refused comes back when told to.

    Each client stays for at least one answer, however slow the machine is.
    """
    choose, answered = random.Random(seed), 0
    async with httpx.AsyncClient(base_url=served.address, timeout=3 * PATIENCE) as http:
        while time.monotonic() < until or not answered:
            text, start = choose.choice(known), time.monotonic()
            try:
                while (answer := await _ask(http, text, figures)).status_code == 503:
                    if answered and time.monotonic() > until:
                        return
                    await asyncio.sleep(int(answer.headers["retry-after"]))
            except httpx.HTTPError as error:
                figures.lost.append(repr(error))
                return
            answered += 1
            figures.seconds.append(time.monotonic() - start)
            figures.answers.append((text, answer.json()["results"]))


async def _ask(http: httpx.AsyncClient, text: str, figures: Figures) -> httpx.Response:
    answer = await http.post("/v1/extract", json={"text": text, "top_n": TOP_N})
    figures.statuses[answer.status_code] += 1
    return answer


async def slow_reader(served: Served, until: float) -> None:
    """Sends fast, and takes a large answer in small sips."""
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1024)
        writer.write(_request("\n".join(source.read_text() for source in SOURCES[:5]), "yake"))
        while time.monotonic() < until and await reader.read(1024):
            await asyncio.sleep(0.05)
        writer.close()


async def killed(served: Served, until: float) -> None:
    """Hangs up in the middle: of the head, of the body, of waiting."""
    choose = random.Random(0)
    whole = _request(texts()[2], "mudy")
    while time.monotonic() < until:
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(whole[: choose.choice([20, 300, len(whole)])])
        await writer.drain()
        await asyncio.sleep(choose.uniform(0, 0.5))
        _reset(writer)


async def killed_when_admitted(served: Served) -> None:
    """Hangs up on a long text once it is in the queue, as its first line of progress says."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(_request("\n".join(source.read_text() for source in SOURCES), "mudy", "Accept: application/x-ndjson"))
    while b'"state": ' not in (line := await reader.readline()):
        assert line, "The connection was closed before any progress."
    assert b'"waiting"' in line or b'"working"' in line, line
    _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # on, for 0 seconds: a reset instead of a goodbye
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.close()


def _request(text: str, method: str, *headers: str) -> bytes:
    body = json.dumps({"text": text, "methods": [method]}).encode()
    head = ["POST /v1/explain HTTP/1.1", "Host: localhost", "Connection: close", "Content-Type: application/json"]
    head += headers
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Room for half as many as the long test sends, so that some are refused."""
    threads = "1" if "PYTEST_XDIST_WORKER" in os.environ else "2"  # alone on the machine, or beside another worker
    options = ("--model", MODEL, "--speed", "fast", "--queue", "16", "--threads", threads)
    with serving(tmp_path_factory.mktemp("served"), *options) as found:
        yield found


async def crowd(served: Served, known: Sequence[str], clients: int, seconds: float) -> tuple[Figures, float]:
    await killed_when_admitted(served)  # while the queue has room for it
    figures, start = Figures(), time.monotonic()
    until = start + seconds
    good = [client(served, known, figures, until, seed) for seed in range(clients)]
    await asyncio.gather(*good, slow_reader(served, until), *(killed(served, until) for _ in range(2)))
    return figures, time.monotonic() - start


def check(served: Served, known: Sequence[str], clients: int, seconds: float) -> dict[str, Any]:
    figures, lasted = asyncio.run(crowd(served, known, clients, seconds))
    figures.compare(Extractor("mudy", model=MODEL, speed="fast", threads=1))
    report = figures.report(clients, lasted)
    print(json.dumps(report))
    if path := os.environ.get("MUDY_LOAD_REPORT"):
        Path(path).write_text(json.dumps(report, indent=2) + "\n")
    assert not figures.lost, figures.lost[:3]
    assert not figures.wrong, figures.wrong[:3]
    assert set(figures.statuses) <= {200, 503}
    assert figures.statuses[200] >= clients
    assert not [line for line in served.log if line["level"] == "error"]
    wait_until(lambda: served.metric("mudy_cancelled_total", {"reason": "client-gone"}) > 0, served)  # the killed ones
    assert httpx.get(f"{served.address}/readyz").status_code == 200
    return report


@pytest.mark.slow
@pytest.mark.real
def test_eight_clients_at_once_get_the_librarys_answers(served: Served) -> None:
    check(served, texts()[:9], clients=8, seconds=5)


@pytest.mark.real
@pytest.mark.load
def test_sixty_four_clients_for_half_a_minute(served: Served) -> None:
    report = check(served, texts(), clients=64, seconds=30)
    assert report["refused_503"] > 0
    batches = served.metric("mudy_batch_texts_sum") / served.metric("mudy_batch_texts_count")
    assert batches > 1.5  # those that waited were computed together
