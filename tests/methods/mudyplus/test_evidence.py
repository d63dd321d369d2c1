"""Counted evidence of phrases in texts written by hand; and the table: what counts in plain language and elsewhere."""

from math import log
from typing import Any

import numpy as np
import pytest

from mudy.methods.mudyplus.cascade import TextEvidence
from mudy.methods.mudyplus.evidence import (
    CHEAP,
    COMMON,
    ENOUGH,
    EVIDENCE,
    LONG,
    RARE,
    UNKNOWN,
    UNKNOWN_SIMILARITY,
    Numbers,
    StemIndex,
    Table,
    appearance,
    cohesion,
    common_parts,
    counted,
    dampened,
    everyday,
    first_mention,
    first_position,
    generic,
    in_headings,
    nested_frequency,
    noun_phrase,
    one_word,
    own_frequency,
    plainness,
    rare_words,
    usual_length,
    word_ranks,
)
from mudy.methods.mudyplus.language_model import Answer
from mudy.methods.mudyplus.near import WindowCosines
from mudy.reading.candidates import given, nested_candidates
from mudy.reading.document import Document, Span
from mudy.reading.untagged import UntaggedReader
from tests import small
from tests.tagged import tagged, with_headings

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


def test_the_first_mention_as_a_share_of_the_text() -> None:
    phrases, index = indexed()
    values = by_phrase(phrases, first_mention(index))
    assert values["hybrid fuzzy modeling"] == 0
    assert values["fuzzy modeling"] == 1 / 13
    assert values["data"] == 8 / 13


def test_words_that_occur_together_alone_cohere() -> None:
    phrases, index = indexed("ice road . ice road . ice melts/VBZ . road map . road map . map .")
    values = by_phrase(phrases, cohesion(index))
    assert values["ice road"] == 2 / 3  # "ice" is the rarer word: three times, twice as "ice road"
    assert values["road map"] == 2 / 3
    assert values["ice"] == values["road"] == values["map"] == 1


# -- Structure --------------------------------------------------------------------------------------------------------


def in_each_heading(text: str, *headings: str) -> dict[str, tuple[float, float]]:
    document = with_headings(tagged(text), *headings)
    candidates = nested_candidates(document)
    values = in_headings(document, StemIndex.of(document, candidates))
    pairs = zip(values["in_heading"].tolist(), values["is_heading"].tolist(), strict=True)
    return dict(zip([candidate.phrase for candidate in candidates], pairs, strict=True))


def test_headings_that_a_phrase_is_in_are_counted_by_its_stems() -> None:
    text = "fuzzy/JJ models . data . a/DT fuzzy/JJ model helps/VBZ . ice roads . ice helps/VBZ the/DT road ."
    values = in_each_heading(text, "fuzzy models .", "a fuzzy model helps .", "ice roads .")
    assert values["fuzzy models"] == values["fuzzy model"] == (log(1 + 2), 1.0)
    assert values["models"] == (log(1 + 2), 0.0)  # in two, but no heading alone
    assert values["ice roads"] == (log(1 + 1), 1.0)
    assert values["road"] == values["ice"] == (log(1 + 1), 0.0)
    assert values["data"] == (0.0, 0.0)


def test_a_phrase_that_a_heading_has_twice_is_in_one_heading() -> None:
    assert in_each_heading("ice and/CC ice . road .", "ice and ice .")["ice"] == (log(1 + 1), 0.0)


def test_numbers_and_marks_are_no_part_of_what_a_heading_is() -> None:
    values = in_each_heading("2/CD . ice road : salt helps/VBZ .", "2 . ice road :")
    assert values["ice road"] == (log(2), 1.0)


def test_a_text_without_headings() -> None:
    assert set(in_each_heading("ice road . salt .").values()) == {(0.0, 0.0)}


# -- Form -------------------------------------------------------------------------------------------------------------


def forms(text: str, *phrases: str) -> dict[str, dict[str, float]]:
    """What each phrase looks like, by the names of the evidence that is not 0."""
    document = tagged(text)
    candidates = given(document, phrases)[0]
    columns = appearance(document, candidates)
    return {
        candidate.phrase: {name: float(column[row]) for name, column in columns.items() if column[row]}
        for row, candidate in enumerate(candidates)
    }


@pytest.mark.parametrize(
    ("phrase", "evidence"),
    [
        ("NATO", {"capitalised": 1, "acronym": 1}),
        ("ICE ROAD", {"capitalised": 1}),  # an acronym is one word
        ("X", {"capitalised": 1}),  # of several letters
        ("b2b", {"digit": 1}),
        ("world war 2", {"digit": 1}),
        ("a=b", {"symbol": 1}),
        ("r&d", {}),
        ("well-known", {}),
        ("driver's seat", {}),
        ("Radar map", {}),
    ],
)
def test_digits_symbols_capitals_and_acronyms(phrase: str, evidence: dict[str, float]) -> None:
    assert forms(f"the/DT {phrase} helps/VBZ .", phrase) == {phrase.lower(): evidence}


def test_capitals_at_the_beginning_of_a_sentence_do_not_make_a_name() -> None:
    text = "Ice melts/VBZ . Ice melts/VBZ . the/DT ice melts/VBZ . Oslo melts/VBZ . the/DT Oslo melts/VBZ ."
    values = forms(text, "ice", "oslo")
    assert values["ice"] == {}
    assert values["oslo"] == {"capitalised": 1}
    assert forms("Ice melts/VBZ .", "ice")["ice"] == {"capitalised": 1}  # there is no other occurrence


def test_a_name_that_is_written_small_at_times_is_one_in_part() -> None:
    values = forms("the/DT Radar map . the/DT Radar Map . the/DT radar map . the/DT Radar Map .", "radar map")
    assert values["radar map"] == {"capitalised": 2 / 4}


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


def test_rare_words_are_the_mean_of_log_ranks_over_those_of_unknown_words() -> None:
    document = tagged("people see/VBP ice floodplain . moraine . old/JJ time .")
    candidates = nested_candidates(document)
    index = StemIndex.of(document, candidates)
    values = by_phrase([c.phrase for c in candidates], rare_words(document, index, tokenizer))
    assert values["people"] == pytest.approx(log(500 / UNKNOWN))
    assert values["ice floodplain"] == pytest.approx((log(4000 / UNKNOWN) + log(20000 / UNKNOWN)) / 2)
    assert values["moraine"] == 0
    assert values["old time"] == pytest.approx(log(300 / UNKNOWN) / 2)


def test_a_word_cut_into_pieces_is_rare() -> None:
    assert word_ranks(tokenizer, ["Time", "moraine"]).tolist() == [300, UNKNOWN]
    assert len(word_ranks(tokenizer, [])) == 0


# -- The table --------------------------------------------------------------------------------------------------------

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
    word_ranks = "mudy.methods.mudyplus.evidence.word_ranks"
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
