"""Many texts: computed together where that works, else one by one, and a failure stays with its text."""

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from mudy import Extractor
from mudy.errors import EndpointError, EndpointRefused, InputError, ModelUnavailable, SettingError
from mudy.extraction.options import Options
from mudy.extraction.outcomes import BATCH_TEXTS, BATCH_WORDS, Item, batch_size, batches, outcomes, score_batch
from mudy.extraction.ranking import PreparedText
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document
from tests import small

ERRORS: dict[str, Exception] = {
    "input": ArithmeticError("input"),
    "setting": SettingError("setting"),
    "refused": EndpointRefused("refused"),
    "endpoint": EndpointError("endpoint"),
}


class Scorer:
    """Stands in for an extractor: it returns each text in capitals, and fails where a text is the name of an error."""

    method = "mudy"

    def __init__(self, load_error: Exception | None = None, together: bool = True) -> None:
        self.load_error, self.together = load_error, together
        self.calls: list[list[str]] = []
        self.steps: list[str] = []
        self.now = 0.0  # on its clock: a second to prepare a text, ten to score texts together or alone

    def load_meanwhile(self) -> None:
        self.steps.append("load meanwhile")

    def load(self) -> None:
        self.steps.append("load")
        if self.load_error is not None:
            raise self.load_error

    def prepare(self, text: str, _: Options) -> PreparedText:
        self.steps.append(f"prepare {text}")
        self.now += 1.0
        if text.startswith("unreadable"):
            raise ERRORS[text.removeprefix("unreadable ")]
        return PreparedText(Document(text, (), ()), (Candidate(text, ()),) if "bare" not in text else ())

    def finish(self, prepared: Sequence[PreparedText]) -> list[Any]:
        texts = [text.document.text for text in prepared]
        self.calls.append(texts)
        self.now += 10.0
        for text in texts:
            if text in ERRORS:
                raise ERRORS[text]
        if len(texts) > 1 and not self.together:
            raise MemoryError
        return [text.upper() for text in texts]


def scored(scorer: Any, texts: Sequence[str | Exception], **options: Any) -> Iterator[Any]:
    items = [Item(number, text) for number, text in enumerate(texts)]
    return score_batch(scorer, items, clock=lambda: scorer.now, **options)


def results(scorer: Scorer, *texts: str | Exception, **options: Any) -> list[Any]:
    found = list(scored(scorer, texts, **options))
    assert [outcome.key for outcome in found] == list(range(len(texts)))
    return [outcome.result for outcome in found]


def test_texts_are_computed_together() -> None:
    scorer = Scorer()
    assert results(scorer, "a", "b", "c") == ["A", "B", "C"]
    assert scorer.calls == [["a", "b", "c"]]


def test_a_failure_stays_with_its_text() -> None:
    scorer = Scorer()
    assert results(scorer, "a", "input", "c") == ["A", ERRORS["input"], "C"]
    assert scorer.calls == [["a", "input", "c"], ["a"], ["input"], ["c"]]


def test_a_text_alone_is_computed_once_even_if_it_fails() -> None:
    scorer = Scorer()
    assert results(scorer, "input") == [ERRORS["input"]]
    assert scorer.calls == [["input"]]


def test_what_fails_only_together_is_reported_and_gives_every_result() -> None:
    first, second = scored(Scorer(together=False), ["a", "b"])
    assert (first.result, second.result) == ("A", "B")
    assert type(first.fault) is MemoryError
    assert first.fault is second.fault
    assert all(outcome.fault is None for outcome in scored(Scorer(), ["a", "input"]))  # expected: a text's own failure


@pytest.mark.parametrize("text", ["setting", "refused"])
def test_what_would_be_the_same_for_every_text_is_raised(text: str) -> None:
    scorer = Scorer()
    with pytest.raises(type(ERRORS[text])):
        results(scorer, "a", text)
    assert len(scorer.calls) == 1


def test_the_caller_decides_what_is_fatal() -> None:
    assert results(Scorer(), "a", "endpoint") == ["A", ERRORS["endpoint"]]
    with pytest.raises(EndpointError):
        results(Scorer(), "a", "endpoint", fatal=(EndpointError,))
    assert results(Scorer(), "setting", "b", fatal=(EndpointError,)) == [ERRORS["setting"], "B"]


def test_a_model_that_cannot_be_loaded_fails_for_all() -> None:
    with pytest.raises(ModelUnavailable):
        results(Scorer(ModelUnavailable("nowhere")), "a", "b")


def test_no_model_is_loaded_where_no_text_has_candidates() -> None:
    scorer = Scorer()
    assert results(scorer, "bare", "bare too") == ["BARE", "BARE TOO"]
    assert "load" not in scorer.steps


