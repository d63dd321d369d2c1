"""The request queue and its worker threads, one per lane of each scorer; a scorer computes one batch at a time.

An admitted request waits in the queue. The worker of a lane (short, medium or long texts) takes up the next text of its
length in a batch with texts of other requests that have the same method and settings; requests that are not finished go
to the end of the queue. Batches of one scorer take turns: that of a long text offers its turn before each pass through
a model. No answer depends on which texts were computed together or in between.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Condition, Thread
from time import monotonic
from typing import Any

from mudy._support.callbacks import checked_by
from mudy._support.this_process import give_back
from mudy._support.workers import Cancelling
from mudy.errors import MudyError, SettingError
from mudy.extraction.outcomes import BATCH_WORDS, Item, Outcome, batch_size, text_size
from mudy.reading.document import Document
from mudy.server.config import DEFAULT_CONFIG, Config
from mudy.server.problems import HttpProblem, problem_of_text
from mudy.server.scorer import TURN_SECONDS, Batch, ExtractorKey, Scorer
from mudy.server.telemetry import Eta, Metrics, log_fault

LANE_WORDS = (BATCH_WORDS, 8 * BATCH_WORDS)  # the longest text of each lane but the last: short, medium, long
STOP_SECONDS = 2.0  # for the workers to leave their computations at shutdown
RELEASE_SECONDS = 10.0  # between two returns of freed memory to the system


@dataclass(frozen=True, eq=False)
class QueuedText:
    extractor: ExtractorKey
    item: Item[int]  # its key is the index of this text in the job
    where: str = "text"  # in the request

    @property
    def lane(self) -> int:
        """By length: a short text does not wait behind a long one, nor behind a fit."""
        return bisect_left(LANE_WORDS, self.item.size) if self.extractor.examples is None else len(LANE_WORDS)

    @property
    def work(self) -> tuple[str, int]:
        """Method and size, to estimate how long it takes."""
        return self.extractor.method, self.item.size


@dataclass(eq=False)
class ExtractionJob:
    """A request in the queue: its texts, the outcomes so far, and a future for its answer.

    It is over once the future is set: to a result, a failure, or the reason why it was cancelled.
    """

    texts: Sequence[QueuedText]
    write_answer: "Callable[[ExtractionJob], bytes]"  # called by the worker when all results are there
    request_id: str = "-"  # for logs
    answer: Future[bytes] = field(default_factory=Future)
    document: Document | None = None  # the text of a job with one text for several methods, once it is tagged
    outcomes: dict[int, Outcome[int]] = field(default_factory=dict)  # by the index of their text
    admitted: float = field(default_factory=monotonic)
    began: float | None = None  # when its first text was taken up
    computing: int = 0  # texts that are in a batch just now

    def __post_init__(self) -> None:
        self.waiting = deque(self.texts)  # not taken up yet

    @property
    def over(self) -> bool:
        return self.answer.done()

    def settle(self, outcome: bytes | BaseException) -> bool:
        """Set the answer, or the exception instead of one; false if the job was over before."""
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.answer.set_exception(outcome)
            else:
                self.answer.set_result(outcome)
            return True
        return False

    def add(self, outcome: Outcome[int]) -> None:
        """Store the result of one text, or raise its failure; the last one completes the answer."""
        if isinstance(outcome.result, Exception):
            raise outcome.result
        self.outcomes[outcome.key] = outcome
        self.document = outcome.document
        if len(self.outcomes) == len(self.texts) and not self.over:
            self.settle(self.write_answer(self))

    @property
    def in_order(self) -> list[Outcome[int]]:
        return [self.outcomes[text.item.key] for text in self.texts]


Taken = tuple[ExtractionJob, QueuedText]  # a text that was taken up, and its job


def next_batch(jobs: Iterable[ExtractionJob], lane: int) -> list[Taken]:
    """Take up a lane's next text, and texts that can be computed with it, one of each job in turn.

    So a request of many texts does not hold up the others. A text joins only if it fits: long texts stay alone.
    """
    waiting = deque(job for job in jobs if job.waiting and not job.over)
    batch: list[Taken] = []
    size, most_texts = 0, 1

    def fits(text: QueuedText) -> bool:
        alike = not batch or (text.extractor == batch[0][1].extractor and size + text.item.size <= BATCH_WORDS)
        return text.lane == lane and alike

    while waiting and len(batch) < most_texts:
        job = waiting.popleft()
        text = next(filter(fits, job.waiting), None)
        if text is not None:  # else the job has no text for this batch
            job.waiting.remove(text)
            waiting.append(job)
            batch.append((job, text))
            size, most_texts = size + text.item.size, batch_size(text.extractor.method)
    return batch


class RequestQueue:
    """Admits jobs, and has them computed.

    `load` makes the scorers, in the first worker's thread; then `loaded` is called, with the exception if that failed.
    `seconds` is how long a request may take, a limit that `answers.watched` enforces.
    """

    def __init__(
        self,
        load: Callable[[], Sequence[Scorer]],
        config: Config = DEFAULT_CONFIG,
        loaded: Callable[[BaseException | None], None] = lambda failure: None,  # noqa: ARG005
    ) -> None:
        self._load, self._size, self.seconds, self._on_load = load, config.queue, config.timeout, loaded
        self.metrics = Metrics()
        self.metrics.waiting.set_function(lambda: self._count(lambda job: not job.computing))
        self.metrics.working.set_function(lambda: self._count(lambda job: job.computing and not job.over))
        self.eta = Eta(config.workers)
        self.failure: BaseException | None = None  # of loading
        self._jobs: list[ExtractionJob] = []  # all that are not over, in the order in which they are taken up
        self._closed = self._stopped = False
        self._changed = Condition()
        self._scorers: Sequence[Scorer] = ()  # once their models are loaded
        self._released = monotonic()  # when freed memory was last returned to the system
        self._workers = [Thread(target=self._start, name="mudy-worker-0", daemon=True)]

    # -- Called by the service, from its own thread -------------------------------------------------------------------

    def start(self) -> None:
        self._workers[0].start()

    @property
    def ready(self) -> bool:
        return bool(self._scorers) and self.alive and not self._closed

    @property
    def loaded(self) -> frozenset[str]:
        return frozenset[str]().union(*(scorer.loaded for scorer in self._scorers))

    @property
    def alive(self) -> bool:
        return all(worker.is_alive() for worker in self._workers)

    @property
    def under_way(self) -> int:
        """How many requests wait or are computed."""
        return self._count(lambda job: not job.over)

    def _count(self, counts: Callable[[ExtractionJob], object]) -> int:
        with self._changed:
            return sum(bool(counts(job)) for job in self._jobs)

    def admit(self, job: ExtractionJob) -> ExtractionJob:
        """Put a job into the queue; its answer comes as the future `answer`."""
        with self._changed:
            if self._closed:
                self.metrics.refused.labels("shutting-down").inc()
                raise HttpProblem("shutting-down")
            if self._count(lambda job: not job.computing) >= self._size:
                self.metrics.refused.labels("queue-full").inc()
                raise HttpProblem("queue-full", retry_after=self.retry_after())
            self._jobs.append(job)
            self._changed.notify_all()
        return job

    def cancel(self, job: ExtractionJob, name: str) -> None:
        """Settle a job with a problem; it is not computed any further, unless it is part of a batch just now."""
        with self._changed:
            retry_after = self.retry_after() if name == "time-limit" else None
            if job.over or not job.settle(HttpProblem(name, retry_after=retry_after)):
                return
            self.metrics.cancelled.labels(name, "waiting" if job.began is None else "working").inc()
            if not job.computing:
                self._jobs = [other for other in self._jobs if other is not job]

    def state(self, job: ExtractionJob) -> dict[str, Any]:
        """The progress of a job, for JSON; times are in seconds."""
        with self._changed:
            if job.began is not None:
                expected = self.eta.expected(text.work for text in job.texts)
                return {"state": "working", "elapsed": monotonic() - job.began, "expected": expected}
            before = self._jobs[: self._jobs.index(job)] if job in self._jobs else []
            ahead = sum(any(text.lane == job.waiting[0].lane for text in other.texts) for other in before)
            return {"state": "waiting", "ahead": ahead, "elapsed": monotonic() - job.admitted}

    def retry_after(self) -> int:
        with self._changed:
            left = [text for job in self._jobs for text in job.texts if text.item.key not in job.outcomes]
            return self.eta.retry_after(text.work for text in left)

    def close(self) -> None:
        """Admit no more jobs."""
        with self._changed:
            self._closed = True

    def stop(self) -> None:
        """Cancel all jobs, and end the workers."""
        with self._changed:
            self._closed = self._stopped = True
            for job in list(self._jobs):
                self.cancel(job, "shutting-down")
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
            self._on_load(error)
            return
        first, *others = [(scorer, lane) for scorer in scorers for lane in range(len(TURN_SECONDS))]
        for number, arguments in enumerate(others, start=1):
            worker = Thread(target=self._work, args=arguments, name=f"mudy-worker-{number}", daemon=True)
            worker.start()
            self._workers.append(worker)
        self._scorers = scorers
        self.metrics.ready.set(1)
        self.metrics.workers.set(len(scorers) if len(scorers) > 1 else 0)
        self._on_load(None)
        self._work(*first)

    def _work(self, scorer: Scorer, lane: int) -> None:
        while batch := self._take_batch(lane):
            try:
                self._compute(scorer, lane, batch)
            except Cancelling:
                pass
            except BaseException as error:  # an unexpected one must not end the worker
                for job, text in batch:
                    self._fail(job, text, error)
            self._put_back(batch)

    def _take_batch(self, lane: int) -> list[Taken]:
        """Wait for a batch, and take it; empty at shutdown."""
        with self._changed:
            while not self._stopped:
                if batch := next_batch(self._jobs, lane):
                    for job, _ in batch:
                        job.computing += 1
                        job.began = job.began or monotonic()
                    return batch
                self._changed.wait()
        return []

    def _put_back(self, batch: list[Taken]) -> None:
        """Remove finished jobs from the queue; move the others to its end.

        When it is empty, return freed memory, not too often: glibc keeps most of what a long text has used.
        """
        with self._changed:
            for job, _ in batch:
                job.computing -= 1
            served = list(dict.fromkeys(job for job, _ in batch))
            self._jobs = [job for job in self._jobs if job not in served]
            self._jobs += [job for job in served if not job.over]
            release = not self._jobs and monotonic() - self._released > RELEASE_SECONDS
            self._released = monotonic() if release else self._released
        if release:
            give_back()

    def _compute(self, scorer: Scorer, lane: int, batch: list[Taken]) -> None:
        """Add the outcomes of a batch to its jobs; Cancelling if nobody waits for any of them any more."""

        def check() -> None:
            if all(job.over for job, _ in batch):
                raise Cancelling

        key = batch[0][1].extractor
        with checked_by(check):
            items = [replace(text.item, text=job.document or text.item.text) for job, text in batch]
            outcomes = scorer.compute(Batch(key, lane, items))
            if (fault := next((outcome.fault for outcome in outcomes if outcome.fault), None)) is not None:
                log_fault(fault, *(job.request_id for job, _ in batch))
            if key.examples is None:
                self._learn(key.method, [outcome for outcome in outcomes if not isinstance(outcome.result, Exception)])
            for (job, text), outcome in zip(batch, outcomes, strict=True):
                try:
                    job.add(outcome)
                except Exception as error:
                    self._fail(job, text, error)

    def _fail(self, job: ExtractionJob, text: QueuedText, error: BaseException) -> None:
        if isinstance(error, ArithmeticError) and text.extractor.settings:
            error = SettingError("These settings give scores that are not finite. Use values nearer to the defaults.")
        if not isinstance(error, MudyError):
            log_fault(error, job.request_id)
        job.settle(problem_of_text(error, text.where))

    def _learn(self, method: str, outcomes: Sequence[Outcome[int]]) -> None:
        if not outcomes:
            return
        sizes = [text_size(outcome.value.text) for outcome in outcomes]
        with self._changed:
            self.eta.learn(method, sizes, sum(outcome.seconds for outcome in outcomes))
        self.metrics.texts.labels(method).inc(len(outcomes))
        self.metrics.words.labels(method).inc(sum(len(outcome.value.text.split()) for outcome in outcomes))
        self.metrics.batch.observe(len(outcomes))
