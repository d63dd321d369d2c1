"""Many texts, one outcome each, in order: short texts are computed together, and a failure stays with its text.

The library, `mudy extract`, `mudy tag` and corpus runs all call `outcomes`. The service, whose queue has its own order,
forms batches itself and calls `score_batch`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from itertools import chain, islice, repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

from mudy._support.validation import seen, several
from mudy._support.workers import WorkerPool, ordered_outcomes, threads_each
from mudy.errors import EndpointRefused, InputError, MudyError, SettingError, WorkerError
from mudy.extraction.explanation import Explained
from mudy.extraction.options import DEFAULT_OPTIONS, Options
from mudy.extraction.ranking import PreparedText
from mudy.methods import is_batched
from mudy.reading.candidates import CandidateKind
from mudy.reading.document import Document

if TYPE_CHECKING:
    from mudy.extraction.extractor import Extractor
    from mudy.extraction.results import Result

K = TypeVar("K")
T = TypeVar("T")
BATCH_TEXTS, BATCH_WORDS = 64, 1500  # a batch ends when it has this many texts or words
BYTES_PER_WORD = 6  # about, in UTF-8, including the space
Errors = tuple[type[Exception], ...]
FATAL: Errors = (SettingError, EndpointRefused)  # would be the same for every text


@dataclass(frozen=True)
class Item(Generic[K]):
    """A text to extract from, under the caller's key, which never leaves this process."""

    key: K
    text: str | Document | PreparedText | Exception  # Exception: why there is no text; it becomes the outcome
    options: Options = DEFAULT_OPTIONS
    explain: bool = False  # whether the outcome has `explained` and `document`
    seconds: float = 0.0  # spent on it so far

    @cached_property
    def size(self) -> int:
        """As `text_size` counts; 0 for a missing text."""
        match self.text:
            case Exception():
                return 0
            case str(text) | Document(text=text) | PreparedText(document=Document(text=text)):
                return text_size(text)


