"""Jobs in the queue: the texts of one request, the lane of each, and which texts form a batch."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from mudy._support.storage import encode_text
from mudy.extraction.batching import BATCH_WORDS, batch_size
from mudy.extraction.explanation import Explained
from mudy.extraction.options import Options
from mudy.reading.document import Document

LANE_WORDS = (BATCH_WORDS, 8 * BATCH_WORDS)  # the longest text of each lane but the last: short, medium, long
BYTES_PER_WORD = 6  # about, in UTF-8 and with its space
SettingItems = tuple[tuple[str, Any], ...]  # names and values, sorted by name


class Cancelled(Exception):
    """A job ended without an answer, although its request was valid."""

    label = "ended"


class ClientGone(Cancelled):
    """The client closed its connection."""

    label = "client-gone"


class TimeLimit(Cancelled):
    """The request took longer than allowed."""

    label = "time-limit"


class ShuttingDown(Cancelled):
    """The service is shutting down."""

    label = "shutting-down"


class TextFailed(Exception):
    """One of a job's texts could not be computed because of `cause`."""

    def __init__(self, where: str, cause: BaseException) -> None:
        super().__init__(where)
        self.where, self.cause = where, cause


class ExtractorKey(NamedTuple):
    """Method and settings: texts with the same key can be computed together."""

    method: str
    settings: SettingItems = ()


@dataclass(frozen=True, slots=True)
class TextRequest:
    """One text for one method."""

    text: str
    key: ExtractorKey
    options: Options
    words: int
    size: int  # in words; estimated from bytes for scripts without spaces
    where: str = "text"  # in the request

    @classmethod
    def of(cls, text: str, key: ExtractorKey, options: Options, where: str = "text") -> TextRequest:
        words = len(text.split())
        return cls(text, key, options, words, max(words, len(encode_text(text)) // BYTES_PER_WORD), where)

    @property
    def lane(self) -> int:
        """By length: a short text does not wait behind a long one."""
        return bisect_left(LANE_WORDS, self.size)


@dataclass(eq=False)
class ExtractionJob:
    """A request in the queue: its texts, the results so far, and a future for its answer.

    It is over once the future is set: to a result, a failure, or the reason why it was cancelled.
    """

    texts: Sequence[TextRequest]
    write_answer: Callable[[ExtractionJob], bytes]  # called by the worker when all results are there
    request_id: str = "-"  # for logs
    deadline: float = float("inf")  # on the clock `monotonic`
    answer: Future[bytes] = field(default_factory=Future)
    one_text: bool = False  # all methods read the same text, which is tagged once
    document: Document | None = None  # the tagged text, if there is only one
    results: dict[int, Explained] = field(default_factory=dict)  # by the index of their text
    admitted: float = field(default_factory=monotonic)
    began: float | None = None  # when its first text was taken up

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.texts)))  # indices of texts that are not taken up yet

    @property
    def over(self) -> bool:
        return self.answer.done()

    @property
    def lane(self) -> int | None:
        """The lane of its next text; None if no text waits."""
        return self.texts[self.waiting[0]].lane if self.waiting else None

    @property
    def remaining_work(self) -> Iterator[tuple[ExtractorKey, int]]:
        """Key and number of words of each text without a result."""
        return ((text.key, text.words) for index, text in enumerate(self.texts) if index not in self.results)

    def settle(self, outcome: bytes | BaseException) -> bool:
        """Set the answer, or the exception instead of one; false if the job was over before."""
        with suppress(InvalidStateError):
            if isinstance(outcome, BaseException):
                self.answer.set_exception(outcome)
            else:
                self.answer.set_result(outcome)
            return True
        return False

    def text_or_document(self, index: int) -> str | Document:
        """The text to read, or its document if another method has read it already."""
        return self.texts[index].text if self.document is None else self.document

    def add_result(self, index: int, result: Explained, document: Document | None) -> None:
        """Store the result of one text; the last one completes the answer."""
        self.results[index] = result
        self.document = document
        if len(self.results) == len(self.texts) and not self.over:
            self.settle(self.write_answer(self))

    @property
    def in_order(self) -> list[Explained]:
        """The results in the order of the texts."""
        return [self.results[index] for index in range(len(self.texts))]


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One text of a job in a batch."""

    job: ExtractionJob
    index: int

    @property
    def request(self) -> TextRequest:
        return self.job.texts[self.index]


def next_batch(jobs: Iterable[ExtractionJob], lane: int) -> list[BatchItem]:
    """Take up a lane's next text, and texts that can be computed with it, one of each job in turn.

    So a request of many texts does not hold up the others. A text joins only if it fits: long texts stay alone.
    """
    waiting = deque(job for job in jobs if job.waiting and not job.over)
    items: list[BatchItem] = []
    while waiting and not items:
        items = _take_first(waiting, lambda text: text.lane == lane)
    if not items:
        return []
    first = items[0].request
    most_texts, size = batch_size(first.key.method), first.size
    while waiting and len(items) < most_texts:
        more = _take_first(waiting, partial(_fits, lane=lane, key=first.key, room=BATCH_WORDS - size))
        items += more
        size += sum(item.request.size for item in more)
    return items


def _fits(text: TextRequest, lane: int, key: ExtractorKey, room: int) -> bool:
    return text.lane == lane and text.key == key and text.size <= room


def _take_first(jobs: deque[ExtractionJob], fits: Callable[[TextRequest], bool]) -> list[BatchItem]:
    """The first fitting text of the first job, if it has one; the job then moves to the end, else it is removed."""
    job = jobs.popleft()
    index = next((i for i in job.waiting if fits(job.texts[i])), None)
    if index is None:
        return []
    job.waiting.remove(index)
    jobs.append(job)
    return [BatchItem(job, index)]
