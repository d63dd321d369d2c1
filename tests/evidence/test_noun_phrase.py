from mudy.evidence.noun_phrase import noun_phrase
from mudy.nested_candidates import nested_candidates
from tests.tagged import tagged


def test_only_phrases_of_maximal_length_are_noun_phrases() -> None:
    document = tagged("hybrid/JJ fuzzy/JJ modeling helps/VBZ")
    candidates = nested_candidates(document)
    values = dict(zip([c.phrase for c in candidates], noun_phrase(document, candidates), strict=True))
    assert values == {"hybrid fuzzy modeling": 1, "fuzzy modeling": 0, "modeling": 0}
