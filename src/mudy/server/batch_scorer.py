"""Who computes the batches of the queue: an extractor in this process, or one in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import NamedTuple, Protocol

from mudy._support.cancellation import Check, checked_by
from mudy._support.loading import give_back
from mudy.errors import MudyError
from mudy.extraction.batching import score_each
from mudy.extraction.explanation import Explained
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import Options
from mudy.extraction.preparation import PreparedText
from mudy.extraction.results import Result
from mudy.reading.document import Document
from mudy.server import turn_lock
from mudy.server.extractor_cache import ExtractorCache
from mudy.server.jobs import Cancelled, ExtractorKey
from mudy.server.turn_lock import TurnLock

WARM_UP = "The first text that a model reads takes longer than the next ones."
RELEASE_SECONDS = 10.0  # between two returns of freed memory to the system


class BatchText(NamedTuple):
    """A text, or the document that was read from it, and what is asked for."""

    text: str | Document
    options: Options
    keep_document: bool = False  # whether the caller wants the document back


class Batch(NamedTuple):
    """Texts to be computed together."""

    key: ExtractorKey
    lane: int
    texts: Sequence[BatchText]


@dataclass(frozen=True, slots=True)
class ComputedText:
    """One text, explained; its seconds are not known yet."""

    explained: Explained
    document: Document | None  # if it was asked for


@dataclass(frozen=True, slots=True)
class ComputedBatch:
    """What became of each text of a batch, in order."""

    outcomes: Sequence[ComputedText | Exception]
    seconds: float  # without the turns of other batches
    loaded: frozenset[str]  # which models are in memory now
    faults: Sequence[Exception] = ()  # unexpected ones, of texts computed together and then alone


class BatchScorer(Protocol):
    """Computes batches, each lane in a thread of its own."""

    @property
    def loaded(self) -> frozenset[str]:
        """What is in memory: "tagger", "backbone", "encoder"."""

    def compute(self, batch: Batch, check: Check) -> ComputedBatch:
        """Compute a batch; `check` is called often meanwhile, and what it raises ends the work."""

    def release_memory(self) -> None:
        """Return freed memory to the system."""

    def close(self) -> None: ...


@dataclass
class LocalScorer:
    """An extractor in this process. Batches take turns, so that one thread at a time uses the models."""

    root: Extractor
    _turn: TurnLock = field(default_factory=TurnLock)
    _released: float = field(default_factory=monotonic)  # when freed memory was last returned

    def __post_init__(self) -> None:
        self.root.load_tagger()
        self._extractors = ExtractorCache(self.root)
        self._extractors[ExtractorKey(self.root.method)].extract(WARM_UP)

    @property
    def loaded(self) -> frozenset[str]:
        return frozenset(self.root.loaded)

    def compute(self, batch: Batch, check: Check) -> ComputedBatch:
        away = 0.0

        def offer_turn() -> None:
            nonlocal away
            away += self._turn.offer(turn_lock.TURN_SECONDS[batch.lane])
            check()

        with self._turn, checked_by(offer_turn):
            start = perf_counter()
            outcomes, faults = _computed(self._extractors[batch.key], batch)
            return ComputedBatch(outcomes, perf_counter() - start - away, self.loaded, faults)

    def release_memory(self) -> None:
        """Return freed memory, not too often: glibc keeps most of what a long text has used."""
        if monotonic() - self._released > RELEASE_SECONDS:
            self._released = monotonic()
            give_back()

    def close(self) -> None:
        """It has nothing to end."""


def _computed(extractor: Extractor, batch: Batch) -> tuple[list[ComputedText | Exception], list[Exception]]:
    """The outcome of each text, and what went wrong unexpectedly while they were computed together."""
    faults: list[Exception] = []

    def note(error: Exception) -> None:
        if not isinstance(error, MudyError | ArithmeticError):
            faults.append(error)

    prepared = [_prepared(extractor, text) for text in batch.texts]
    together = [text for text in prepared if isinstance(text, PreparedText)]
    scored = score_each(extractor, together, fatal=(Cancelled,), failed_together=note)
    outcomes = [
        own if isinstance(own, Exception) else _text(extractor, own, next(scored), text.keep_document)
        for text, own in zip(batch.texts, prepared, strict=True)
    ]
    return outcomes, faults


def _prepared(extractor: Extractor, text: BatchText) -> PreparedText | Exception:
    try:
        return extractor.prepare(text.text, text.options)
    except Cancelled:
        raise
    except Exception as error:
        return error


def _text(
    extractor: Extractor, text: PreparedText, result: Result | Exception, keep_document: bool
) -> ComputedText | Exception:
    if isinstance(result, Exception):
        return result
    method = extractor.scorer if text.candidates else None
    explained = Explained.of(result, method, text.options, 0.0)
    return ComputedText(explained, text.document if keep_document else None)


def local_scorers(load: Callable[[], Extractor]) -> Callable[[], list[BatchScorer]]:
    """One scorer in this process, with the extractor that `load` makes."""
    return lambda: [LocalScorer(load())]