def test_no_texts_give_no_outcomes() -> None:
    assert results(Scorer()) == []


def test_a_missing_text_comes_out_in_its_place() -> None:
    missing = InputError("no such file")
    assert results(Scorer(), "a", missing, "b") == ["A", missing, "B"]
    scorer = Scorer()
    assert results(scorer, missing) == [missing]
    assert scorer.steps == []


def test_a_fatal_error_while_a_text_is_read_comes_after_the_outcomes_before_it() -> None:
    found = scored(Scorer(), ["a", "unreadable input", "unreadable setting", "d"])
    assert next(found).result == "A"
    assert next(found).result is ERRORS["input"]
    with pytest.raises(SettingError):
        next(found)


def test_models_are_loaded_from_before_the_first_text_is_tagged() -> None:
    scorer = Scorer()
    began: list[list[str]] = []
    results(scorer, "a", "b", began=lambda _: began.append(list(scorer.steps)))
    assert scorer.steps == ["load meanwhile", "prepare a", "prepare b", "load"]
    assert began == [scorer.steps]  # progress is shown once they are there


def test_the_time_of_a_batch_is_divided_among_its_texts_by_their_size() -> None:
    short, long = scored(Scorer(), ["one two", "a b c d e f g h"])
    assert (short.seconds, long.seconds) == (1 + 2.0, 1 + 8.0)
    alone = [outcome.seconds for outcome in scored(Scorer(together=False), ["a", "b"])]
    assert alone == [11.0, 11.0]


def test_an_outcome_is_explained_where_that_is_asked_for() -> None:
    extractor = Extractor("yake")
    plain, explained = outcomes(extractor, [Item("a", small.TEXT), Item("b", small.TEXT, explain=True)])
    assert (plain.explained, plain.document) == (None, None)
    assert explained.explained is not None
    assert explained.explained.result == explained.value == plain.value
    assert explained.document == extractor.read(small.TEXT)


def test_results_before_a_failure_come_before_what_follows_is_computed() -> None:
    scorer = Scorer()
    first = next(scored(scorer, ["a", "input", "c"]))
    assert first.result == "A"
    assert scorer.calls == [["a", "input", "c"], ["a"]]


# -- Batches ----------------------------------------------------------------------------------------------------------


def sizes(items: Iterator[Any], **most: int) -> list[int]:
    return [len(batch) for batch in batches((Item(None, item) for item in items), **most)]


def test_a_batch_ends_with_its_texts_or_its_words() -> None:
    assert sizes(iter(["word"] * 150)) == [BATCH_TEXTS, BATCH_TEXTS, 22]
    assert sizes(iter(["word " * (BATCH_WORDS // 3)] * 7)) == [3, 3, 1]
    assert sizes(iter(["word", "word " * BATCH_WORDS, "word"])) == [2, 1]
    assert sizes(iter("abc"), most_texts=1) == [1, 1, 1]
    assert sizes(iter(())) == []


def test_the_size_of_a_text_counts_words_or_bytes_and_is_the_same_read_or_not() -> None:
    assert [Item(0, text).size for text in ("", "two words", "深度学习" * 300)] == [0, 2, 600]
    assert Item(0, InputError("missing")).size == 0
    document = Document("two words", (), ())
    assert Item(0, document).size == Item(0, PreparedText(document)).size == 2


def test_texts_before_one_that_cannot_be_read_come_first() -> None:
    def items() -> Iterator[Item[str]]:
        yield from (Item(text, text) for text in "ab")
        raise OSError("gone")

    found = batches(items())
    assert [item.key for item in next(found)] == ["a", "b"]
    with pytest.raises(OSError, match="gone"):
        next(found)


def test_only_a_method_that_gains_by_company_has_batches() -> None:
    assert batch_size("mudy") == BATCH_TEXTS
    assert batch_size("yake") == 1


# -- Several processes ------------------------------------------------------------------------------------------------


def test_keys_and_missing_texts_stay_here_while_other_processes_compute() -> None:
    class OpenKey:
        def __reduce__(self) -> str:
            raise pickle.PicklingError

    class Missing(Exception):
        __reduce__ = OpenKey.__reduce__

    items = [Item(OpenKey(), text) for text in (small.TEXT, Missing("no text"), small.TEXT)]
    begun: list[Any] = []
    found = list(outcomes(Extractor("yake"), items, workers=2, began=begun.extend))
    assert [outcome.key for outcome in found] == [item.key for item in items]
    assert found[1].result is items[1].text
    assert found[0].value == found[2].value == Extractor("yake").extract(small.TEXT)
    assert set(begun) <= set(items)
