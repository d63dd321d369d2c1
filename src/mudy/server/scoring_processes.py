"""Scoring in processes of their own: the service's queue and limits stay in front, and each process has all lanes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass, replace
from threading import Lock

from mudy._support.cancellation import Check, current_check
from mudy._support.workers import Task, WorkerEnded, WorkerProcess, pickled_work, threads_each
from mudy.server.batch_scorer import Batch, BatchScorer, ComputedBatch, LocalScorer
from mudy.server.config import Config
from mudy.server.jobs import LANE_WORDS, ExtractorKey

CHECK_SECONDS = 0.05  # between two looks at whether a batch is still wanted


@dataclass(frozen=True)
class ScoringWork:
    """What a process of the service does: it loads the models at its start, then computes batches."""

    config: Config

    def start(self) -> Callable[[Batch], ComputedBatch]:
        scorer = LocalScorer(self.config.load())

        return lambda batch: scorer.compute(batch, current_check())


class ProcessScorer:
    """An extractor in a process of its own, which is replaced when it ends."""

    def __init__(self, work: ScoringWork) -> None:
        self._work, self._pickled = work, pickled_work(work)
        self._lock = Lock()
        self._closed = False
        self._process = self._started()
        self.loaded: frozenset[str] = frozenset()

    @property
    def pid(self) -> int:
        return self._process.pid

    def compute(self, batch: Batch, check: Check) -> ComputedBatch:
        """Compute a batch there. If its process ends, each text is tried once more, alone."""
        try:
            computed = self._computed(batch, check)
        except WorkerEnded:
            each = [self._alone(batch._replace(texts=[text]), check) for text in batch.texts]
            outcomes = [outcome for one in each for outcome in one.outcomes]
            faults = [fault for one in each for fault in one.faults]
            computed = ComputedBatch(outcomes, sum(one.seconds for one in each), each[-1].loaded, faults)
        self.loaded |= computed.loaded
        return computed

    def _alone(self, batch: Batch, check: Check) -> ComputedBatch:
        try:
            return self._computed(batch, check)
        except WorkerEnded as error:
            return ComputedBatch([error], 0.0, frozenset())

    def _computed(self, batch: Batch, check: Check) -> ComputedBatch:
        process, task = self._running(), Task.of(batch)
        process.submit(task)
        try:
            while not wait([task.future], CHECK_SECONDS).done:
                check()
        except BaseException:
            process.cancel(task)
            raise
        computed: ComputedBatch = task.future.result()
        return computed

    def _running(self) -> WorkerProcess:
        """The process; a new one if it has ended. What ended at its start will not be better the next time."""
        with self._lock:
            if isinstance(self._process.failure, WorkerEnded) and not self._closed:
                self._process, self.loaded = self._started(), frozenset()
            return self._process

    def _started(self) -> WorkerProcess:
        return WorkerProcess(self._pickled, lambda _: None, at_once=len(LANE_WORDS) + 1)

    def await_start(self) -> None:
        """Wait until the models are loaded there; raises what loading them raised."""
        probe = Task.of(Batch(ExtractorKey(self._work.config.method), 0, ()))
        self._running().submit(probe)
        computed: ComputedBatch = probe.future.result()
        self.loaded = computed.loaded

    def release_memory(self) -> None:
        """Each process does so itself."""

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._process.close()


def process_scorers(config: Config) -> list[BatchScorer]:
    """As many scorers as the configuration asks for, each with its models loaded; models are fetched once, here."""
    config.load().fetch()
    compute = replace(config.compute, threads=threads_each(config.workers, config.compute.threads))
    work = ScoringWork(replace(config, compute=compute, report=None, api_key=None))
    scorers: list[ProcessScorer] = []
    try:
        scorers += [ProcessScorer(work) for _ in range(config.workers)]  # all load at once
        for scorer in scorers:
            scorer.await_start()
    except BaseException:
        for scorer in scorers:
            scorer.close()
        raise
    return list(scorers)
