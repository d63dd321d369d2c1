"""What was asked for: jobs in line, in which lane each of their texts is, and which are computed together."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from mudy.explanation import Explained
from mudy.extractor import GATHERED_WORDS
from mudy.text import Document

LANES = (GATHERED_WORDS, 8 * GATHERED_WORDS)  # the longest texts of all lanes but the last: short, medium, long
BYTES_OF_A_WORD = 6  # about so many, in UTF-8 and with its space
Settings = tuple[tuple[str, Any], ...]  # names and values, in the order of the names


class Ended(Exception):
    """Why a job has no answer though nothing is wrong with what it asked."""

    label = "ended"


class ClientGone(Ended):
    """Nobody waits for the answer any more."""

    label = "client-gone"


class TimeLimit(Ended):
    """It took longer than a request may take."""

    label = "time-limit"


class ShuttingDown(Ended):
    """The service ends."""

    label = "shutting-down"


class Failed(Exception):
    """One of a job's texts could not be computed; the cause says why."""

    def __init__(self, where: str, cause: BaseException) -> None:
        super().__init__(where)
        self.where, self.cause = where, cause


class Key(NamedTuple):
    """What texts must have in common to be computed together."""

    method: str
    settings: Settings = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """One text for one method."""

    text: str
    key: Key
    options: Mapping[str, Any]  # of Extractor.prepare
    words: int
    size: int  # in words, or what would be words in a script that has spaces
    where: str = "text"  # in the request

    @classmethod
    def of(cls, text: str, key: Key, options: Mapping[str, Any], where: str = "text") -> Ask:
        words = len(text.split())
        return cls(text, key, options, words, max(words, len(text.encode(errors="replace")) // BYTES_OF_A_WORD), where)

    @property
    def lane(self) -> int:
        """By its length: a short text does not wait behind a long one."""
        return bisect_left(LANES, self.size)


@dataclass(eq=False)
class Job:
    """A request on its way: its texts, what was found for them so far, and its answer.

    It is over once the answer is settled, be it by a result, a failure, its time limit, or by its client going away.
    """

    asks: Sequence[Ask]
    finish: Callable[[Job], bytes]  # makes the answer of what was found; called by the worker
    request: str = "-"  # its id, for logs
    deadline: float = float("inf")  # on the clock `monotonic`
    answer: Future[bytes] = field(default_factory=Future)
    one_text: bool = False  # all methods read the same one, which is cut into words once
    document: Document | None = None  # what that one became
    found: dict[int, Explained] = field(default_factory=dict)
    admitted: float = field(default_factory=monotonic)
    began: float | None = None  # when its first text was taken up

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.asks)))

    @property
    def over(self) -> bool:
        return self.answer.done()

    @property
    def lane(self) -> int | None:
        """That of the next of its texts; None if none waits."""
        return self.asks[self.waiting[0]].lane if self.waiting else None

    @property
    def words_left(self) -> Iterator[tuple[Key, int]]:
        return ((self.asks[i].key, self.asks[i].words) for i in range(len(self.asks)) if i not in self.found)

    def settle(self, outcome: bytes | BaseException) -> bool:
        """Give the answer, or say why there is none; false if the job was over before."""
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.answer.set_exception(outcome)
            else:
                self.answer.set_result(outcome)
            return True
        return False

    def reading(self, index: int) -> str | Document:
        """The text to read, or the document that it became before."""
        return self.asks[index].text if self.document is None else self.document

    def keep(self, index: int, explained: Explained, document: Document) -> None:
        """Remember what was found for one text; the last one completes the answer."""
        self.found[index] = explained
        self.document = document if self.one_text else None
        if len(self.found) == len(self.asks) and not self.over:
            self.settle(self.finish(self))

    @property
    def in_order(self) -> list[Explained]:
        """What was found, as it was asked for."""
        return [self.found[index] for index in range(len(self.asks))]


@dataclass(frozen=True, slots=True)
class Item:
    """One text of a job, taken up."""

    job: Job
    index: int

    @property
    def ask(self) -> Ask:
        return self.job.asks[self.index]


def gather(line: Iterable[Job], lane: int, most_texts: Callable[[Key], int], most_words: int) -> list[Item]:
    """Take up a lane's next text, and what can be computed with it, one from each job in turn.

    So a request of many texts does not hold up the others. A text joins only where it fits: long ones stay alone.
    """
    jobs = deque(job for job in line if job.waiting and not job.over)
    items: list[Item] = []
    while jobs and not items:
        items = _taken(jobs, lambda ask: ask.lane == lane)
    if not items:
        return []
    first = items[0].ask
    most, size = most_texts(first.key), first.size
    while jobs and len(items) < most:
        more = _taken(jobs, partial(_joins, lane=lane, key=first.key, room=most_words - size))
        items += more
        size += sum(item.ask.size for item in more)
    return items


def _joins(ask: Ask, lane: int, key: Key, room: int) -> bool:
    return ask.lane == lane and ask.key == key and ask.size <= room


def _taken(jobs: deque[Job], fits: Callable[[Ask], bool]) -> list[Item]:
    """The first text of the first job that fits, if one does; the job then goes to the end, else away."""
    job = jobs.popleft()
    index = next((i for i in job.waiting if fits(job.asks[i])), None)
    if index is None:
        return []
    job.waiting.remove(index)
    jobs.append(job)
    return [Item(job, index)]
