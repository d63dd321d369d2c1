"""The directions of vectors in which phrases are keyphrases, whatever their document: fitted on documents with gold.

There is one for each encoder, whose vectors are of phrases alone, fitted on documents; and one for the language model,
whose states are of phrases in their sentences, fitted on documents and data sets. Each is fitted beside the evidence
that the method has before, which is held as it is, so that it says what that evidence does not. The weights of MUDY+
are fitted afterwards, on values of directions that have not seen the part of a text: its genre, or its data set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.cascade import model_key
from mudy.methods.mudyplus.evidence import CHEAP, EVIDENCE, UNKNOWN_SIMILARITY, Numbers, long
from mudy.methods.mudyplus.fit_texts import FitText
from mudy.methods.mudyplus.fitting import Sample, ranking_weights
from mudy.methods.mudyplus.near import Embed, Keyphraseness, unit_vectors, vectors_alone

RIDGE = 0.3  # on each number of an encoder's direction, in units of what it varies
RIDGE_IN_CONTEXT = 5.0  # on each of a language model's
DOCUMENTS = 10.0  # weight of documents for it, beside a data set of as many texts: about that of all data sets together
FOLDS = 12  # of the parts, left out in turn
DIGITS = 3  # that are kept of each number
ENGLISH = frozenset({"en"})
MULTILINGUAL = frozenset(  # languages of the encoder for others
    ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")
)
FITTED = ("keyphraseness", "in_context")  # the evidence that directions give

Key = tuple[str, str]  # the data set of a text, and its id
Vectors = Mapping[Key, tuple[Sequence[int], Numbers]]  # text -> rows of its table, and their vectors


def key_of(text: FitText) -> Key:
    return text.dataset, text.id


@dataclass(frozen=True)
class Beside:
    """The evidence that a direction is fitted beside, and the ridge of its weights."""

    names: Sequence[str]
    ridge: float

    def samples(self, texts: Sequence[FitText], vectors: Vectors) -> dict[Key, Sample]:
        """The evidence of each text that tells right phrases from wrong ones, as one sum."""
        samples = {key_of(text): text.sample(self.names, vectors[key_of(text)][0]) for text in texts}
        telling = {key: sample for key, sample in samples.items() if sample.tells}
        weights = ranking_weights(list(telling.values()), self.ridge)
        return {
            key: replace(sample, evidence=sample.evidence @ weights[:, None], context=np.zeros(0))
            for key, sample in telling.items()
        }


def with_keyphraseness(
    texts: Sequence[FitText], method: MudyPlus, unused: Sequence[str], english_only: Sequence[str], ridge: float
) -> tuple[list[FitText], dict[str, Keyphraseness]]:
    """The texts with a column of their keyphraseness, and the directions of both encoders.

    The direction of the encoder for other languages is fitted on English documents too, and used for the others.
    """
    names = [name for name in CHEAP if name not in (*unused, *FITTED)]
    foreign = method.multilingual() if method.multilingual is not None else None
    directions: dict[str, Keyphraseness] = {}
    columns: dict[Key, Numbers] = {}
    if foreign is not None:
        everywhere = Beside([name for name in names if name not in english_only], ridge)
        vectors = _encoded(texts, lambda phrases: foreign.embed(phrases).astype(np.float64))
        columns, directions[foreign.name] = cross_fitted(texts, vectors, MULTILINGUAL, everywhere, RIDGE)
    english = [text for text in texts if text.language == "en"]
    vectors = _encoded(english, partial(vectors_alone, method.encoder))
    own, directions[method.encoder.name] = cross_fitted(english, vectors, ENGLISH, Beside(names, ridge), RIDGE)
    return with_column(texts, "keyphraseness", {**columns, **own}), directions


def with_keyphraseness_in_context(
    documents: list[FitText], sets: list[FitText], method: MudyPlus, unused: Sequence[str], ridge: float
) -> tuple[list[FitText], list[FitText], dict[str, Keyphraseness]]:
    """Both with a column of their keyphraseness in context, and the direction of the language model.

    It is fitted on English documents and on data sets, each part of either left out in turn.
    """
    beside = Beside([name for name in EVIDENCE if name not in (*unused, "in_context")], ridge)
    english = [replace(text, weight=DOCUMENTS) for text in documents if text.language == "en"]
    texts = [*english, *sets]
    columns, direction = cross_fitted(texts, states_of(texts), ENGLISH, beside, RIDGE_IN_CONTEXT)
    documents, sets = (with_column(some, "in_context", columns) for some in (documents, sets))
    return documents, sets, {model_key(method.prompted): direction}


def with_column(texts: Sequence[FitText], name: str, columns: Mapping[Key, Numbers]) -> list[FitText]:
    """The texts with a column of evidence; 0 for all phrases of those that have none."""
    return [
        replace(text, table=text.table.adding(**{name: columns.get(key_of(text), np.zeros(len(text.candidates)))}))
        for text in texts
    ]


def cross_fitted(
    texts: Sequence[FitText], vectors: Vectors, languages: frozenset[str], beside: Beside, ridge: float
) -> tuple[dict[Key, Numbers], Keyphraseness]:
    """A column for each text by a direction fitted on other parts, and the direction fitted on all texts."""
    parts = list(dict.fromkeys(text.part for text in texts))
    columns: dict[Key, Numbers] = {}
    for fold in range(min(FOLDS, len(parts))):
        left_out = set(parts[fold::FOLDS])
        known = fitted_direction(
            [text for text in texts if text.part not in left_out], vectors, languages, beside, ridge
        )
        columns |= columns_by(known, (text for text in texts if text.part in left_out), vectors)
    return columns, fitted_direction(texts, vectors, languages, beside, ridge)


def columns_by(known: Keyphraseness, texts: Iterable[FitText], vectors: Vectors) -> dict[Key, Numbers]:
    """What a direction says about the phrases of each text; 0 for those without a vector."""
    columns: dict[Key, Numbers] = {}
    for text in texts:
        rows, states = vectors[key_of(text)]
        column = columns[key_of(text)] = np.zeros(len(text.candidates))
        column[list(rows)] = known.of(states)
    return columns


def _encoded(texts: Sequence[FitText], embed: Embed) -> Vectors:
    """The vectors of the phrases of each text that were encoded for its evidence."""
    vectors: dict[Key, tuple[Sequence[int], Numbers]] = {}
    for text in texts:
        rows = np.flatnonzero(text.table.columns["similarity"] != UNKNOWN_SIMILARITY * long(text.words)).tolist()
        vectors[key_of(text)] = rows, unit_vectors(embed([text.candidates[row].phrase for row in rows]))
    return vectors


def states_of(texts: Sequence[FitText]) -> Vectors:
    """The states of the phrases of each text that the language model read."""
    width = max(text.states.shape[1] for text in texts if text.states is not None)
    vectors: dict[Key, tuple[Sequence[int], Numbers]] = {}
    for text in texts:
        states = np.zeros((0, width)) if text.states is None else text.states.astype(np.float64)
        read = np.flatnonzero(states.any(axis=1))
        vectors[key_of(text)] = [text.asked[index] for index in read], states[read]
    return vectors


def fitted_direction(
    texts: Sequence[FitText], vectors: Vectors, languages: frozenset[str], beside: Beside, ridge: float
) -> Keyphraseness:
    known = beside.samples(texts, vectors)
    samples = [
        replace(sample, evidence=np.column_stack([sample.evidence, vectors[key][1]])) for key, sample in known.items()
    ]
    direction = rounded(ranking_weights(samples, ridge, {0: 1.0})[1:])
    mean = float((np.concatenate([vectors[key][1] for key in known]) @ direction).mean())
    return Keyphraseness(languages, direction, round(mean, DIGITS))


def rounded(numbers: Numbers) -> Numbers:
    """So many digits of each number, however small it is: states differ much in what they vary."""
    return np.array([float(f"{number:.{DIGITS}g}") for number in numbers])


def to_dict(directions: Mapping[str, Keyphraseness], about: str) -> dict[str, Any]:
    """Directions as they are shipped, by the names of their models."""
    return {
        "about": about,
        "directions": {
            model: {
                "languages": sorted(known.languages),
                "offset": known.offset,
                "direction": known.direction.tolist(),
            }
            for model, known in directions.items()
        },
    }
