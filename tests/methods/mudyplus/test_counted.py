"""Counted evidence: occurrences, position, form and words of phrases in texts written by hand."""

from math import log
from typing import Any

import numpy as np
import pytest

from mudy.candidates import nested_candidates
from mudy.methods.mudyplus.counted import (
    COMMON,
    ENOUGH,
    RARE,
    UNKNOWN,
    StemIndex,
    common_parts,
    dampened,
    everyday,
    first_position,
    generic,
    nested_frequency,
    noun_phrase,
    one_word,
    own_frequency,
    plainness,
    usual_length,
    word_ranks,
)
from mudy.methods.mudyplus.evidence_table import Numbers
from mudy.reading.document import Document
from mudy.reading.untagged import UntaggedReader
from tests.tagged import tagged

TEXT = "hybrid/JJ fuzzy/JJ modeling helps/VBZ . fuzzy/JJ modeling needs/VBZ data . models/NNS rule/VBP ."
RANKS = {"people": 500, "time": 300, "ice": 4000, "floodplain": 20000}


def indexed(text: str = TEXT) -> tuple[list[str], StemIndex]:
    document = tagged(text)
    candidates = nested_candidates(document)
    return [candidate.phrase for candidate in candidates], StemIndex.of(document, candidates)


def by_phrase(phrases: list[str], values: Numbers) -> dict[str, float]:
    return dict(zip(phrases, map(float, values), strict=True))


def tokenizer(words: list[str], *, add_special_tokens: bool) -> dict[str, Any]:
    assert not add_special_tokens
    return {"input_ids": [[RANKS[word]] if word in RANKS else [7, 8] for word in words]}


def test_places_inside_longer_phrases_count_and_stems_are_compared() -> None:
    phrases, index = indexed()
    counts = by_phrase(phrases, index.counts)
    assert counts["fuzzy modeling"] == 2
    assert counts["hybrid fuzzy modeling"] == 1
    assert counts["models"] == counts["modeling"] == 3  # one stem


def test_a_text_of_one_candidate() -> None:
    phrases, index = indexed("ice")
    assert phrases == ["ice"]
    assert index.counts.tolist() == [1.0]
    assert index.nested.tolist() == [0.0]


def test_a_place_inside_several_longer_phrases_counts_once() -> None:
    phrases, index = indexed()
    nested = by_phrase(phrases, index.nested)
    assert nested["modeling"] == 2  # in "fuzzy modeling" twice, once also in "hybrid fuzzy modeling"
    assert nested["fuzzy modeling"] == 1
    assert nested["hybrid fuzzy modeling"] == nested["data"] == 0


def test_repetition_is_dampened() -> None:
    values = dampened(np.array([0.0, 1.0, 2.0, 20.0]))
    assert values[0] == values[1] == 0
    assert 0 < values[3] - values[2] < 3 * values[2]


def test_own_and_nested_places_add_up_to_all_places() -> None:
    phrases, index = indexed()
    own, nested = own_frequency(index), nested_frequency(index)
    np.testing.assert_allclose(own + nested, dampened(index.counts))
    assert by_phrase(phrases, own)["fuzzy modeling"] == 0
    assert by_phrase(phrases, nested)["fuzzy modeling"] > 0


def test_the_words_before_the_first_place() -> None:
    phrases, index = indexed()
    values = by_phrase(phrases, first_position(index))
    assert values["hybrid fuzzy modeling"] == 0
    assert values["data"] == log(1 + 8)


def test_one_word() -> None:
    phrases, index = indexed()
    values = by_phrase(phrases, one_word(index))
    assert values["data"] == 1
    assert values["fuzzy modeling"] == 0


def test_the_length_that_a_text_prefers_is_the_usual_one() -> None:
    phrases, index = indexed("ice . road . truck . radar map .")
    values = by_phrase(phrases, usual_length(index))
    assert values["ice"] > values["radar map"]
    assert all(value < 0 for value in values.values())
    assert np.isfinite(list(values.values())).all()


def test_only_phrases_of_maximal_length_are_noun_phrases() -> None:
    document = tagged("hybrid/JJ fuzzy/JJ modeling helps/VBZ")
    candidates = nested_candidates(document)
    values = dict(zip([c.phrase for c in candidates], noun_phrase(document, candidates), strict=True))
    assert values == {"hybrid fuzzy modeling": 1, "fuzzy modeling": 0, "modeling": 0}


def test_what_two_rows_of_words_have_in_common_is_a_phrase_where_no_tagger_tells() -> None:
    text = "सौर ऊर्जा भारत के गाँवों में है। किसान सौर ऊर्जा से पंप चलाते हैं।"
    document = UntaggedReader("hi").document(text)
    candidates = nested_candidates(document)
    values = dict(zip([c.phrase for c in candidates], noun_phrase(document, candidates), strict=True))
    assert values["सौर ऊर्जा"] == 1
    assert values["ऊर्जा भारत"] == 0


@pytest.mark.parametrize(
    ("rows", "common"),
    [
        (["a b c", "d a b"], {"a b"}),
        (["x a b", "x a b c"], {"x a b"}),  # "a b" stands after x both times
        (["a b c"], set[str]()),
        (["a b", "a b c", "d a b"], {"a b"}),
        (["a c", "d a"], set[str]()),  # single words are no parts
    ],
)
def test_a_common_part_has_other_words_or_none_beside_it(rows: list[str], common: set[str]) -> None:
    assert {" ".join(part) for part in common_parts(tuple(row.split()) for row in rows)} == common


def test_a_text_with_few_nouns_is_plain_and_one_with_many_is_not() -> None:
    assert plainness(tagged("put/VB it/PRP there/RB and/CC wait/VB")) == 1
    assert plainness(tagged("river ice radar map holds/VBZ")) == 0


def test_between_the_two_plainness_falls_with_every_noun() -> None:
    quarter = tagged("ice melts/VBZ quite/RB fast/RB")
    assert plainness(quarter) == 0.5


def test_no_words() -> None:
    assert plainness(Document("", (), ())) == 0


def test_an_everyday_word_is_seen_until_the_text_repeats_it() -> None:
    phrases, index = indexed(
        "people cross/VBP ice . time goes/VBZ . time goes/VBZ . time goes/VBZ . old/JJ people . moraine ."
    )
    values = by_phrase(phrases, generic(index, phrases, tokenizer))
    assert values["old people"] == values["moraine"] == 0
    assert 0 < values["time"] < values["people"] <= 1
    assert 0 < values["ice"] < values["people"]
    phrases, index = indexed("time . " * ENOUGH)
    assert by_phrase(phrases, generic(index, phrases, tokenizer))["time"] == pytest.approx(0)


def test_ranks_between_common_and_rare() -> None:
    values = everyday(np.array([1.0, COMMON, 5000.0, RARE, UNKNOWN]))
    assert values[0] == values[1] == 1
    assert 0 < values[2] < 1
    assert values[3] == values[4] == 0


def test_a_word_cut_into_pieces_is_rare() -> None:
    assert word_ranks(tokenizer, ["Time", "moraine"]).tolist() == [300, UNKNOWN]
    assert len(word_ranks(tokenizer, [])) == 0
