"""The request queue and its worker threads, one per lane, of which only one at a time uses the models.

An admitted request waits in the queue. The worker of a lane (short, medium or long texts) takes up the next text of its
length in a batch with texts of other requests that have the same method and settings; requests that are not finished go
to the end of the queue. Workers take turns: one that computes a long text offers its turn before each pass through a
model. No answer depends on which texts were computed together or in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from time import monotonic, perf_counter
from typing import NamedTuple

from mudy.batching import score_each
from mudy.cancellation import checked_by
from mudy.errors import MudyError, SettingError
from mudy.explanation import Explained
from mudy.extractor import Extractor
from mudy.loading import give_back
from mudy.preparation import PreparedText
from mudy.results import Result
from mudy.server import logs, turn_lock
from mudy.server.config import Config
from mudy.server.eta import Eta
from mudy.server.extractor_cache import ExtractorCache
from mudy.server.jobs import (
    LANE_WORDS,
    BatchItem,
    Cancelled,
    ClientGone,
    ExtractionJob,
    ExtractorKey,
    ShuttingDown,
    TextFailed,
    TimeLimit,
    next_batch,
)
from mudy.server.metrics import Metrics
from mudy.server.turn_lock import TurnLock

WARM_UP = "The first text that a model reads takes longer than the next ones."
RELEASE_SECONDS = 10.0  # between two returns of freed memory to the system
STOP_SECONDS = 2.0  # for the workers to leave their computations at shutdown


class QueueFull(Exception):
    """The queue holds as many requests as allowed."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class JobState(NamedTuple):
    """The progress of a job."""

    working: bool
    ahead: int  # requests before it
    elapsed: float  # seconds since it was admitted or, once it is being computed, since that began
    expected: float | None  # seconds of computation, if known


@dataclass(eq=False)
class Lane:
    """The batch of one worker."""

    number: int
    items: Sequence[BatchItem] = ()
    away: float = 0.0  # seconds that other workers had their turns during this batch


