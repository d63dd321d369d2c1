"""Keyphrases -> keyphrases with the concepts of a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mudy.extraction.results import ConceptMatch, Keyphrase
from mudy.vocabularies import Concept

if TYPE_CHECKING:
    from mudy.extraction.near_concepts import LabelVectors

MOST_PHRASES = 50  # of a text, the best ones, that are compared with labels


def with_concepts(keyphrases: Sequence[Keyphrase], known: Mapping[str, Concept]) -> tuple[Keyphrase, ...]:
    """The keyphrases, each with the concept of which it is a label, if it is one."""
    return tuple(replace(keyphrase, concept=_match(keyphrase, known)) for keyphrase in keyphrases)


def _match(keyphrase: Keyphrase, known: Mapping[str, Concept]) -> ConceptMatch | None:
    forms = (form.lower() for form in (keyphrase.text, *keyphrase.variants))
    concept = next((known[form] for form in forms if form in known), None)
    return None if concept is None else ConceptMatch(concept.id, concept.label, "label")


def with_near_concepts(keyphrases: Sequence[Keyphrase], vectors: LabelVectors, least: float) -> tuple[Keyphrase, ...]:
    """Phrases without a concept are given the nearest, from a similarity on; each goes to the phrase nearest to it."""
    used = {keyphrase.concept.id for keyphrase in keyphrases if keyphrase.concept is not None}
    open_phrases = [keyphrase for keyphrase in keyphrases if keyphrase.concept is None][:MOST_PHRASES]
    found: dict[int, ConceptMatch] = {}
    nearest = vectors.nearest([keyphrase.text for keyphrase in open_phrases]) if open_phrases else []
    pairs = sorted(zip(open_phrases, nearest, strict=True), key=lambda pair: (-pair[1].similarity, pair[0].rank))
    for keyphrase, (concept, similarity) in pairs:
        if similarity >= least and concept.id not in used:
            used.add(concept.id)
            found[keyphrase.rank] = ConceptMatch(concept.id, concept.label, "near", similarity)
    return tuple(
        replace(keyphrase, concept=found[keyphrase.rank]) if keyphrase.rank in found else keyphrase
        for keyphrase in keyphrases
    )


def of_concepts(keyphrases: Sequence[Keyphrase]) -> tuple[Keyphrase, ...]:
    """Those that have a concept, ranked anew."""
    kept = [keyphrase for keyphrase in keyphrases if keyphrase.concept is not None]
    return tuple(replace(keyphrase, rank=rank) for rank, keyphrase in enumerate(kept, start=1))
