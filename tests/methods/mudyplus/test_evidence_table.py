"""Facts about the table of evidence: what counts in plain language, and what counts elsewhere."""

import numpy as np
import pytest

from mudy.candidates import nested_candidates
from mudy.methods.mudyplus.asked import Answer
from mudy.methods.mudyplus.cascade import TextEvidence
from mudy.methods.mudyplus.counted import StemIndex, counted, generic
from mudy.methods.mudyplus.evidence_table import CHEAP, EVIDENCE, Table
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


def test_what_the_language_model_says_about_ends_counts_in_plain_language_too() -> None:
    document = tagged(BETWEEN)
    found = TextEvidence(table(BETWEEN), document, nested_candidates(document)).adding_answers(
        [0], [Answer(-1.0, -4.0, 2.0)]
    )
    assert found.columns["ending"] == pytest.approx([-4.0])
    assert found.columns["plain_ending"] == pytest.approx([-2.0])


def test_every_kind_of_evidence_has_a_column() -> None:
    document = tagged(DENSE)
    candidates = nested_candidates(document)
    counted_only = TextEvidence(table(DENSE), document, candidates)
    near = counted_only.adding_similarity([0], np.ones(1))
    assert set(near.columns) == set(CHEAP)
    answered = TextEvidence(near, document, candidates).adding_answers([0], [Answer(-1.0, -4.0, 2.0)])
    assert set(answered.columns) == set(EVIDENCE)
