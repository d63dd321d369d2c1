"""The configuration of a service. Defaults stand here only; `mudy serve` takes them for its options."""

from dataclasses import asdict, dataclass, field

from mudy.engines import Compute
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import DEFAULT_ENCODER, DEFAULT_METHOD, DEFAULT_MODEL, HISTORY_STYLE
from mudy.methods import DEFAULT_STYLE, Style, method_class
from mudy.models import Report
from mudy.reading.languages import AUTO


@dataclass(frozen=True)
class Config:
    method: str = DEFAULT_METHOD  # for requests that name none
    style: Style | None = None  # for requests that name none
    model: str = DEFAULT_MODEL
    encoder: str = DEFAULT_ENCODER
    language: str = AUTO
    history: str | None = None  # tagged texts whose tags are suggested
    compute: Compute = field(default_factory=Compute)
    report: Report | None = None  # called with the progress of a model's download

    workers: int = 1  # processes that compute; 1: the service's own
    queue: int = 64  # requests that may wait
    max_body: int = 4_000_000  # bytes
    max_characters: int = 300_000  # per text
    max_texts: int = 64  # per request
    timeout: float = 300  # seconds for a request, from admission to answer
    body_timeout: float = 30  # seconds for a request's head to arrive, and as many for its body
    grace: float = 30  # seconds to finish admitted requests at shutdown

    api_key: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = None  # allowed in Host headers; None for any

    def load(self) -> Extractor:
        names = ("method", "style", "model", "encoder", "language", "history", "report")
        return Extractor(**{name: getattr(self, name) for name in names}, **asdict(self.compute))

    @property
    def default_style(self) -> Style:
        return self.style or (DEFAULT_STYLE if self.history is None else HISTORY_STYLE)

    @property
    def speed(self) -> str:
        return self.compute.speed or method_class(self.method).default_speed


DEFAULT_CONFIG = Config()
