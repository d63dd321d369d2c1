"""One way for many texts: short ones are computed together, and a failure stays with its text.

The library, the command line, the service and corpus runs all score their texts with `score_each`. All but the service,
whose queue has an order of its own, form their batches with `batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from mudy.errors import EndpointRefused, SettingError
from mudy.extraction.preparation import PreparedText
from mudy.methods import is_batched

if TYPE_CHECKING:
    from mudy.extraction.extractor import Extractor
    from mudy.extraction.results import Result

T = TypeVar("T")
BATCH_TEXTS, BATCH_WORDS = 64, 1500  # a batch ends when it has so many texts or words
FATAL: tuple[type[Exception], ...] = (SettingError, EndpointRefused)  # what would be the same for every text


def score_each(
    extractor: Extractor,
    prepared: Sequence[PreparedText],
    *,
    fatal: tuple[type[Exception], ...] = FATAL,
    failed_together: Callable[[Exception], None] = lambda error: None,  # noqa: ARG005
) -> Iterator[Result | Exception]:
    """The result of each text, in order, or the exception that it raised. No outcome depends on the other texts.

    The texts are computed together. If that fails, `failed_together` is called with the exception, and each text is
    computed alone, when its outcome is asked for.

    Fatal exceptions are raised, not yielded: those of `fatal`, because they would be the same for every text, and
    whatever loading the models raises. By default these are SettingError and EndpointRefused. A resumable run adds
    ModelError, so that an endpoint that is down ends the run instead of failing every row; the service passes what its
    cancellation raises. KeyboardInterrupt and other exceptions that are no Exception are always raised.
    """
    if any(text.candidates for text in prepared):
        extractor.load()
    if len(prepared) > 1:
        try:
            results = extractor.finish(prepared)
        except fatal:
            raise
        except Exception as error:
            failed_together(error)
        else:
            yield from results
            return
    for text in prepared:
        yield _outcome(extractor, text, fatal)


def _outcome(extractor: Extractor, text: PreparedText, fatal: tuple[type[Exception], ...]) -> Result | Exception:
    try:
        (result,) = extractor.finish([text])
    except fatal:
        raise
    except Exception as error:
        return error
    return result


@cache
def batch_size(method: str) -> int:
    """How many texts a method computes at once at most."""
    return BATCH_TEXTS if is_batched(method) else 1


def batches(texts: Iterable[T], words: Callable[[T], int], most_texts: int = BATCH_TEXTS) -> Iterator[list[T]]:
    """Short texts together, in their order, until a batch has `most_texts` texts or BATCH_WORDS words.

    If the next text cannot be had, the batch so far comes first, and then the exception.
    """
    batch: list[T] = []
    batch_words = 0
    iterator = iter(texts)
    while True:
        try:
            text = next(iterator)
        except StopIteration:
            break
        except Exception:
            if batch:
                yield batch
            raise
        batch.append(text)
        batch_words += words(text)
        if batch_words >= BATCH_WORDS or len(batch) >= most_texts:
            yield batch
            batch, batch_words = [], 0
    if batch:
        yield batch
