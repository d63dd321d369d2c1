"""Which texts form a batch."""

from mudy.extraction.outcomes import BATCH_TEXTS, BATCH_WORDS, Item
from mudy.server.problems import HttpProblem
from mudy.server.queue import ExtractionJob, QueuedText, next_batch
from mudy.server.scorer import ExtractorKey
from tests.server.gate import LONG, MEDIUM, SHORT, YAKE, job


def together(*jobs: ExtractionJob, lane: int = 0) -> list[object]:
    return [text.item.text for _, text in next_batch(jobs, lane)]


def test_one_text_of_each_job_in_turn() -> None:
    assert together(job("a1", "a2", "a3"), job("b1"), job("c1", "c2")) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_only_what_is_computed_in_the_same_way() -> None:
    other = job("b", key=ExtractorKey("mudy", (("kappa", 0.5),)))
    assert together(job("a"), other, job("d", key=YAKE), job("e")) == ["a", "e"]


def test_a_long_text_is_computed_alone_and_joins_no_others() -> None:
    long = " ".join(["word"] * 3000)
    assert together(job("short"), job(long), lane=1) == [long]
    assert together(job(long), job(long), lane=1) == [long]
    assert together(job("short"), job(long), job("second")) == ["short", "second"]


def test_a_batch_holds_no_more_words_than_allowed() -> None:
    hundred = " ".join(["word"] * 100)
    assert len(together(*[job(hundred) for _ in range(40)])) == BATCH_WORDS // 100


def test_a_batch_holds_no_more_texts_than_allowed() -> None:
    assert len(together(*[job("a", "b") for _ in range(BATCH_TEXTS)])) == BATCH_TEXTS
    assert together(job("a", "b", key=YAKE)) == ["a"]  # YAKE scores one text at a time


def test_jobs_that_are_over_are_not_taken_up() -> None:
    gone = job("gone")
    gone.settle(HttpProblem("client-gone"))
    assert together(gone, job("a")) == ["a"]
    assert together(gone) == []


def lane_of(text: str) -> int:
    return QueuedText(ExtractorKey("mudy"), Item(0, text)).lane


def test_texts_are_in_a_lane_by_their_length() -> None:
    assert [lane_of(text) for text in ("", SHORT, MEDIUM, LONG)] == [0, 0, 1, 2]
    assert lane_of("word " * BATCH_WORDS) == 0
    assert lane_of("深度学习" * 75_000) == 2  # no spaces, yet long
