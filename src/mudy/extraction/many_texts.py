"""Many texts through one extractor, in this process or in several: their outcomes, in order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mudy._support.validation import seen
from mudy._support.workers import WorkerPool, ordered_outcomes, threads_each
from mudy.errors import InputError, SettingError, WorkerError
from mudy.extraction.batching import FATAL, batch_size, batches, score_each
from mudy.extraction.options import Options
from mudy.extraction.preparation import PreparedText, candidates_of_each
from mudy.reading.document import Document

if TYPE_CHECKING:
    from mudy.extraction.extractor import Extractor
    from mudy.extraction.results import Result

    Outcomes = Generator[Result | Exception, None, None]


class AskedText(NamedTuple):
    """A text, or a document that was read already, and what is asked for."""

    text: str | Document
    options: Options

    @property
    def plain_text(self) -> str:
        return self.text.text if isinstance(self.text, Document) else self.text

    @property
    def words(self) -> int:
        return len(self.plain_text.split())


def asked_texts(texts: Iterable[str | Document], candidates: Any, options: Options) -> Iterator[AskedText]:
    """Each text with its options; `candidates` is one kind or list for all texts, or one list for each."""
    return _asked(texts, candidates_of_each(candidates), options)


def _asked(texts: Iterable[str | Document], lists: Iterator[Any], options: Options) -> Iterator[AskedText]:
    for number, text in enumerate(texts):
        if not isinstance(text, str | Document):
            raise InputError(
                f"A text must be a str, but texts[{number}] is {seen(text)}. Decode bytes; fill or drop missing values."
            )
        try:
            candidates = next(lists)
        except StopIteration:
            raise InputError(f"There are more than {number} texts, but only {number} lists of candidates.") from None
        yield AskedText(text, options.changed({"candidates": candidates}))


def outcomes(extractor: Extractor, asked: Iterator[AskedText], workers: int = 1) -> Outcomes:
    """What becomes of each text, in order, by so many processes; to be closed, which ends them."""
    if workers == 1:
        return local_outcomes(extractor, asked)
    return _by_workers(ExtractionWork(portable_arguments(extractor, workers)), extractor, asked, workers)


def local_outcomes(extractor: Extractor, asked: Iterable[AskedText]) -> Outcomes:
    """The outcomes of texts that are computed in this process, short ones together; what is fatal raises."""
    prepared = (_prepared(extractor, each) for each in asked)
    for batch in batches(prepared, lambda text: text.words, batch_size(extractor.method)):
        scored = score_each(extractor, [text for text in batch if isinstance(text, PreparedText)])
        for text in batch:
            yield text.error if isinstance(text, _Unprepared) else next(scored)


def _prepared(extractor: Extractor, asked: AskedText) -> PreparedText | _Unprepared:
    if isinstance(asked.text, str) and asked.text.strip():
        extractor.load_meanwhile()  # what fails here fails for all
    try:
        return extractor.prepare(asked.text, asked.options)
    except FATAL:
        raise
    except Exception as error:
        return _Unprepared(error)


class _Unprepared(NamedTuple):
    """A text that failed before it was scored."""

    error: Exception
    words: int = 0


# -- Several processes ------------------------------------------------------------------------------------------------


def _by_workers(work: ExtractionWork, extractor: Extractor, asked: Iterator[AskedText], workers: int) -> Outcomes:
    extractor.fetch()  # once, and with its progress
    with WorkerPool(work, workers) as pool:
        yield from ordered_outcomes(pool, batches(asked, lambda each: each.words))


@dataclass(frozen=True)
class ExtractionWork:
    """Texts to their results, by an extractor that each worker process makes for itself."""

    arguments: dict[str, Any]  # of Extractor

    def start(self) -> Callable[[Sequence[AskedText]], list[Result | Exception]]:
        from mudy.extraction.extractor import Extractor

        extractor = Extractor(**self.arguments)
        return lambda asked: list(local_outcomes(extractor, asked))

    def lost(self, item: AskedText, error: WorkerError) -> Result | Exception:  # noqa: ARG002 (one protocol)
        return error


def portable_arguments(extractor: Extractor, workers: int) -> dict[str, Any]:
    """What an equal extractor in each of several processes is made of; SettingError if that cannot be sent to them."""
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
