"""The queue and its worker threads, one a lane, of which one at a time touches the models.

A request that is admitted waits in line. The worker of a lane (short texts, medium ones, long ones) takes up the next
text of its length together with those of others that are computed in the same way, and sends whoever is not finished to
the end of the line. Workers take turns: one that computes a long text offers its own before each pass through a model.
No answer depends on whose texts were computed together or in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from time import monotonic, perf_counter
from typing import NamedTuple

from mudy.cancellation import checked_by
from mudy.errors import MudyError, SettingError
from mudy.explanation import Explained
from mudy.extractor import GATHERED_WORDS, Extractor, Task
from mudy.loading import give_back
from mudy.methods import settings_in_use
from mudy.results import Result
from mudy.server import logs, turn_lock
from mudy.server.eta import Pace
from mudy.server.extractor_cache import Makers, together
from mudy.server.jobs import LANES, ClientGone, Ended, Failed, Item, Job, Key, ShuttingDown, TimeLimit, gather
from mudy.server.metrics import Metrics
from mudy.server.turn_lock import Turns

WARM_UP = "The first text that a model reads takes longer than the next ones."
TIDYING_SECONDS = 10.0  # between two times that freed memory is given back
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


@dataclass(eq=False)
class Lane:
    """What one worker is at."""

    number: int
    items: Sequence[Item] = ()
    away: float = 0.0  # seconds that others had their turns while these items were computed


class Desk:
    """Admits jobs, and has them computed.

    `load` makes the extractor, in the first worker's thread; `failed` is told when that fails, which ends the worker.
    `queue` is how many requests may wait, `seconds` how long one may take.
    """

    def __init__(
        self,
        load: Callable[[], Extractor],
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
        self._tidied = monotonic()  # when freed memory was given back
        self._closed = self._stopped = False
        self._changed = Condition()
        self._turns = Turns()
        self._lanes = [Lane(number) for number in range(len(LANES) + 1)]
        self._workers = [Thread(target=self._start, name="mudy-worker-0", daemon=True)]

    # -- What the service asks of it, from its own thread -------------------------------------------------------------

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
            return sum(not job.over for job in self._line)

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
            self._changed.notify_all()
        return job

    def end(self, job: Job, reason: Ended) -> None:
        """Let go of a job: it is not computed any further, unless it is with others just now."""
        with self._changed:
            if not job.settle(reason):
                return
            self.metrics.cancelled.labels(reason.label, "waiting" if job.began is None else "working").inc()
            if job not in self._busy():
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
            before = self._line[: self._line.index(job)] if job in self._line else []
            ahead = sum(any(ask.lane == job.lane for ask in other.asks) for other in before)
            return State(False, ahead, now - job.admitted, expected)

    def retry_after(self) -> int:
        with self._changed:
            return self.pace.retry_after(work for job in self._line for work in job.words_left)

    def close(self) -> None:
        """Admit no more."""
        with self._changed:
            self._closed = True

    def end_all(self) -> None:
        """End everything that is not over yet, and with it the workers."""
        with self._changed:
            self._closed = self._stopped = True
            for job in list(self._line):
                self.end(job, ShuttingDown())
            self._changed.notify_all()

    def stopped(self) -> bool:
        """Wait a moment for the workers to end; false if one is in a computation that it cannot leave."""
        end = monotonic() + LAST_WORDS
        for worker in self._workers:
            if worker.is_alive():
                worker.join(max(0.0, end - monotonic()))
        return not any(worker.is_alive() for worker in self._workers)

    # -- The workers --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Load the models, and start the workers of the other lanes; this one works in the first."""
        try:
            root = self._load()
            assert root.tagger
            makers = Makers(root)
            makers[Key(root.method)].extract(WARM_UP)
        except BaseException as error:
            self.failure = error
            self.end_all()
            self._failed()
            return
        others = [
            Thread(target=self._work, args=(makers, lane), name=f"mudy-worker-{lane.number}", daemon=True)
            for lane in self._lanes[1:]
        ]
        for worker in others:
            worker.start()
        self._workers += others
        self.extractor = root
        self.metrics.ready.set(1)
        self._work(makers, self._lanes[0])

    def _work(self, makers: Makers, lane: Lane) -> None:
        while self._take_up(lane):
            try:
                with self._turns, checked_by(lambda: self._check(lane)):
                    self._compute(makers, lane)
            except Ended:
                pass
            except BaseException as error:  # of ours: it must not take the worker with it
                for item in lane.items:
                    self._fail(item, error)
            self._put_back(lane)
            self._tidy_up()

    def _tidy_up(self) -> None:
        """Give freed memory back to the system in a quiet moment: glibc keeps most of what a long text has used."""
        with self._changed:
            quiet = not self._line and monotonic() - self._tidied > TIDYING_SECONDS
            self._tidied = monotonic() if quiet else self._tidied
        if quiet:
            give_back()

    def _check(self, lane: Lane) -> None:
        """Called often by what a worker computes: lets others have their turn, and ends what nobody waits for."""
        lane.away += self._turns.offer(turn_lock.TURN_SECONDS[lane.number])
        jobs = {item.job for item in lane.items}
        self._expire(jobs)
        if all(job.over for job in jobs):
            raise Ended

    def _take_up(self, lane: Lane) -> bool:
        """Wait for work, and take it up; false when the service ends."""
        with self._changed:
            while not self._stopped:
                self._expire(list(self._line))
                items = gather(self._line, lane.number, lambda key: together(key.method), GATHERED_WORDS)
                if items:
                    for item in items:
                        item.job.began = item.job.began or monotonic()
                    lane.items, lane.away = items, 0.0
                    self._count()
                    return True
                self._count()
                self._changed.wait()
        return False

    def _expire(self, jobs: Iterable[Job]) -> None:
        now = monotonic()
        for job in jobs:
            if now > job.deadline:
                self.end(job, TimeLimit())

    def _put_back(self, lane: Lane) -> None:
        """Whoever is finished leaves the line; whoever is not goes to its end."""
        with self._changed:
            served = list(dict.fromkeys(item.job for item in lane.items))
            lane.items = ()
            self._line = [job for job in self._line if job not in served]
            self._line += [job for job in served if not job.over]
            self._count()

    def _compute(self, makers: Makers, lane: Lane) -> None:
        maker = makers[lane.items[0].ask.key]
        start = perf_counter()
        tasks = {item: task for item in lane.items if (task := self._prepared(maker, item)) is not None}
        results = self._finished(maker, tasks)
        seconds = perf_counter() - start - lane.away
        self._learn(list(results), seconds)
        total = sum(item.ask.words for item in results) or 1
        for item, result in results.items():
            scorer = maker.scorer if tasks[item].candidates else None
            share = seconds * item.ask.words / total
            found = Explained(result, settings_in_use(scorer), tuple(getattr(scorer, "free", ())), share)
            try:
                item.job.keep(item.index, found, tasks[item].document)
            except Ended:
                raise
            except Exception as error:
                self._fail(item, error)

    def _prepared(self, maker: Extractor, item: Item) -> Task | None:
        try:
            return maker.prepare(item.job.reading(item.index), **item.ask.options)
        except Ended:
            raise
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

    def _busy(self) -> set[Job]:
        """Those with a text that is being computed."""
        return {item.job for lane in self._lanes for item in lane.items}

    def _waiting(self) -> list[Job]:
        busy = self._busy()
        return [job for job in self._line if job not in busy]

    def _count(self) -> None:
        self.metrics.waiting.set(len(self._waiting()))
        self.metrics.working.set(sum(not job.over for job in self._busy()))
