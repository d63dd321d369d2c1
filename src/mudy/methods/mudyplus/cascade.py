"""MUDY+: the score of a phrase is the sum of what speaks for it, a log-odds, given as a probability.

A cascade keeps it cheap. What can be counted is counted for all phrases; the phrases that lead by it are encoded and
held against the text; and of those that lead then the language model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mudy.backbones.backbone import Backbone, Question, TextRange
from mudy.candidates import Candidate
from mudy.evidence.boundary import ending
from mudy.evidence.keyword_likelihood import TEMPLATE, likelihood
from mudy.evidence.places import Numbers
from mudy.evidence.received_attention import attention
from mudy.evidence.similarity import similarity
from mudy.methods.method import (
    Architecture,
    Method,
    ModelField,
    OccurrenceScore,
    ScorePart,
    require,
    same_at_each,
    setting,
)
from mudy.methods.mudy.presets import SAM_LAYERS
from mudy.methods.mudyplus.evidence_table import MODEL, UNKNOWN_SIMILARITY, Table, counted, long
from mudy.methods.mudyplus.fitting import expit
from mudy.methods.mudyplus.weights import Sum, Weights, load_weights, other_languages
from mudy.text import Document, Span

if TYPE_CHECKING:
    from mudy.backbones.encoder import SentenceEncoder
    from mudy.backbones.universal_encoder import UniversalEncoder

_WORDS = {  # what each contribution is, for people
    "base": "the same for all phrases",
    "own_frequency": "named by itself",
    "nested_frequency": "named inside longer phrases",
    "noun_phrase": "a whole noun phrase",
    "one_word": "a single word",
    "one_word_noun_phrase": "a single word that stands alone",
    "usual_length": "as long as phrases here are",
    "first_position": "named late",
    "generic": "an everyday word",
    "similarity": "near the text's meaning",
    "likelihood": "likely as a keyword",
    "ending": "ends where it should",
    "attention": "attention received",
    "not_asked": "not among the leaders",
    "calibration": "high sums are right less often than they say",
}
MOST = 1 - 1e-6  # a probability is never quite 0 or 1


@dataclass(frozen=True)
class MudyPlus(Method):
    """Frequency, form, position, similarity, likelihood, boundary and attention, each with its weight."""

    title: ClassVar = "MUDY+"
    citation: ClassVar = "This project, after Kang and Yoon, SIGIR 2026"
    needs: ClassVar = ("backbone", "encoder", "multilingual")
    parts: ClassVar = tuple(ScorePart(name, words, kind="contribution") for name, words in _WORDS.items())
    speeds: ClassVar = {"quick": {"leaders": 0, "encoded": 60}, "fast": {"read_words": 400}}
    candidate_kind: ClassVar = "nested"
    default_speed: ClassVar = "fast"
    calibrated: ClassVar = True
    distinct: ClassVar = True

    encoder: SentenceEncoder
    backbone: Backbone | None = None  # None: without a language model
    multilingual: Callable[[], UniversalEncoder | None] | None = None  # the encoder of texts not in English

    weights: str | None = setting(None, "File of weights made by `mudy fit`; none: those shipped.")
    encoded: int = setting(80, "Phrases that are encoded: those that lead by what can be counted.")
    leaders: int = setting(
        30,
        "Phrases that the language model is asked about: those that lead without it; 0: none.",
    )
    read_words: int = setting(900, "Words at the text's beginning that the language model reads.")
    encoded_words: int = setting(300, "Words at the text's beginning that the encoder reads, in one window.")

    def __post_init__(self) -> None:
        require("leaders", self.leaders, self.leaders >= 0, "1 or more, or 0 for no language model")
        for name in ("encoded", "read_words", "encoded_words"):
            require(name, value := getattr(self, name), value >= 1, "1 or more")
        weights = self.model  # those that cannot be used raise now
        if self.backbone is not None and self.leaders:
            weights.with_model  # noqa: B018

    @classmethod
    def needed(cls, settings: Mapping[str, Any], architecture: Callable[[], Architecture]) -> frozenset[ModelField]:  # noqa: ARG003
        """Without leaders nothing of a language model is fetched or loaded; nor with weights that cannot be used."""
        weights = load_weights(settings.get("weights"))
        if not settings.get("leaders", cls.leaders):
            return frozenset(("encoder", "multilingual"))
        weights.with_model  # noqa: B018 (raises)
        return frozenset(cls.needs)

    @cached_property
    def model(self) -> Weights:
        return load_weights(self.weights)

    def weights_for(self, document: Document) -> Weights:
        """Those of the document's language: the shipped ones differ for texts in other languages than English."""
        return self.model if self.weights is not None or document.language == "en" else other_languages()

    def encoder_for(self, document: Document) -> SentenceEncoder | UniversalEncoder:
        """The encoder that knows the document's language."""
        if document.language == "en" or self.multilingual is None:
            return self.encoder
        return self.multilingual() or self.encoder

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        """The probability of each phrase, with the contribution of each kind of evidence to its log-odds."""
        if not candidates:
            return []
        weights = self.weights_for(document)
        table = self.with_similarity(counted(document, candidates, self.encoder.tokenizer), document, candidates)
        parts = [contributions(table, weights.quick, row) for row in range(len(candidates))]
        log_odds = np.array([sum(own.values()) for own in parts])
        calibration = weights.quick.calibration
        if self.backbone is not None and self.leaders:
            calibration = weights.with_model.calibration
            asked = leading(log_odds, self.leaders)
            full = self.with_answers(table, document, candidates, asked)
            for row in asked:
                parts[row] = contributions(full, weights.with_model, row)
                log_odds[row] = sum(parts[row].values())
            rest, lead = not_asked(log_odds, asked)
            for row in rest:
                parts[row] = {**parts[row], "not_asked": -lead}
                log_odds[row] -= lead
        for row, bend in enumerate((bent := calibration.bent(log_odds)) - log_odds):
            if bend:
                parts[row] = {**parts[row], "calibration": float(bend)}
        return same_at_each(candidates, np.clip(expit(bent), 1 - MOST, MOST).tolist(), parts)

    def with_similarity(self, table: Table, document: Document, candidates: Sequence[Candidate]) -> Table:
        """The table with the similarity of those phrases that lead without it."""
        neutral = table.adding(similarity=np.zeros(len(candidates)))
        chosen = leading(totals(neutral, self.weights_for(document).quick), self.encoded)
        text = document.text[: document.end_of_words(self.encoded_words)]
        found = np.full(len(candidates), UNKNOWN_SIMILARITY)
        found[chosen] = similarities(self.encoder_for(document), text, [candidates[row].phrase for row in chosen])
        return table.adding(similarity=long(document.word_count) * found)

    def with_answers(
        self, table: Table, document: Document, candidates: Sequence[Candidate], rows: Sequence[int]
    ) -> Table:
        """The table with what the language model says about some rows; 0 for the others."""
        end = document.end_of_words(self.read_words)
        found = ask(self.prompted, document.text, end, [candidates[row] for row in rows])
        weight = long(document.word_count) ** 2
        columns = {name: np.zeros(len(candidates)) for name in MODEL}
        for row, (p, e, g) in zip(rows, found, strict=True):
            columns["likelihood"][row], columns["ending"][row], columns["attention"][row] = p, e, weight * g
        return table.adding(**columns)

    @cached_property
    def prompted(self) -> Backbone:
        """The language model with the template of MUDY+."""
        assert self.backbone is not None
        return self.backbone.with_template(TEMPLATE)