def text_size(text: str) -> int:
    """The number of words; estimated from bytes for scripts without spaces."""
    return max(len(text.split()), len(text.encode(errors="replace")) // BYTES_PER_WORD)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[K]):
    """The result of one text, or the exception that it raised."""

    key: K
    result: Result | Exception
    seconds: float = 0.0  # preparing the text, and its share of the batch by size
    explained: Explained | None = None
    document: Document | None = None
    fault: Exception | None = None  # an unexpected error while computing the batch together; each text was then alone

    @property
    def value(self) -> Result:
        """The result; raises the exception if there is none."""
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def error_message(error: Exception) -> str:
    """An outcome's exception as one line for people."""
    return str(error) if isinstance(error, MudyError) else f"unexpected {type(error).__name__}: {error}"


def outcomes(
    extractor: Extractor,
    items: Iterable[Item[K]],
    *,
    workers: int = 1,
    fatal: Errors = FATAL,
    began: Callable[[Sequence[Item[K]]], None] = lambda items: None,  # noqa: ARG005
) -> Generator[Outcome[K], None, None]:
    """The outcome of each item, in order, computed by this process or several. Close it to end worker processes.

    Fatal exceptions are raised after the outcomes before them: those of `fatal`, and whatever loading the models
    raises. A resumable run adds ModelError, so that an unavailable endpoint ends the run instead of failing every row.
    `began` is called with the items whose computation begins, to show progress.
    """
    if workers == 1:
        formed = batches(items, batch_size(extractor.method))
        return (outcome for batch in formed for outcome in score_batch(extractor, batch, fatal, began=began))
    work = ExtractionWork(portable_arguments(extractor, workers), fatal)
    return _computed_by_workers(work, extractor, items, workers, began)


def candidates_of_each(candidates: Any) -> Iterator[Any]:
    """The candidates of each text: always the same kind or list, or the next of many lists; [] is one list."""
    if candidates is None or (isinstance(candidates, str) and candidates in get_args(CandidateKind)):
        return repeat(candidates)
    given = iter(several("candidates", candidates, "phrases"))
    first = list(islice(given, 1))
    if not first or isinstance(first[0], str):
        return repeat([*first, *given])
    return chain(first, given)


def text_items(texts: Iterable[str | Document], lists: Iterator[Any], options: Options) -> Iterator[Item[int]]:
    """Texts with their options, each with the next of the lists of candidates."""
    for number, text in enumerate(texts):
        if not isinstance(text, str | Document):
            raise InputError(
                f"A text must be a str, but texts[{number}] is {seen(text)}. Decode bytes; fill or drop missing values."
            )
        try:
            candidates = next(lists)
        except StopIteration:
            raise InputError(f"There are more than {number} texts, but only {number} lists of candidates.") from None
        yield Item(number, text, options.changed({"candidates": candidates}))


@cache
def batch_size(method: str) -> int:
    """The largest number of texts that a method computes at once."""
    return BATCH_TEXTS if is_batched(method) else 1


def batches(items: Iterable[Item[K]], most_texts: int = BATCH_TEXTS) -> Iterator[list[Item[K]]]:
    """Items in their order, in batches of up to `most_texts` texts; a batch also ends once it has BATCH_WORDS words.

    If reading the next item fails, the batch so far comes first, and then the exception.
    """
    batch: list[Item[K]] = []
    words = 0
    try:
        for item in items:
            batch.append(item)
            words += item.size
            if words >= BATCH_WORDS or len(batch) >= most_texts:
                yield batch
                batch, words = [], 0
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _attempted(fatal: Errors, function: Callable[..., T], *arguments: Any) -> T | Exception:
    """What a function returns, or the exception that it raised, unless that is fatal."""
    try:
        return function(*arguments)
    except fatal:
        raise
    except Exception as error:
        return error


def score_batch(
    extractor: Extractor,
    batch: Sequence[Item[K]],
    fatal: Errors = FATAL,
    *,
    began: Callable[[Sequence[Item[K]]], None] = lambda items: None,  # noqa: ARG005
    clock: Callable[[], float] = perf_counter,
) -> Iterator[Outcome[K]]:
    """The outcome of each item, in order; none depends on the others.

    The texts are computed together. If that fails, each is computed alone, when its outcome is requested. `began` is
    called once the models are loaded.
    """
    if any(isinstance(item.text, str) and item.text.strip() for item in batch):
        extractor.load_meanwhile()
    prepared: list[Item[K]] = []
    problem: Exception | None = None
    for item in batch:
        if isinstance(item.text, PreparedText | Exception):
            prepared.append(item)
            continue
        start = clock()
        try:
            text = _attempted(fatal, extractor.prepare, item.text, item.options)
        except Exception as error:  # a fatal one: what comes before it is computed first
            problem = error
            break
        prepared.append(replace(item, text=text, seconds=item.seconds + clock() - start))
    if any(isinstance(item.text, PreparedText) and item.text.candidates for item in prepared):
        extractor.load()
    began(batch)
    yield from _scored(extractor, prepared, fatal, clock)
    if problem is not None:
        raise problem


def _scored(
    extractor: Extractor, batch: Sequence[Item[K]], fatal: Errors, clock: Callable[[], float]
) -> Iterator[Outcome[K]]:
    """Outcomes of prepared items; the time of texts that are computed together is divided by their sizes."""
    texts = [item.text for item in batch if isinstance(item.text, PreparedText)]
    start = clock()
    together = _attempted(fatal, extractor.finish, texts) if len(texts) > 1 else None
    rate = (clock() - start) / max(1, sum(item.size for item in batch))
    results = iter(together) if isinstance(together, list) else None
    fault = together if isinstance(together, Exception) else None
    unexpected = None if isinstance(fault, MudyError | ArithmeticError) else fault
    for item in batch:
        if not isinstance(item.text, PreparedText):
            assert isinstance(item.text, Exception)
            yield Outcome(item.key, item.text, item.seconds)
        elif results is not None:
            yield _outcome(extractor, item, item.text, next(results), item.seconds + rate * item.size)
        else:
            start = clock()
            alone = _attempted(fatal, extractor.finish, [item.text])
            result = alone if isinstance(alone, Exception) else alone[0]
            outcome = _outcome(extractor, item, item.text, result, item.seconds + clock() - start)
            yield replace(outcome, fault=unexpected)


def _outcome(
    extractor: Extractor, item: Item[K], text: PreparedText, result: Result | Exception, seconds: float
) -> Outcome[K]:
    if isinstance(result, Exception) or not item.explain:
        return Outcome(item.key, result, seconds)
    explained = Explained.of(result, extractor.scorer if text.candidates else None, text.options, seconds)
    return Outcome(item.key, result, seconds, explained, text.document)


def _computed_by_workers(
    work: ExtractionWork,
    extractor: Extractor,
    items: Iterable[Item[K]],
    workers: int,
    began: Callable[[Sequence[Item[K]]], None],
) -> Generator[Outcome[K], None, None]:
    extractor.fetch()  # once, with its progress
    waiting: deque[Item[K]] = deque()  # without an outcome so far

    def sent() -> Iterator[list[Item[None]]]:
        for batch in batches(items):
            waiting.extend(batch)
            texts = ["" if isinstance(item.text, Exception) else item.text for item in batch]  # "" for a missing one
            yield [
                Item(None, text, item.options, item.explain, item.seconds)
                for item, text in zip(batch, texts, strict=True)
            ]

    with WorkerPool(work, workers) as pool:
        for outcome in ordered_outcomes(pool, sent()):
            item = waiting.popleft()
            result = item.text if isinstance(item.text, Exception) else outcome.result
            yield replace(outcome, key=item.key, result=result)  # type: ignore[arg-type,misc]  # another key
            if waiting:
                began([waiting[0]])


@dataclass(frozen=True)
class ExtractionWork:
    """What a worker process does: it makes its own extractor, then computes batches."""

    arguments: dict[str, Any]  # of Extractor
    fatal: Errors

    def start(self) -> Callable[[Sequence[Item[None]]], list[Outcome[None]]]:
        from mudy.extraction.extractor import Extractor

        extractor = Extractor(**self.arguments)
        return lambda items: list(outcomes(extractor, items, fatal=self.fatal))

    def lost(self, item: Item[None], error: WorkerError) -> Outcome[None]:
        return Outcome(item.key, error)


def portable_arguments(extractor: Extractor, workers: int) -> dict[str, Any]:
    """Arguments that make an equal extractor in each of several processes; SettingError if they cannot be sent."""
    from mudy.extraction.extractor import Extractor

    if type(extractor) is not Extractor:
        raise SettingError(f"Worker processes make an Extractor, but this is a {type(extractor).__name__}.")
    if not isinstance(extractor.language, str):
        raise SettingError(
            f"language is {seen(extractor.language)}, which cannot be sent to worker processes. Give a code such as "
            "'en', or the name or path of a spaCy package; or use workers=1."
        )
    compute = replace(extractor.compute, threads=threads_each(workers, extractor.compute.threads))
    return {**extractor.arguments(), **asdict(compute)}
