"""Many texts: computed together where that works, else one by one, and a failure stays with its text."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from mudy.candidates import Candidate
from mudy.errors import EndpointError, EndpointRefused, ModelUnavailable, SettingError
from mudy.extraction.batching import BATCH_TEXTS, BATCH_WORDS, batch_size, batches, score_each
from mudy.extraction.preparation import PreparedText
from mudy.reading.document import Document

ERRORS: dict[str, Exception] = {
    "input": ArithmeticError("input"),
    "setting": SettingError("setting"),
    "refused": EndpointRefused("refused"),
    "endpoint": EndpointError("endpoint"),
}


class Scorer:
    """Stands in for an extractor: it returns each text in capitals, and fails where a text is the name of an error."""

    def __init__(self, load_error: Exception | None = None, together: bool = True) -> None:
        self.load_error, self.together = load_error, together
        self.calls: list[list[str]] = []
        self.loaded = False

    def load(self) -> None:
        if self.load_error is not None:
            raise self.load_error
        self.loaded = True

    def finish(self, prepared: Sequence[PreparedText]) -> list[Any]:
        texts = [text.document.text for text in prepared]
        self.calls.append(texts)
        for text in texts:
            if text in ERRORS:
                raise ERRORS[text]
        if len(texts) > 1 and not self.together:
            raise MemoryError
        return [text.upper() for text in texts]


def prepared(text: str, candidates: int = 1) -> PreparedText:
    return PreparedText(Document(text, (), ()), (Candidate(text, ()),) * candidates)


def scored(scorer: Any, texts: Sequence[PreparedText], **options: Any) -> Iterator[Any]:
    return score_each(scorer, texts, **options)


def outcomes(scorer: Scorer, *texts: str, **options: Any) -> list[Any]:
    return list(scored(scorer, [prepared(text) for text in texts], **options))


def test_texts_are_computed_together() -> None:
    scorer = Scorer()
    assert outcomes(scorer, "a", "b", "c") == ["A", "B", "C"]
    assert scorer.calls == [["a", "b", "c"]]


def test_a_failure_stays_with_its_text() -> None:
    scorer = Scorer()
    assert outcomes(scorer, "a", "input", "c") == ["A", ERRORS["input"], "C"]
    assert scorer.calls == [["a", "input", "c"], ["a"], ["input"], ["c"]]


def test_a_text_alone_is_computed_once_even_if_it_fails() -> None:
    scorer = Scorer()
    assert outcomes(scorer, "input") == [ERRORS["input"]]
    assert scorer.calls == [["input"]]


def test_what_fails_only_together_is_reported_and_gives_every_result() -> None:
    reported: list[Exception] = []
    assert outcomes(Scorer(together=False), "a", "b", failed_together=reported.append) == ["A", "B"]
    assert [type(error) for error in reported] == [MemoryError]


@pytest.mark.parametrize("text", ["setting", "refused"])
def test_what_would_be_the_same_for_every_text_is_raised(text: str) -> None:
    scorer = Scorer()
    with pytest.raises(type(ERRORS[text])):
        outcomes(scorer, "a", text)
    assert len(scorer.calls) == 1


def test_the_caller_decides_what_is_fatal() -> None:
    assert outcomes(Scorer(), "a", "endpoint") == ["A", ERRORS["endpoint"]]
    with pytest.raises(EndpointError):
        outcomes(Scorer(), "a", "endpoint", fatal=(EndpointError,))
    assert outcomes(Scorer(), "setting", "b", fatal=(EndpointError,)) == [ERRORS["setting"], "B"]


def test_a_model_that_cannot_be_loaded_fails_for_all() -> None:
    with pytest.raises(ModelUnavailable):
        outcomes(Scorer(ModelUnavailable("nowhere")), "a", "b")


def test_no_model_is_loaded_where_no_text_has_candidates() -> None:
    scorer = Scorer()
    assert list(scored(scorer, [prepared("a", 0), prepared("b", 0)])) == ["A", "B"]
    assert not scorer.loaded


def test_no_texts_give_no_outcomes() -> None:
    assert outcomes(Scorer()) == []


def test_results_before_a_failure_come_before_what_follows_is_computed() -> None:
    scorer = Scorer()
    first = next(scored(scorer, [prepared("a"), prepared("input"), prepared("c")]))
    assert first == "A"
    assert scorer.calls == [["a", "input", "c"], ["a"]]


# -- Batches ----------------------------------------------------------------------------------------------------------


def test_a_batch_ends_with_its_texts_or_its_words() -> None:
    assert [len(batch) for batch in batches(range(150), lambda _: 1)] == [BATCH_TEXTS, BATCH_TEXTS, 22]
    assert [len(batch) for batch in batches(range(7), lambda _: BATCH_WORDS // 3)] == [3, 3, 1]
    assert list(batches([1, BATCH_WORDS, 2], lambda words: words)) == [[1, BATCH_WORDS], [2]]
    assert list(batches("abc", lambda _: 1, 1)) == [["a"], ["b"], ["c"]]
    assert list(batches((), len)) == []


def test_texts_before_one_that_cannot_be_had_come_first() -> None:
    def texts() -> Iterator[str]:
        yield from "ab"
        raise OSError("gone")

    found = batches(texts(), len)
    assert next(found) == ["a", "b"]
    with pytest.raises(OSError, match="gone"):
        next(found)


def test_only_a_method_that_gains_by_company_has_batches() -> None:
    assert batch_size("mudy") == BATCH_TEXTS
    assert batch_size("yake") == 1
