"""What the service tells about itself: logs, metrics for Prometheus, and how long waiting work will take.

Logs are one JSON object per line on standard error, without texts or keys. The message of an exception may quote a
text, so only its type and the code that raised it are logged.
"""

import json
import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from math import ceil
from pathlib import Path
from traceback import extract_tb
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

LOGGER = logging.getLogger("mudy.server")
LATENCY_BUCKETS = (0.005, 0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
NEWEST_WEIGHT = 0.3  # of the last batch in the moving average
WORDS_PER_TEXT = 20  # a text costs as much as this many words, whatever its length
LONGEST_RETRY_AFTER = 60  # seconds


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            line |= _describe_error(record.exc_info[1])
        return json.dumps(line | getattr(record, "fields", {}))


def _describe_error(error: BaseException) -> dict[str, Any]:
    """An exception without its message."""
    frames = extract_tb(error.__traceback__)[-8:]
    lines = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "at": lines}


def log_fault(error: BaseException, *request_ids: str) -> None:
    LOGGER.error("fault", extra={"fields": {"request_id": ",".join(request_ids), **_describe_error(error)}})


def log_to_stderr() -> None:
    """Send our records, and the warnings of uvicorn, asyncio and the MCP tools, to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("mudy.server", "uvicorn", "asyncio", "mcp"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "mudy.server" else logging.WARNING)


class Metrics:
    """The registry of one service, so that several can run in one process."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        latency = "From the first byte of a request to the last of its response"
        self.requests = counter("mudy_requests", "Responses", ["route", "status"])
        self.latency = histogram("mudy_request_seconds", latency, ["route"], buckets=LATENCY_BUCKETS)
        self.ready = gauge("mudy_ready", "1 once the model is loaded")
        self.workers = gauge("mudy_worker_processes", "Worker processes; 0 if the service computes itself")
        self.waiting = gauge("mudy_waiting_requests", "Requests in the queue")
        self.working = gauge("mudy_working_requests", "Requests with a text that is being computed")
        self.texts = counter("mudy_texts", "Texts computed", ["method"])
        self.words = counter("mudy_words", "Words of these texts", ["method"])
        self.batch = histogram("mudy_batch_texts", "Texts computed together", buckets=(1, 2, 4, 8, 16, 32, 64))
        self.cancelled = counter("mudy_cancelled", "Requests cancelled, by reason and state", ["reason", "during"])
        self.refused = counter("mudy_refused", "Requests refused", ["reason"])
        served = ["version", "method", "model", "encoder", "speed"]
        self.model = gauge("mudy_model_info", "What is served", served)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Eta:
    """Seconds per word, by method. Settings can change the rate; the next batches correct it."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers  # processes that share the work
        self._rates: dict[str, float] = {}

    def learn(self, method: str, words: Iterable[int], seconds: float) -> None:
        """Add a batch of texts with these numbers of words to the average."""
        rate = seconds / sum(number + WORDS_PER_TEXT for number in words)
        known = self._rates.get(method, rate)
        self._rates[method] = known + NEWEST_WEIGHT * (rate - known)

    def expected(self, work: Iterable[tuple[str, int]]) -> float | None:
        """Seconds for texts, given as method and number of words; None if a method was never used yet."""
        known = list(work)
        if any(method not in self._rates for method, _ in known):
            return None
        return sum(self._rates[method] * (words + WORDS_PER_TEXT) for method, words in known)

    def retry_after(self, work: Iterable[tuple[str, int]]) -> int:
        """Seconds until about half of the waiting work is done; methods without a rate count as nothing."""
        known = ((method, words) for method, words in work if method in self._rates)
        return max(1, min(LONGEST_RETRY_AFTER, ceil((self.expected(known) or 0) / 2 / self.workers)))
