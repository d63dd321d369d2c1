"""The queue and its one worker thread, which alone touches the models.

A request that is admitted waits in line. The worker takes up the first one's next text together with those of others
that are computed in the same way, and sends whoever is not finished to the end of the line. No answer depends on whose
texts were computed together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Condition, Thread
from time import monotonic, perf_counter
from typing import NamedTuple

from mudy.errors import MudyError, SettingError
from mudy.explanation import Explained
from mudy.extractor import GATHERED_WORDS, Extractor, Task
from mudy.methods import settings_in_use
from mudy.results import Result
from mudy.server import logs
from mudy.server.makers import Makers, together
from mudy.server.metrics import Metrics
from mudy.server.pace import Pace
from mudy.server.work import ClientGone, Ended, Failed, Item, Job, Key, ShuttingDown, TimeLimit, gather

WARM_UP = "The first text that a model reads takes longer than the next ones."
LAST_WORDS = 2.0  # seconds for the worker to leave what it does when the service ends


class QueueFull(Exception):
    """As many requests wait as may."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class State(NamedTuple):
    """How far a job is."""

    working: bool
    ahead: int  # requests before it
    elapsed: float  # seconds since it was admitted or, once there is work on it, since that began
    expected: float | None  # seconds of work, if that can be told


class Desk:
    """Admits jobs, and has them computed.

    `load` makes the extractor, in the worker's thread, given what its models are to call before each pass; `failed` is
    told when that fails, which ends the worker. `queue` is how many requests may wait, `seconds` how long one may take.
    """

    def __init__(
        self,
        load: Callable[[Callable[[], None]], Extractor],
        *,
        queue: int = 64,
        seconds: float = 300,
        metrics: Metrics | None = None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._load, self._queue, self._seconds, self._failed = load, queue, seconds, failed
        self.metrics = metrics or Metrics()
        self.pace = Pace()
        self.extractor: Extractor | None = None  # once it is loaded
        self.failure: BaseException | None = None  # of loading
        self._line: list[Job] = []  # all that is not over, in the order of being taken up
        self._working: Sequence[Item] = ()
        self._closed = self._stopped = False
        self._changed = Condition()
        self._worker = Thread(target=self._run, name="mudy-worker", daemon=True)

    # -- What the service asks of it, from its own thread -------------------------------------------------------------

    def start(self) -> None:
        self._worker.start()

    @property
    def ready(self) -> bool:
        return self.extractor is not None and self.alive and not self._closed

    @property
    def alive(self) -> bool:
        return self._worker.is_alive()

    def admit(self, job: Job) -> Job:
        """Put a job in line; its answer comes as the future `answer`."""
        with self._changed:
            if self._closed:
                self.metrics.refused.labels("shutting-down").inc()
                raise ShuttingDown
            waiting = self._waiting()
            if len(waiting) >= self._queue:
                self.metrics.refused.labels("queue-full").inc()
                raise QueueFull(self.pace.retry_after(work for other in self._line for work in other.words_left))
            job.deadline = min(job.deadline, monotonic() + self._seconds)
            self._line.append(job)
            self._count()
            self._changed.notify()
        return job

    def end(self, job: Job, reason: Ended) -> None:
        """Let go of a job: it is not computed any further, unless it is with others just now."""
        with self._changed:
            if not job.settle(reason):
                return
            self.metrics.cancelled.labels(reason.label, "waiting" if job.began is None else "working").inc()
            if all(item.job is not job for item in self._working):
                self._line = [other for other in self._line if other is not job]
            self._count()

    def leave(self, job: Job) -> None:
        self.end(job, ClientGone())

    def state(self, job: Job) -> State:
        with self._changed:
            now = monotonic()
            expected = self.pace.expected((ask.key, ask.words) for ask in job.asks)
            if job.began is not None:
                return State(True, 0, now - job.began, expected)
            ahead = self._line.index(job) if job in self._line else 0
            return State(False, ahead, now - job.admitted, expected)

    def retry_after(self) -> int:
        with self._changed:
            return self.pace.retry_after(work for job in self._line for work in job.words_left)

    def close(self) -> None:
        """Admit no more."""
        with self._changed:
            self._closed = True

    def end_all(self) -> None:
        """End everything that is not over yet, and with it the worker."""
        with self._changed:
            self._closed = self._stopped = True
            for job in list(self._line):
                self.end(job, ShuttingDown())
            self._changed.notify()

    def stopped(self) -> bool:
        """Wait a moment for the worker to end; false if it is in a computation that it cannot leave."""
        if self.alive:
            self._worker.join(LAST_WORDS)
        return not self.alive

    def watch(self) -> None:
        """Called by the models before each pass: ends work that nobody waits for any more."""
        jobs = {item.job for item in self._working}
        self._expire(jobs)
        if jobs and all(job.over for job in jobs):
            raise Ended

    # -- The worker ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            root = self._load(self.watch)
            assert root.tagger
            makers = Makers(root)
            makers[Key(root.method)].extract(WARM_UP)
        except BaseException as error:
            self.failure = error
            self.end_all()
            self._failed()
            return
        self.extractor = root
        self.metrics.ready.set(1)
        while items := self._next():
            try:
                self._compute(makers, items)
            except Ended:
                pass
            except BaseException as error:  # of ours: it must not take the worker with it
                for item in items:
                    self._fail(item, error)
            self._put_back(items)

    def _next(self) -> list[Item]:
        """Wait for work, and take it up; nothing when the service ends."""
        with self._changed:
            while not self._stopped:
                self._expire(list(self._line))
                items = gather(self._line, lambda key: together(key.method), GATHERED_WORDS)
                if items:
                    for item in items:
                        item.job.began = item.job.began or monotonic()
                    self._working = items
                    self._count()
                    return items
                self._count()
                self._changed.wait()
        return []

    def _expire(self, jobs: Iterable[Job]) -> None:
        now = monotonic()
        for job in jobs:
            if now > job.deadline:
                self.end(job, TimeLimit())

    def _put_back(self, items: Sequence[Item]) -> None:
        """Whoever is finished leaves the line; whoever is not goes to its end."""
        with self._changed:
            self._working = ()
            served = list(dict.fromkeys(item.job for item in items))
            self._line = [job for job in self._line if job not in served]
            self._line += [job for job in served if not job.over]
            self._count()

    def _compute(self, makers: Makers, items: Sequence[Item]) -> None:
        maker = makers[items[0].ask.key]
        start = perf_counter()
        tasks = {item: task for item in items if (task := self._prepared(maker, item)) is not None}
        results = self._finished(maker, tasks)
        seconds = perf_counter() - start
        self._learn(list(results), seconds)
        total = sum(item.ask.words for item in results) or 1
        for item, result in results.items():
            scorer = maker.scorer if tasks[item].candidates else None
            share = seconds * item.ask.words / total
            found = Explained(result, settings_in_use(scorer), tuple(getattr(scorer, "free", ())), share)
            try:
                item.job.keep(item.index, found, tasks[item].document)
            except Exception as error:
                self._fail(item, error)

    def _prepared(self, maker: Extractor, item: Item) -> Task | None:
        try:
            return maker.prepare(item.job.reading(item.index), **item.ask.options)
        except Exception as error:
            self._fail(item, error)
            return None

    def _finished(self, maker: Extractor, tasks: Mapping[Item, Task]) -> dict[Item, Result]:
        """All together; where that fails, one by one, so that one text spoils no other."""
        if len(tasks) > 1:
            try:
                return dict(zip(tasks, maker.finish(list(tasks.values())), strict=True))
            except Ended:
                raise
            except (MudyError, ArithmeticError):
                pass  # whose it is will come out
            except Exception as error:
                logs.fault(error, *(item.job.request for item in tasks))
        return {item: found for item, task in tasks.items() if (found := self._alone(maker, item, task)) is not None}

    def _alone(self, maker: Extractor, item: Item, task: Task) -> Result | None:
        try:
            return None if item.job.over else maker.finish([task])[0]
        except Ended:
            raise
        except Exception as error:
            self._fail(item, error)
            return None

    def _fail(self, item: Item, error: BaseException) -> None:
        if isinstance(error, ArithmeticError) and item.ask.key.settings:
            error = SettingError("No finite scores come of these settings. Use values nearer to the defaults.")
        if not isinstance(error, MudyError):
            logs.fault(error, item.job.request)
        item.job.settle(Failed(item.ask.where, error))

    def _learn(self, items: Sequence[Item], seconds: float) -> None:
        if not items:
            return
        key, words = items[0].ask.key, [item.ask.words for item in items]
        with self._changed:
            self.pace.learn(key, words, seconds)
        self.metrics.texts.labels(key.method).inc(len(items))
        self.metrics.words.labels(key.method).inc(sum(words))
        self.metrics.batch.observe(len(items))

    # -- Counting -----------------------------------------------------------------------------------------------------

    def _waiting(self) -> list[Job]:
        busy = {item.job for item in self._working}
        return [job for job in self._line if job not in busy]

    def _count(self) -> None:
        busy = {item.job for item in self._working if not item.job.over}
        self.metrics.waiting.set(len(self._waiting()))
        self.metrics.working.set(len(busy))
