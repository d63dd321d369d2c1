"""What was asked for: jobs in line, and which of their texts are computed together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

from mudy.explanation import Explained
from mudy.text import Document

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
    comparing: bool = False  # for an explanation: all scores by one rule, also where a fast method would save work

    @property
    def pace(self) -> tuple[str, bool]:
        """What decides how long a word takes, settings aside."""
        return self.method, self.comparing


@dataclass(frozen=True, slots=True)
class Ask:
    """One text for one method."""

    text: str
    key: Key
    options: Mapping[str, Any]  # of Extractor.prepare
    words: int
    where: str = "text"  # in the request

    @classmethod
    def of(cls, text: str, key: Key, options: Mapping[str, Any], where: str = "text") -> Ask:
        return cls(text, key, options, len(text.split()), where)


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


def gather(line: Iterable[Job], most_texts: Callable[[Key], int], most_words: int) -> list[Item]:
    """Take up the first job's next text, and what can be computed with it, one from each job in turn.

    So a request of many texts does not hold up the others. A text joins only where it fits: long ones stay alone.
    """
    jobs = [job for job in line if job.waiting and not job.over]
    if not jobs:
        return []
    items = [Item(jobs[0], jobs[0].waiting.popleft())]
    key, words = items[0].ask.key, items[0].ask.words
    most = most_texts(key)
    turn = deque([*jobs[1:], jobs[0]])
    while turn and len(items) < most:
        job = turn.popleft()
        index = next((i for i in job.waiting if _joins(job.asks[i], key, most_words - words)), None)
        if index is None:
            continue
        job.waiting.remove(index)
        items.append(Item(job, index))
        words += job.asks[index].words
        turn.append(job)
    return items


def _joins(ask: Ask, key: Key, room: int) -> bool:
    return ask.words <= room and ask.key == key