# -- Sums -------------------------------------------------------------------------------------------------------------


def contributions(table: Table, weights: Sum, row: int) -> dict[str, float]:
    """What each kind of evidence adds to the log-odds of one phrase; `base` is the same for all phrases of a text."""
    base = weights.intercept + sum(weight * table.context[name] for name, weight in weights.context.items())
    return {
        "base": base,
        **{name: weight * float(table.columns[name][row]) for name, weight in weights.evidence.items()},
    }


def not_asked(log_odds: Numbers, asked: Sequence[int]) -> tuple[list[int], float]:
    """The rows that were not asked about, and how much is taken from them so that they stand below the others."""
    rest = sorted(set(range(len(log_odds))).difference(asked))
    return rest, max(0.0, max(log_odds[rest], default=-np.inf) - min(log_odds[list(asked)]))


def totals(table: Table, weights: Sum) -> Numbers:
    found: Numbers = table.rows(list(weights.evidence)) @ np.array(list(weights.evidence.values()))
    return found


def leading(values: Numbers, most: int) -> list[int]:
    """The rows with the highest values, of equals the earlier ones, in the order of the text."""
    return sorted(np.argsort(-np.round(values, 9), kind="stable")[:most].tolist())


# -- Models -----------------------------------------------------------------------------------------------------------


def similarities(encoder: SentenceEncoder | UniversalEncoder, text: str, phrases: Sequence[str]) -> Numbers:
    """How near phrases are to a text, of which one window of the encoder is read."""
    from mudy.backbones import encoder_states
    from mudy.backbones.universal_encoder import UniversalEncoder

    if isinstance(encoder, UniversalEncoder):
        of_text, *of_phrases = encoder.embed([text, *phrases]).astype(np.float64)
        return similarity(np.stack(of_phrases), of_text)

    own = encoder_states.read_span(encoder, text, Span(0, len(text))).ids
    alone = [encoder_states.read_alone(encoder, phrase) for phrase in phrases]
    states = encoder_states.states(encoder, [own, *alone], -1, lambda state: state.mean(0))
    vectors = np.stack([state.numpy().astype(np.float64) for state in states])
    return similarity(vectors[1:], vectors[0])


def ask(backbone: Backbone, text: str, end: int, candidates: Sequence[Candidate]) -> list[tuple[float, float, float]]:
    """Likelihood, ending and attention of some phrases, from one reading of a text's beginning."""
    layers = SAM_LAYERS.get((backbone.family, backbone.depth), (round(0.55 * backbone.depth),))
    (encoding,) = backbone.encode([TextRange(text, Span(0, end))], layers)
    received = encoding.received or backbone.received_attention([TextRange(text, Span(0, end))], layers)[0]
    mean = float(received.sums[received.tokens.first :].mean())
    forms = [candidate.occurrences[0].span.of(text) for candidate in candidates]
    (scored,) = backbone.log_likelihood([Question(encoding, forms)])
    found = []
    for candidate, values in zip(candidates, scored, strict=True):
        places = [received.at(o.span) for o in candidate.occurrences if o.span.end <= end]
        found.append((likelihood(values), ending(values), attention(places, mean)))
    return found
