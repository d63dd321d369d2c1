import pytest

from mudy.candidates import nested_candidates
from mudy.methods.mudyplus.evidence.noun_phrase import common_parts, noun_phrase
from mudy.reading.untagged import UntaggedReader
from tests.tagged import tagged


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