class RequestQueue:
    """Admits jobs, and has them computed.

    `load` makes the extractor, in the first worker's thread; if that fails, `failed` is called and the worker ends.
    `size` is how many requests may wait, `seconds` how long one may take.
    """

    def __init__(
        self,
        load: Callable[[], Extractor],
        *,
        size: int = Config.queue,
        seconds: float = Config.timeout,
        metrics: Metrics | None = None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._load, self._size, self._seconds, self._failed = load, size, seconds, failed
        self.metrics = metrics or Metrics()
        self.eta = Eta()
        self.extractor: Extractor | None = None  # once it is loaded
        self.failure: BaseException | None = None  # of loading
        self._jobs: list[ExtractionJob] = []  # all that are not over, in the order in which they are taken up
        self._released = monotonic()  # when freed memory was last returned to the system
        self._closed = self._stopped = False
        self._changed = Condition()
        self._turn = TurnLock()
        self._lanes = [Lane(number) for number in range(len(LANE_WORDS) + 1)]
        self._workers = [Thread(target=self._start, name="mudy-worker-0", daemon=True)]

    # -- Called by the service, from its own thread -------------------------------------------------------------------

    def start(self) -> None:
        self._workers[0].start()

    @property
    def ready(self) -> bool:
        return self.extractor is not None and self.alive and not self._closed

    @property
    def alive(self) -> bool:
        return all(worker.is_alive() for worker in self._workers)

    @property
    def under_way(self) -> int:
        """How many requests wait or are computed."""
        with self._changed:
            return sum(not job.over for job in self._jobs)

    def admit(self, job: ExtractionJob) -> ExtractionJob:
        """Put a job into the queue; its answer comes as the future `answer`."""
        with self._changed:
            if self._closed:
                self.metrics.refused.labels("shutting-down").inc()
                raise ShuttingDown
            if len(self._waiting()) >= self._size:
                self.metrics.refused.labels("queue-full").inc()
                raise QueueFull(self.retry_after())
            job.deadline = min(job.deadline, monotonic() + self._seconds)
            self._jobs.append(job)
            self._update_gauges()
            self._changed.notify_all()
        return job

    def cancel(self, job: ExtractionJob, reason: Cancelled) -> None:
        """Settle a job with a reason; it is not computed any further, unless it is part of a batch just now."""
        with self._changed:
            if not job.settle(reason):
                return
            self.metrics.cancelled.labels(reason.label, "waiting" if job.began is None else "working").inc()
            if job not in self._working():
                self._jobs = [other for other in self._jobs if other is not job]
            self._update_gauges()

    def leave(self, job: ExtractionJob) -> None:
        """Cancel a job because its client is gone."""
        self.cancel(job, ClientGone())

    def state(self, job: ExtractionJob) -> JobState:
        with self._changed:
            now = monotonic()
            expected = self.eta.expected((text.key, text.words) for text in job.texts)
            if job.began is not None:
                return JobState(True, 0, now - job.began, expected)
            before = self._jobs[: self._jobs.index(job)] if job in self._jobs else []
            ahead = sum(any(text.lane == job.lane for text in other.texts) for other in before)
            return JobState(False, ahead, now - job.admitted, expected)

    def retry_after(self) -> int:
        """Seconds after which a refused client should try again."""
        with self._changed:
            return self.eta.retry_after(work for job in self._jobs for work in job.remaining_work)

    def close(self) -> None:
        """Admit no more jobs."""
        with self._changed:
            self._closed = True

    def stop(self) -> None:
        """Cancel all jobs, and end the workers."""
        with self._changed:
            self._closed = self._stopped = True
            for job in list(self._jobs):
                self.cancel(job, ShuttingDown())
            self._changed.notify_all()

    def join(self) -> bool:
        """Wait briefly for the workers to end; false if one is in a computation that it cannot leave."""
        end = monotonic() + STOP_SECONDS
        for worker in self._workers:
            if worker.is_alive():
                worker.join(max(0.0, end - monotonic()))
        return not any(worker.is_alive() for worker in self._workers)

    # -- The workers --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Load the models, start the workers of the other lanes, and work in the first."""
        try:
            root = self._load()
            root.load_tagger()
            extractors = ExtractorCache(root)
            extractors[ExtractorKey(root.method)].extract(WARM_UP)
        except BaseException as error:
            self.failure = error
            self.stop()
            self._failed()
            return
        others = [
            Thread(target=self._work, args=(extractors, lane), name=f"mudy-worker-{lane.number}", daemon=True)
            for lane in self._lanes[1:]
        ]
        for worker in others:
            worker.start()
        self._workers += others
        self.extractor = root
        self.metrics.ready.set(1)
        self._work(extractors, self._lanes[0])

    def _work(self, extractors: ExtractorCache, lane: Lane) -> None:
        while self._take_batch(lane):
            try:
                with self._turn, checked_by(lambda: self._check(lane)):
                    self._compute(extractors, lane)
            except Cancelled:
                pass
            except BaseException as error:  # an unexpected one must not end the worker
                for item in lane.items:
                    self._fail(item, error)
            self._put_back(lane)
            self._release_memory()

    def _take_batch(self, lane: Lane) -> bool:
        """Wait for a batch, and take it; false at shutdown."""
        with self._changed:
            while not self._stopped:
                self._expire(list(self._jobs))
                items = next_batch(self._jobs, lane.number)
                if items:
                    for item in items:
                        item.job.began = item.job.began or monotonic()
                    lane.items, lane.away = items, 0.0
                    self._update_gauges()
                    return True
                self._update_gauges()
                self._changed.wait()
        return False

    def _put_back(self, lane: Lane) -> None:
        """Remove finished jobs from the queue; move the others to its end."""
        with self._changed:
            served = list(dict.fromkeys(item.job for item in lane.items))
            lane.items = ()
            self._jobs = [job for job in self._jobs if job not in served]
            self._jobs += [job for job in served if not job.over]
            self._update_gauges()

    def _check(self, lane: Lane) -> None:
        """Called often during a computation: offers the turn to other workers, and cancels what nobody waits for."""
        lane.away += self._turn.offer(turn_lock.TURN_SECONDS[lane.number])
        jobs = {item.job for item in lane.items}
        self._expire(jobs)
        if all(job.over for job in jobs):
            raise Cancelled

    def _expire(self, jobs: Iterable[ExtractionJob]) -> None:
        now = monotonic()
        for job in jobs:
            if now > job.deadline:
                self.cancel(job, TimeLimit())

    def _release_memory(self) -> None:
        """Return freed memory to the system when the queue is empty: glibc keeps most of what a long text has used."""
        with self._changed:
            idle = not self._jobs and monotonic() - self._released > RELEASE_SECONDS
            self._released = monotonic() if idle else self._released
        if idle:
            give_back()

    # -- One batch ----------------------------------------------------------------------------------------------------

    def _compute(self, extractors: ExtractorCache, lane: Lane) -> None:
        extractor = extractors[lane.items[0].request.key]
        start = perf_counter()
        prepared = {item: text for item in lane.items if (text := self._prepare(extractor, item)) is not None}
        results = self._score(extractor, prepared)
        seconds = perf_counter() - start - lane.away
        self._learn(list(results), seconds)
        total = sum(item.request.words for item in results) or 1
        for item, result in results.items():
            method = extractor.scorer if prepared[item].candidates else None
            share = seconds * item.request.words / total
            explained = Explained.of(result, method, item.request.options, share)
            try:
                item.job.add_result(item.index, explained, prepared[item].document)
            except Cancelled:
                raise
            except Exception as error:
                self._fail(item, error)

    def _prepare(self, extractor: Extractor, item: BatchItem) -> PreparedText | None:
        try:
            return extractor.prepare(item.job.text_or_document(item.index), item.request.options)
        except Cancelled:
            raise
        except Exception as error:
            self._fail(item, error)
            return None

    def _score(self, extractor: Extractor, prepared: Mapping[BatchItem, PreparedText]) -> dict[BatchItem, Result]:
        """The results of a batch, without those texts that failed."""

        def log_unexpected(error: Exception) -> None:
            if not isinstance(error, MudyError | ArithmeticError):
                logs.log_fault(error, *(item.job.request_id for item in prepared))

        results: dict[BatchItem, Result] = {}
        outcomes = score_each(extractor, list(prepared.values()), fatal=(Cancelled,), failed_together=log_unexpected)
        for item, outcome in zip(prepared, outcomes, strict=True):
            if isinstance(outcome, Exception):
                self._fail(item, outcome)
            else:
                results[item] = outcome
        return results

    def _fail(self, item: BatchItem, error: BaseException) -> None:
        if isinstance(error, ArithmeticError) and item.request.key.settings:
            error = SettingError("These settings give scores that are not finite. Use values nearer to the defaults.")
        if not isinstance(error, MudyError):
            logs.log_fault(error, item.job.request_id)
        item.job.settle(TextFailed(item.request.where, error))

    def _learn(self, items: Sequence[BatchItem], seconds: float) -> None:
        """Update the time estimate and the metrics with a batch that was computed."""
        if not items:
            return
        key, words = items[0].request.key, [item.request.words for item in items]
        with self._changed:
            self.eta.learn(key, words, seconds)
        self.metrics.texts.labels(key.method).inc(len(items))
        self.metrics.words.labels(key.method).inc(sum(words))
        self.metrics.batch.observe(len(items))

    # -- Counting -----------------------------------------------------------------------------------------------------

    def _working(self) -> set[ExtractionJob]:
        """Jobs with a text that is being computed."""
        return {item.job for lane in self._lanes for item in lane.items}

    def _waiting(self) -> list[ExtractionJob]:
        working = self._working()
        return [job for job in self._jobs if job not in working]

    def _update_gauges(self) -> None:
        self.metrics.waiting.set(len(self._waiting()))
        self.metrics.working.set(sum(not job.over for job in self._working()))
