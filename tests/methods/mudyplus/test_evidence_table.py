"""Facts about the table of evidence: what counts in plain language, and what counts elsewhere."""

import numpy as np
import pytest

from mudy.methods.mudyplus.asked import Answer
from mudy.methods.mudyplus.cascade import TextEvidence
from mudy.methods.mudyplus.counted import StemIndex, counted, generic
from mudy.methods.mudyplus.evidence_table import CHEAP, EVIDENCE, LONG, UNKNOWN_SIMILARITY, Table
from mudy.methods.mudyplus.near import WindowCosines
from mudy.reading.candidates import nested_candidates
from mudy.reading.document import Span
from tests import small
from tests.tagged import tagged

PLAIN = "put/VB it/PRP there/RB and/CC wait/VB for/IN the/DT ice"
DENSE = "river ice , radar map"
BETWEEN = "ice melts/VBZ quite/RB fast/RB"


def table(text: str) -> Table:
    document = tagged(text)
    return counted(document, nested_candidates(document), small.bert().tokenizer)


@pytest.mark.parametrize("text", [PLAIN, DENSE, BETWEEN])
def test_an_everyday_word_counts_in_two_parts_that_depend_on_how_plain_a_text_is(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    word_ranks = "mudy.methods.mudyplus.counted.word_ranks"
    monkeypatch.setattr(word_ranks, lambda _, words: np.full(len(words), 100.0))
    document, found = tagged(text), table(text)
    candidates = nested_candidates(document)
    whole = generic(StemIndex.of(document, candidates), [each.phrase for each in candidates], None)
    assert whole.max() == 1
    assert found.columns["plain_generic"] == pytest.approx(found.plainness * whole)
    assert found.columns["generic"] + found.columns["plain_generic"] == pytest.approx(whole)


def test_similarity_in_plain_language_is_similarity_times_plainness() -> None:
    found = table(BETWEEN).adding(similarity=np.array([2.0]))
    assert found.plainness == 0.5
    assert found.columns["plain_similarity"] == pytest.approx([1.0])


def evidence(text: str) -> TextEvidence:
    document = tagged(text)
    return TextEvidence(table(text), document, nested_candidates(document))


def nearness(text: TextEvidence, rows: list[int], cosines: list[float]) -> WindowCosines:
    return WindowCosines(rows, [Span(0, len(text.document.text))], np.array([cosines]).T)


def read_whole(text: TextEvidence) -> tuple[Span, ...]:
    return (Span(0, len(text.document.text)),)


def test_what_the_language_model_says_about_ends_counts_in_plain_language_too() -> None:
    text = evidence(BETWEEN)
    found = text.adding_answers([0], [Answer(-1.0, -4.0, (2.0,))], read_whole(text), "").table
    assert found.columns["ending"] == pytest.approx([-4.0])
    assert found.columns["plain_ending"] == pytest.approx([-2.0])


def test_every_kind_of_evidence_has_a_column() -> None:
    text = evidence(DENSE)
    near = text.adding_similarity(nearness(text, [0], [1.0]), np.array([0.7]))
    assert set(near.table.columns) == set(CHEAP)
    answered = near.adding_answers([0], [Answer(-1.0, -4.0, (2.0,))], read_whole(text), "")
    assert set(answered.table.columns) == set(EVIDENCE)


def test_phrases_that_were_not_encoded_are_less_similar_than_the_middle_and_of_average_keyphraseness() -> None:
    text = evidence("river , ice , radar . " * 200)
    similar = text.adding_similarity(nearness(text, [0, 2], [0.9, 0.1]), np.array([0.7, 0.3]))
    assert similar.table.columns["similarity"].tolist() == pytest.approx([1.0, UNKNOWN_SIMILARITY, -1.0])
    assert similar.table.columns["keyphraseness"].tolist() == [0.7, 0.0, 0.3]
    assert text.neutral.columns["similarity"].tolist() == [0.0] * 3


def test_similarity_and_attention_count_for_less_in_a_text_of_half_the_length() -> None:
    text = evidence("river , ice , radar , map . " * (LONG // 16))
    assert text.document.word_count == LONG // 2
    similar = text.adding_similarity(nearness(text, [0, 1], [0.9, 0.1]), np.zeros(2))
    assert similar.table.columns["similarity"][:2].tolist() == pytest.approx([0.5, -0.5])
    answered = similar.adding_answers([1], [Answer(-1.0, -4.0, (None, 0.3, 0.8))], read_whole(text), "")
    assert answered.table.columns["attention"].tolist() == pytest.approx([0, 0.8 / 4, 0, 0])


def test_what_was_read_is_kept_with_the_answers() -> None:
    text = evidence(DENSE)
    answer, read = Answer(-1.0, -4.0, (2.0,)), read_whole(text)
    answered = text.adding_answers([1], [answer], read, "")
    assert answered.answers == {1: answer}
    assert answered.read is read
