"""Who computes the batches of the queue: an extractor in this process, or one in a process of its own."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Condition, Lock
from time import monotonic, perf_counter
from typing import Any, NamedTuple, cast

from mudy._support.callbacks import check, checked_by, current_check
from mudy._support.workers import Task, WorkerEnded, WorkerProcess, pickled_work, threads_each
from mudy.extraction.adaptation import adapt
from mudy.extraction.examples import Examples
from mudy.extraction.extractor import Extractor
from mudy.extraction.outcomes import Item, Outcome, score_batch
from mudy.server.config import Config

WARM_UP = "The first text that a model reads takes longer than the next ones."
TURN_SECONDS = (1.0, 0.5, 0.25)  # how long a short, medium or long text is computed before another has its turn
EXTRACTORS = 32  # that are kept, those used last; each is small
CHECK_SECONDS = 0.05  # between two checks whether a process should go on with a batch
SettingItems = tuple[tuple[str, Any], ...]  # names and values, sorted by name
Outcomes = list[Outcome[int]]


class ExtractorKey(NamedTuple):
    """Method and settings: texts with the same key can be computed together."""

    method: str
    settings: SettingItems = ()
    examples: Examples | None = None  # that weights are fitted to


class Batch(NamedTuple):
    extractor: ExtractorKey
    lane: int
    items: Sequence[Item[int]]


class LocalScorer:
    """An extractor in this process, called by one thread per lane. Batches take turns at the models."""

    def __init__(self, root: Extractor) -> None:
        self.root, self._turn = root, TurnLock()
        self.extractor = lru_cache(EXTRACTORS)(self._made)
        root.load_tagger()
        self.extractor(root.method, ()).extract(WARM_UP)

    def _made(self, method: str, settings: SettingItems) -> Extractor:
        """An extractor; all share the models of one."""
        extractor = self.root.using(method, None, **dict(settings))
        extractor.load()
        return extractor

    @property
    def loaded(self) -> frozenset[str]:
        """What is in memory: "tagger", "backbone", "encoder"."""
        return frozenset(self.root.loaded)

    def compute(self, batch: Batch) -> Outcomes:
        """The outcomes of a batch. It calls the caller's check often; what that raises ends the work."""
        check_caller = current_check()
        away = 0.0  # seconds that other batches had their turns

        def offer_turn() -> None:
            nonlocal away
            away += self._turn.offer(TURN_SECONDS[batch.lane])
            check_caller()

        with self._turn, checked_by(offer_turn):
            method, settings, examples = batch.extractor
            extractor = self.extractor(method, settings)
            if examples is None:
                return list(score_batch(extractor, batch.items, fatal=(), clock=lambda: perf_counter() - away))
            return [_fitted(extractor, examples, item.key) for item in batch.items]

    def close(self) -> None:
        """It has nothing to end."""


def _fitted(extractor: Extractor, examples: Examples, key: int) -> Outcome[int]:
    try:
        return Outcome(key, cast(Any, adapt(extractor, examples)))  # `answers.fit_job` writes it
    except Exception as error:
        return Outcome(key, error)


class TurnLock:
    """A first-come, first-served lock that its holder can offer to others in between.

    Models, tagger and tokenisers are used only by the holder. It offers the lock only where it has nothing half done
    with any of them: before a pass through a model, or between two chunks of a text.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._line: deque[object] = deque()  # one ticket per thread: the holder's, then those that wait
        self._began = 0.0

    def __enter__(self) -> None:
        ticket = object()
        with self._changed:
            self._line.append(ticket)
            self._changed.wait_for(lambda: self._line[0] is ticket)
        self._began = monotonic()

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._line.popleft()
            self._changed.notify_all()

    def offer(self, after: float) -> float:
        """Let a waiting thread have its turn if this one has lasted `after` seconds; returns the seconds it took."""
        if len(self._line) == 1 or monotonic() - self._began < after:
            return 0.0
        start = monotonic()
        self.__exit__()
        self.__enter__()
        return monotonic() - start


@dataclass(frozen=True)
class ScoringWork:
    """What a process of the service does: it loads the models at its start, then computes batches."""

    config: Config

    def start(self) -> Callable[[Batch], tuple[Outcomes, frozenset[str]]]:
        scorer = LocalScorer(self.config.load())
        return lambda batch: (scorer.compute(batch), scorer.loaded)


class ProcessScorer:
    """An extractor in a process of its own, which is replaced when it ends."""

    def __init__(self, work: ScoringWork) -> None:
        self._work, self._pickled = work, pickled_work(work)
        self._lock = Lock()
        self._closed = False
        self._process = self._started()
        self.loaded: frozenset[str] = frozenset()

    def compute(self, batch: Batch) -> Outcomes:
        """Compute a batch there. If its process ends, each text is tried once more, alone."""
        with suppress(WorkerEnded):
            return self._computed(batch)
        outcomes: Outcomes = []
        for item in batch.items:
            try:
                outcomes += self._computed(batch._replace(items=[item]))
            except WorkerEnded as error:
                outcomes.append(Outcome(item.key, error))
        return outcomes

    def _computed(self, batch: Batch) -> Outcomes:
        with self._lock:
            if isinstance(self._process.failure, WorkerEnded) and not self._closed:  # not one that failed to start
                self._process, self.loaded = self._started(), frozenset()
            process = self._process
        task = Task(batch)
        process.submit(task)
        try:
            while not wait([task.future], CHECK_SECONDS).done:
                check()
        except BaseException:
            process.cancel(task)
            raise
        outcomes, loaded = task.future.result()
        self.loaded |= loaded
        return list(outcomes)

    def _started(self) -> WorkerProcess:
        return WorkerProcess(self._pickled, lambda _: None, at_once=len(TURN_SECONDS))

    def await_start(self) -> None:
        """Wait until the models are loaded there; raises what loading them raised."""
        self._computed(Batch(ExtractorKey(self._work.config.method), 0, ()))

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._process.close()


Scorer = LocalScorer | ProcessScorer


def scorers(config: Config) -> Sequence[Scorer]:
    """One in this process, or several in processes of their own, for which models are fetched once, here."""
    if config.workers == 1:
        return [LocalScorer(config.load())]
    config.load().fetch()
    compute = replace(config.compute, threads=threads_each(config.workers, config.compute.threads))
    work = ScoringWork(replace(config, compute=compute, report=None, api_key=None))
    made: list[ProcessScorer] = []
    try:
        made += [ProcessScorer(work) for _ in range(config.workers)]  # all load at once
        for scorer in made:
            scorer.await_start()
    except BaseException:
        for scorer in made:
            scorer.close()
        raise
    return made
