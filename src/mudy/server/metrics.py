"""Metrics for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

LATENCY_BUCKETS = (0.005, 0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The registry of one service, so that several can run in one process."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("mudy_requests", "Responses", ["route", "status"], registry=registry)
        self.latency = Histogram(
            "mudy_request_seconds", "From the first byte of a request to the last of its response", ["route"],
            buckets=LATENCY_BUCKETS, registry=registry,
        )  # fmt: skip
        self.ready = Gauge("mudy_ready", "1 once the model is loaded", registry=registry)
        self.workers = Gauge("mudy_worker_processes", "Processes that compute; 0: the service's own", registry=registry)
        self.waiting = Gauge("mudy_waiting_requests", "Requests in the queue", registry=registry)
        self.working = Gauge("mudy_working_requests", "Requests with a text that is being computed", registry=registry)
        self.texts = Counter("mudy_texts", "Texts computed", ["method"], registry=registry)
        self.words = Counter("mudy_words", "Words of these texts", ["method"], registry=registry)
        self.batch = Histogram("mudy_batch_texts", "Texts computed together", buckets=BATCH_BUCKETS, registry=registry)
        self.cancelled = Counter(
            "mudy_cancelled", "Requests cancelled, by reason and state",
            ["reason", "during"], registry=registry,
        )  # fmt: skip
        self.refused = Counter("mudy_refused", "Requests refused", ["reason"], registry=registry)
        self.model = Gauge(
            "mudy_model_info", "What is served", ["version", "method", "model", "encoder", "speed"], registry=registry
        )

    def text(self) -> bytes:
        return generate_latest(self.registry)
