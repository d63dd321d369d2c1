"""The concepts of a vocabulary: known phrases boosted, keyphrases matched by label, by meaning, or by similar texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import pstdev
from typing import TYPE_CHECKING, Literal

from mudy._support.callbacks import cancellable
from mudy.errors import SettingError
from mudy.extraction.results import ConceptMatch, Keyphrase
from mudy.methods.method import OccurrenceScore
from mudy.reading.candidates.vocabularies import Concept, Vocabulary

if TYPE_CHECKING:
    from mudy.engines.interfaces import SentenceEncoder

MOST_PHRASES = 50  # of a text, the best ones, that are compared with labels
MOST_LABELS = 250_000  # that are encoded
_BLOCK = 4096  # labels encoded or compared at once
_EDGE = 1e-6  # a probability is never quite 0 or 1


def raised(
    scores: Sequence[OccurrenceScore], gains: Sequence[float | None], part: str, calibrated: bool
) -> tuple[OccurrenceScore, ...]:
    """The scores, those with a gain raised; `calibrated` if they are probabilities.

    A probability p becomes that of log-odds log(p / (1 - p)) + gain. Other scores have no common scale, so the gain
    counts in standard deviations of the scores of the text's phrases. It is a part of each score.
    """
    best: dict[int, float] = {}
    for score in scores:
        best[score.candidate] = max(score.score, best.get(score.candidate, score.score))
    deviation = (pstdev(best.values()) if best and not calibrated else 0.0) or 1.0  # 1 if all are equal

    def with_gain(score: OccurrenceScore, gain: float | None) -> OccurrenceScore:
        if gain is None:
            return score
        value = score.score + gain * deviation
        if calibrated:
            probability = min(1 - _EDGE, max(_EDGE, score.score))
            log_odds = min(500.0, max(-500.0, log(probability / (1 - probability)) + gain))
            value = min(1 - _EDGE, max(_EDGE, 1 / (1 + exp(-log_odds))))
        return replace(score, score=value, parts={**score.parts, part: gain * deviation})

    return tuple(map(with_gain, scores, gains))


def with_concepts(keyphrases: Sequence[Keyphrase], known: Mapping[str, Concept]) -> tuple[Keyphrase, ...]:
    """The keyphrases, each with the concept of which it is a label, if any."""

    def match(keyphrase: Keyphrase) -> ConceptMatch | None:
        forms = (form.lower() for form in (keyphrase.text, *keyphrase.variants))
        concept = next((known[form] for form in forms if form in known), None)
        return None if concept is None else ConceptMatch(concept.id, concept.label, "label")

    return tuple(replace(keyphrase, concept=match(keyphrase)) for keyphrase in keyphrases)


def with_near_concepts(keyphrases: Sequence[Keyphrase], vectors: LabelVectors, least: float) -> tuple[Keyphrase, ...]:
    """Give phrases without a concept the nearest one, if similar enough; each concept goes to its nearest phrase."""
    used = {keyphrase.concept.id for keyphrase in keyphrases if keyphrase.concept is not None}
    open_phrases = [keyphrase for keyphrase in keyphrases if keyphrase.concept is None][:MOST_PHRASES]
    matches: dict[int, ConceptMatch] = {}
    nearest = vectors.nearest([keyphrase.text for keyphrase in open_phrases]) if open_phrases else []
    pairs = sorted(zip(open_phrases, nearest, strict=True), key=lambda pair: (-pair[1][1], pair[0].rank))
    for keyphrase, (concept, similarity) in pairs:
        if similarity >= least and concept.id not in used:
            used.add(concept.id)
            matches[keyphrase.rank] = ConceptMatch(concept.id, concept.label, "near", similarity)
    return tuple(
        replace(keyphrase, concept=matches[keyphrase.rank]) if keyphrase.rank in matches else keyphrase
        for keyphrase in keyphrases
    )


HISTORY: Literal["history"] = "history"  # part of a score, and how a concept that is not in the text was found
LEAST = 0.05  # probability from which such a concept is suggested


@dataclass(frozen=True, slots=True)
class TagVote:
    """What similar texts say about a concept that is one of their tags."""

    concept: Concept
    gain: float  # in log-odds, of a phrase of the text that is this tag
    probability: float  # of the tag, if it does not occur in the text


def with_suggestions(
    keyphrases: Sequence[Keyphrase],
    votes: Mapping[str, TagVote],
    known: Mapping[str, Concept],
    least: float | None,
    excluded: Collection[str],
) -> tuple[Keyphrase, ...]:
    """The keyphrases, and likely tags that do not occur in the text, which `known` has not; by their scores."""
    named = {concept.id for concept in known.values()}
    likely = [
        Keyphrase(0, label, vote.probability, (), (), ConceptMatch(name, label, HISTORY))
        for name, vote in votes.items()
        if vote.probability >= max(LEAST, least or 0.0)
        and name not in named
        and (label := vote.concept.label).lower() not in excluded
    ]
    ordered = sorted((*keyphrases, *likely), key=lambda keyphrase: -keyphrase.score)  # equals: the text's first
    return tuple(replace(keyphrase, rank=rank) for rank, keyphrase in enumerate(ordered, start=1))


class LabelVectors:
    """The labels of a vocabulary as vectors of one encoder, by which phrases of a text get the nearest concept."""

    def __init__(self, encoder: SentenceEncoder, vocabulary: Vocabulary) -> None:
        import numpy as np

        labels = [(label, concept) for concept in vocabulary.concepts for label in concept.labels]
        if len(labels) > MOST_LABELS:
            raise SettingError(
                f"near compares every phrase with every label, but there are {len(labels):,}; at most {MOST_LABELS:,} "
                "are encoded. Leave out `near`, or use a smaller vocabulary."
            )
        self._encoder, self.vocabulary = encoder, vocabulary
        self._concepts = [concept for _, concept in labels]
        texts = [label.lower() for label, _ in labels]
        blocks = [encoder.embed(texts[i : i + _BLOCK]) for i in cancellable(range(0, len(texts), _BLOCK))]
        self._vectors = np.concatenate(blocks).astype(np.float16)  # (labels, width)

    def nearest(self, phrases: Sequence[str]) -> list[tuple[Concept, float]]:
        """The nearest concept of each phrase, and the cosine of its nearest label; of equals the first."""
        import numpy as np

        vectors = self._encoder.embed([phrase.lower() for phrase in phrases])  # (phrases, width)
        best = np.full(len(phrases), -np.inf)
        nearest = np.zeros(len(phrases), dtype=int)
        for start in cancellable(range(0, len(self._vectors), _BLOCK)):
            cosines = vectors @ self._vectors[start : start + _BLOCK].astype(np.float32).T  # (phrases, block)
            highest = cosines.argmax(axis=1)
            values = cosines[np.arange(len(phrases)), highest]
            better = values > best
            best[better], nearest[better] = values[better], start + highest[better]
        return [(self._concepts[i], round(float(c), 4)) for i, c in zip(nearest, best, strict=True)]
