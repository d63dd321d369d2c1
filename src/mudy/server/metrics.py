"""What is counted, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

SECONDS = (0.005, 0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
TEXTS = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """One service's own registry, so that several can live in one process."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        ProcessCollector(registry=own)
        self.requests = Counter("mudy_requests", "Answers", ["route", "status"], registry=own)
        self.latency = Histogram(
            "mudy_request_seconds", "From the first byte of a request to the last of its answer", ["route"],
            buckets=SECONDS, registry=own,
        )  # fmt: skip
        self.ready = Gauge("mudy_ready", "1 once the model is loaded", registry=own)
        self.waiting = Gauge("mudy_waiting_requests", "Requests in line", registry=own)
        self.working = Gauge("mudy_working_requests", "Requests with a text that is being computed", registry=own)
        self.texts = Counter("mudy_texts", "Texts computed", ["method"], registry=own)
        self.words = Counter("mudy_words", "Words of these texts", ["method"], registry=own)
        self.batch = Histogram("mudy_batch_texts", "Texts computed together", buckets=TEXTS, registry=own)
        self.cancelled = Counter(
            "mudy_cancelled", "Requests ended without an answer, by reason and by what they were at",
            ["reason", "during"], registry=own,
        )  # fmt: skip
        self.refused = Counter("mudy_refused", "Requests that were not admitted", ["reason"], registry=own)
        self.model = Gauge(
            "mudy_model_info", "What is served", ["version", "method", "model", "encoder", "speed"], registry=own
        )

    def text(self) -> bytes:
        return generate_latest(self.registry)
