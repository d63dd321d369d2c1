"""The scored candidates of one text -> its keyphrases, as the options ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mudy.errors import SettingError
from mudy.extraction.concept_matches import of_concepts, with_concepts, with_near_concepts
from mudy.extraction.options import Options
from mudy.extraction.preparation import PreparedText
from mudy.extraction.ranking import how_many, rank
from mudy.extraction.results import Keyphrase
from mudy.extraction.vocabulary_boost import boosted
from mudy.methods.method import Method, ScoredCandidates
from mudy.vocabularies import Vocabulary

if TYPE_CHECKING:
    from mudy.extraction.near_concepts import LabelVectors

LIKELY = 0.12  # the probability from which top_n="auto" returns a phrase: its lists had the best F1 in development


def keyphrase_list(
    text: PreparedText, scored: ScoredCandidates, kind: type[Method], vectors: Callable[[Vocabulary], LabelVectors]
) -> tuple[Keyphrase, ...]:
    """The keyphrases, best first, with their concepts where a vocabulary is given; `vectors` encodes its labels."""
    options, known, scores = text.options, text.known, scored.scores
    if options.boost is not None:
        scores = boosted(scored.candidates, scores, known, options.boost, kind.calibrated)
    distinct = kind.distinct and not options.only_concepts  # concepts that are told apart say different things
    top_n = how_many(options.top_n, text.words)
    keyphrases = rank(
        text.document.text,
        scored.candidates,
        scores,
        merge=options.merge,
        top_n=None if options.near is not None else top_n,
        diversity=options.diversity,
        min_score=least_score(options, kind),
        distinct=distinct if options.distinct is None else options.distinct,
        groups_of={phrase: concept.id for phrase, concept in known.items()},
        language=text.document.language,
    )
    keyphrases = with_concepts(keyphrases, known) if known else keyphrases
    if options.concepts is not None and options.near is not None:
        keyphrases = with_near_concepts(keyphrases, vectors(options.concepts), options.near)
        keyphrases = of_concepts(keyphrases) if options.boost is None else keyphrases
    return keyphrases[:top_n]


def least_score(options: Options, kind: type[Method]) -> float | None:
    """The score below which phrases are left out; both ways to ask for it need scores that mean something."""
    if options.top_n == "auto" and not kind.calibrated:
        raise SettingError(f"top_n='auto' needs probabilities, but {kind.title} gives scores. Use mudyplus.")
    if options.min_score is not None and kind.calibrated and not 0 <= options.min_score <= 1:
        raise SettingError(f"min_score is {options.min_score}, but {kind.title} gives probabilities from 0 to 1.")
    least = [LIKELY] if options.top_n == "auto" else []
    return max([*least, *([] if options.min_score is None else [options.min_score])], default=None)
