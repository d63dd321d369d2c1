"""The direction of an encoder in which phrases are keyphrases, whatever their document: fitted on documents with gold.

It is fitted beside the evidence that needs no language model, which is held as it is, so that it says what that
evidence does not. The weights of MUDY+ are fitted afterwards, on values of directions that have not seen the genre of
a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mudy.engines.light.encoders import UniversalEncoder
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.cascade import in_long_text, leading
from mudy.methods.mudyplus.evidence import CHEAP, Numbers
from mudy.methods.mudyplus.fit_texts import START, FitText
from mudy.methods.mudyplus.fitting import Sample, ranking_weights
from mudy.methods.mudyplus.near import Embed, Keyphraseness, vectors_alone

RIDGE = 1.0  # on each number of the direction, in units of what it varies
FOLDS = 12  # of the genres, left out in turn
DIGITS = 3
ENGLISH = frozenset({"en"})
MULTILINGUAL = frozenset(  # languages of the encoder for others
    ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")
)

Vectors = Mapping[str, tuple[list[int], Numbers]]  # text -> the rows that are encoded, and their vectors


def keyphraseness(
    texts: Sequence[FitText], method: MudyPlus, unused: Sequence[str], english_only: Sequence[str], ridge: float
) -> tuple[list[FitText], dict[str, Keyphraseness]]:
    """The texts with a column of their keyphraseness, and the directions of both encoders.

    The direction of the encoder for other languages is fitted on English documents too, and used for the others.
    """
    foreign = method.multilingual() if method.multilingual is not None else None
    english = [text for text in texts if text.language == "en"]
    names = [name for name in CHEAP if name not in (*unused, "keyphraseness")]
    shared = [name for name in names if name not in english_only]
    by_english = _fitted(english, method, partial(vectors_alone, method.encoder), ENGLISH, names, ridge)
    directions = {method.encoder.name: by_english[1]}
    columns = {text.id: np.zeros(len(text.candidates)) for text in texts}
    if foreign is not None:
        embed = partial(_embedded, foreign)
        by_foreign = _fitted(texts, method, embed, MULTILINGUAL, shared, ridge)
        columns |= by_foreign[0]
        directions[foreign.name] = by_foreign[1]
    columns |= by_english[0]
    return [replace(text, table=text.table.adding(keyphraseness=columns[text.id])) for text in texts], directions


def _embedded(encoder: UniversalEncoder, phrases: Sequence[str]) -> Numbers:
    return encoder.embed(phrases).astype(np.float64)


def _fitted(
    texts: Sequence[FitText],
    method: MudyPlus,
    embed: Embed,
    languages: frozenset[str],
    names: Sequence[str],
    ridge: float,
) -> tuple[dict[str, Numbers], Keyphraseness]:
    """The keyphraseness of each text by a direction fitted on other genres, and the direction fitted on all texts."""
    vectors = {text.id: _encoded(text, method, embed) for text in texts}
    genres = sorted({text.part for text in texts})
    columns = {}
    for fold in range(min(FOLDS, len(genres))):
        left_out = set(genres[fold::FOLDS])
        known = _direction([text for text in texts if text.part not in left_out], vectors, languages, names, ridge)
        for text in texts:
            if text.part in left_out:
                rows, states = vectors[text.id]
                columns[text.id] = np.zeros(len(text.candidates))
                columns[text.id][rows] = known.of(states)
    return columns, _direction(texts, vectors, languages, names, ridge)


def _encoded(text: FitText, method: MudyPlus, embed: Embed) -> tuple[list[int], Numbers]:
    """The rows of a text that were encoded for its evidence, with their vectors."""
    names = [name for name in START.evidence if name != "similarity"]
    values = text.table.rows(names) @ np.array([START.evidence[name] for name in names])
    rows = leading(values, in_long_text(method.encoded, text.words))
    return rows, embed([text.candidates[row].phrase for row in rows])


def _direction(
    texts: Sequence[FitText], vectors: Vectors, languages: frozenset[str], names: Sequence[str], ridge: float
) -> Keyphraseness:
    telling = [text for text in texts if text.sample(names, vectors[text.id][0]).tells]
    evidence = [text.sample(names, vectors[text.id][0]) for text in telling]
    weights = ranking_weights(evidence, ridge)
    whole = Keyphraseness(languages, np.eye(vectors[telling[0].id][1].shape[1]), 0.0)
    units = [whole.of(vectors[text.id][1]) for text in telling]
    samples = [
        Sample(sample.dataset, np.column_stack([sample.evidence @ weights, states]), sample.hits, np.zeros(0))
        for sample, states in zip(evidence, units, strict=True)
    ]
    direction = ranking_weights(samples, RIDGE, {0: 1.0})[1:].round(DIGITS)
    return Keyphraseness(languages, direction, round(float((np.concatenate(units) @ direction).mean()), DIGITS))


def to_dict(directions: Mapping[str, Keyphraseness]) -> dict[str, Any]:
    """Directions as they are shipped, by the names of their encoders."""
    return {
        "about": "Fitted by `python -m experiments.documents` on documents with readers' gold.",
        "directions": {
            encoder: {
                "languages": sorted(known.languages),
                "offset": known.offset,
                "direction": known.direction.tolist(),
            }
            for encoder, known in directions.items()
        },
    }
