"""How a service is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mudy.extractor import DEFAULT_ENCODER, DEFAULT_METHOD, DEFAULT_MODEL, Extractor
from mudy.models import Report


@dataclass(frozen=True)
class Config:
    """What is served, to whom, and how much of it at once."""

    method: str = DEFAULT_METHOD  # where a request names none
    model: str = DEFAULT_MODEL
    encoder: str = DEFAULT_ENCODER
    language: str = "en"
    machine: Mapping[str, Any] = field(default_factory=dict)  # speed, device, dtype, threads, batch_tokens
    report: Report | None = None  # of a model's download

    queue: int = 64  # requests that may wait
    max_body: int = 4_000_000  # bytes
    max_characters: int = 300_000  # of a text
    max_texts: int = 64  # of a request
    timeout: float = 300  # seconds for a request, from being admitted to its answer
    body_timeout: float = 30  # seconds for a request's head to arrive, and as many for its body
    grace: float = 30  # seconds to finish what was admitted when the service ends

    api_key: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = None  # names by which the service may be called; None: any

    def load(self) -> Extractor:
        return Extractor(
            self.method,
            self.model,
            encoder=self.encoder,
            language=self.language,
            report=self.report,
            **self.machine,
        )

    @property
    def speed(self) -> str:
        return str(self.machine.get("speed", "exact"))
