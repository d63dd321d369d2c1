"""The request queue and its worker threads, one per lane of each scorer; a scorer computes one batch at a time.

An admitted request waits in the queue. The worker of a lane (short, medium or long texts) takes up the next text of its
length in a batch with texts of other requests that have the same method and settings; requests that are not finished go
to the end of the queue. Batches of one scorer take turns: that of a long text offers its turn before each pass through
a model. No answer depends on which texts were computed together or in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Condition, Thread
from time import monotonic
from typing import NamedTuple

from mudy._support.cancellation import checked_by
from mudy.errors import MudyError, SettingError
from mudy.server import logs
from mudy.server.batch_scorer import Batch, BatchScorer, BatchText, ComputedText
from mudy.server.config import Config
from mudy.server.eta import Eta
from mudy.server.jobs import (
    LANE_WORDS,
    BatchItem,
    Cancelled,
    ClientGone,
    ExtractionJob,
    ShuttingDown,
    TextFailed,
    TimeLimit,
    next_batch,
)
from mudy.server.metrics import Metrics

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
    scorer: BatchScorer
    items: Sequence[BatchItem] = ()


class RequestQueue:
    """Admits jobs, and has them computed.

    `load` makes the scorers, in the first worker's thread; if that fails, `failed` is called and the worker ends.
    `workers` is how many scorers these are, `size` how many requests may wait, `seconds` how long one may take.
    """

    def __init__(
        self,
        load: Callable[[], Sequence[BatchScorer]],
        *,
        workers: int = 1,
        size: int = Config.queue,
        seconds: float = Config.timeout,
        metrics: Metrics | None = None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._load, self._size, self._seconds, self._failed = load, size, seconds, failed
        self.metrics = metrics or Metrics()
        self.eta = Eta(workers)
        self.failure: BaseException | None = None  # of loading
        self._jobs: list[ExtractionJob] = []  # all that are not over, in the order in which they are taken up
        self._closed = self._stopped = False
        self._changed = Condition()
        self._scorers: Sequence[BatchScorer] = ()  # once their models are loaded
        self._lanes: list[Lane] = []
        self._workers = [Thread(target=self._start, name="mudy-worker-0", daemon=True)]

    # -- Called by the service, from its own thread -------------------------------------------------------------------

    def start(self) -> None:
        self._workers[0].start()

    @property
    def ready(self) -> bool:
        return bool(self._scorers) and self.alive and not self._closed

    @property
    def loaded(self) -> frozenset[str]:
        """Which models are in memory."""
        return frozenset[str]().union(*(scorer.loaded for scorer in self._scorers))

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
        if any(worker.is_alive() for worker in self._workers):
            return False
        for scorer in self._scorers:
            scorer.close()
        return True

    # -- The workers --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Load the models, start the workers of the other lanes, and work in the first."""
        try:
            scorers = self._load()
        except BaseException as error:
            self.failure = error
            self.stop()
            self._failed()
            return
        self._lanes = [Lane(number, scorer) for scorer in scorers for number in range(len(LANE_WORDS) + 1)]
        others = [
            Thread(target=self._work, args=(lane,), name=f"mudy-worker-{number}", daemon=True)
            for number, lane in enumerate(self._lanes[1:], start=1)
        ]
        for worker in others:
            worker.start()
        self._workers += others
        self._scorers = scorers
        self.metrics.ready.set(1)
        self.metrics.workers.set(len(scorers) if len(scorers) > 1 else 0)
        self._work(self._lanes[0])

    def _work(self, lane: Lane) -> None:
        while self._take_batch(lane):
            try:
                with checked_by(lambda: self._check(lane)):
                    self._compute(lane)
            except Cancelled:
                pass
            except BaseException as error:  # an unexpected one must not end the worker
                for item in lane.items:
                    self._fail(item, error)
            self._put_back(lane)
            self._release_memory(lane.scorer)

    def _take_batch(self, lane: Lane) -> bool:
        """Wait for a batch, and take it; false at shutdown."""
        with self._changed:
            while not self._stopped:
                self._expire(list(self._jobs))
                items = next_batch(self._jobs, lane.number)
                if items:
                    for item in items:
                        item.job.began = item.job.began or monotonic()
                    lane.items = items
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
        """Called often during a computation: cancels what nobody waits for."""
        jobs = {item.job for item in lane.items}
        self._expire(jobs)
        if all(job.over for job in jobs):
            raise Cancelled

    def _expire(self, jobs: Iterable[ExtractionJob]) -> None:
        now = monotonic()
        for job in jobs:
            if now > job.deadline:
                self.cancel(job, TimeLimit())

    def _release_memory(self, scorer: BatchScorer) -> None:
        """Return freed memory to the system when the queue is empty."""
        with self._changed:
            idle = not self._jobs
        if idle:
            scorer.release_memory()

    # -- One batch ----------------------------------------------------------------------------------------------------

    def _compute(self, lane: Lane) -> None:
        texts = [
            BatchText(item.job.text_or_document(item.index), item.request.options, item.job.one_text)
            for item in lane.items
        ]
        batch = Batch(lane.items[0].request.key, lane.number, texts)
        computed = lane.scorer.compute(batch, lambda: self._check(lane))
        for fault in computed.faults:
            logs.log_fault(fault, *(item.job.request_id for item in lane.items))
        outcomes = dict(zip(lane.items, computed.outcomes, strict=True))
        for item, outcome in outcomes.items():
            if isinstance(outcome, Exception):
                self._fail(item, outcome)
        found = {item: outcome for item, outcome in outcomes.items() if isinstance(outcome, ComputedText)}
        self._learn(list(found), computed.seconds)
        self._answer(found, computed.seconds)

    def _answer(self, computed: Mapping[BatchItem, ComputedText], seconds: float) -> None:
        """Hand each result to its job; the time of a batch is divided by words."""
        total = sum(item.request.words for item in computed) or 1
        for item, text in computed.items():
            share = seconds * item.request.words / total
            explained = replace(text.explained, seconds=share)
            try:
                item.job.add_result(item.index, explained, text.document)
            except Cancelled:
                raise
            except Exception as error:
                self._fail(item, error)

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
