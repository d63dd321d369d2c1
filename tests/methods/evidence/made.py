"""Places and containment of candidates in a text written by hand."""

from mudy.candidates import nested_candidates
from mudy.methods.mudyplus.evidence.containment import Containment
from mudy.methods.mudyplus.evidence.places import Numbers, Places
from tests.tagged import tagged

TEXT = "hybrid/JJ fuzzy/JJ modeling helps/VBZ . fuzzy/JJ modeling needs/VBZ data . models/NNS rule/VBP ."


def places(text: str = TEXT) -> tuple[list[str], Places, Containment]:
    document = tagged(text)
    candidates = nested_candidates(document)
    found = Places.of(document, candidates)
    return [candidate.phrase for candidate in candidates], found, Containment.of(found)


def by_phrase(phrases: list[str], values: Numbers) -> dict[str, float]:
    return dict(zip(phrases, map(float, values), strict=True))
