"""MUDY+: the score of a phrase is the sum of what speaks for it, a log-odds, given as a probability.

A cascade keeps it cheap. What can be counted is counted for all phrases; the phrases that lead by it are encoded and
held against the text; and of those that lead then the language model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
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
    prompted,
    require,
    same_at_each,
    setting,
)
from mudy.methods.mudy.presets import SAM_LAYERS
from mudy.methods.mudyplus.evidence_table import MODEL, UNKNOWN_SIMILARITY, Table, counted, long
from mudy.methods.mudyplus.fitting import expit
from mudy.methods.mudyplus.turning import MOST_PHRASES, Turning
from mudy.methods.mudyplus.weights import Sum, Weights, load_weights
from mudy.text import Document, Span

if TYPE_CHECKING:
    from mudy.backbones.encoder import SentenceEncoder

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
    "seeds": "near what is looked for",
    "query": "stands where the question is answered",
    "not_asked": "not among the leaders",
    "calibration": "high sums are right less often than they say",
    "vocabulary": "known to the vocabulary",
}
MOST = 1 - 1e-6  # a probability is never quite 0 or 1


@dataclass(frozen=True)
class MudyPlus(Method):
    """Frequency, form, position, similarity, likelihood, boundary and attention, each with its weight."""

    title: ClassVar = "MUDY+"
    citation: ClassVar = "This project, after Kang and Yoon, SIGIR 2026"
    needs: ClassVar = ("backbone", "encoder")
    parts: ClassVar = tuple(ScorePart(name, words, kind="contribution") for name, words in _WORDS.items())
    speeds: ClassVar = {"quick": {"leaders": 0, "encoded": 60}, "fast": {"read_words": 400}}
    candidate_kind: ClassVar = "nested"
    default_speed: ClassVar = "fast"
    calibrated: ClassVar = True
    distinct: ClassVar = True

    encoder: SentenceEncoder
    backbone: Backbone | None = None  # None: without a language model

    weights: str | None = setting(None, "File of weights made by `mudy fit`; none: those shipped.")
    encoded: int = setting(80, "Phrases that are encoded: those that lead by what can be counted.")
    leaders: int = setting(
        30,
        "Phrases that the language model is asked about: those that lead without it; 0: none.",
    )
    read_words: int = setting(900, "Words at the text's beginning that the language model reads.")
    encoded_words: int = setting(300, "Words at the text's beginning that the encoder reads, in one window.")
    template: str | None = setting(
        None, "What follows the text, with {} for the phrase; none: ' Keywords: {},', for which weights are fitted."
    )
    seeds: tuple[str, ...] = setting((), "Phrases towards which the ranking is turned.")
    query: str | None = setting(None, "A question towards which the ranking is turned.")
    seed_weight: float = setting(
        8.0, "Log-odds that a cosine of 1 to a seed or the query adds, over the mean of the text's phrases."
    )

    def __post_init__(self) -> None:
        require("leaders", self.leaders, self.leaders >= 0, "1 or more, or 0 for no language model")
        require("seed_weight", self.seed_weight, self.seed_weight >= 0, "0 or more")
        require("seeds", self.seeds, all(map(str.strip, self.seeds)), "phrases that are not blank")
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
            return frozenset(("encoder",))
        weights.with_model  # noqa: B018 (raises)
        return frozenset(cls.needs)

    @cached_property
    def model(self) -> Weights:
        return load_weights(self.weights)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        """The probability of each phrase, with the contribution of each kind of evidence to its log-odds."""
        if not candidates:
            return []
        table = self.with_similarity(counted(document, candidates, self.encoder.tokenizer), document, candidates)
        turned = self.turned(table, document, candidates)
        parts = [{**contributions(table, self.model.quick, row), **turned[row]} for row in range(len(candidates))]
        log_odds = np.array([sum(own.values()) for own in parts])
        calibration = self.model.quick.calibration
        if self.backbone is not None and self.leaders:
            calibration = self.model.with_model.calibration
            asked = leading(log_odds, self.leaders)
            full = self.with_answers(table, document, candidates, asked)
            for row in asked:
                parts[row] = {**contributions(full, self.model.with_model, row), **turned[row]}
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
        chosen = leading(totals(neutral, self.model.quick), self.encoded)
        words = len(document.text.split())
        text = document.text[: end_of_words(document.text, self.encoded_words)]
        found = np.full(len(candidates), UNKNOWN_SIMILARITY)
        found[chosen] = similarities(self.encoder, text, [candidates[row].phrase for row in chosen])
        return table.adding(similarity=long(words) * found)

    def turned(
        self, table: Table, document: Document, candidates: Sequence[Candidate]
    ) -> Sequence[Mapping[str, float]]:
        """What seeds and query add to the log-odds of each phrase; nothing where there are none."""
        if not self.seeds and not self.query:
            return [{}] * len(candidates)
        leaders = leading(totals(table, self.model.quick), MOST_PHRASES)
        return Turning(self.seeds, self.query, self.seed_weight).added(self.encoder, document, candidates, leaders)

    def with_answers(
        self, table: Table, document: Document, candidates: Sequence[Candidate], rows: Sequence[int]
    ) -> Table:
        """The table with what the language model says about some rows; 0 for the others."""
        end = end_of_words(document.text, self.read_words)
        found = ask(self.prompted, document.text, end, [candidates[row] for row in rows])
        weight = long(len(document.text.split())) ** 2
        columns = {name: np.zeros(len(candidates)) for name in MODEL}
        for row, (p, e, g) in zip(rows, found, strict=True):
            columns["likelihood"][row], columns["ending"][row], columns["attention"][row] = p, e, weight * g
        return table.adding(**columns)

    @cached_property
    def prompted(self) -> Backbone:
        """The language model with the template of MUDY+."""
        assert self.backbone is not None
        return prompted(self.backbone, self.template) if self.template else self.backbone.with_template(TEMPLATE)


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


def end_of_words(text: str, words: int) -> int:
    """Where the first words of a text end."""
    ends = [match.end() for match in islice(re.finditer(r"\S+", text), words)]
    return ends[-1] if ends else len(text)


# -- Models -----------------------------------------------------------------------------------------------------------


def similarities(encoder: SentenceEncoder, text: str, phrases: Sequence[str]) -> Numbers:
    """How near phrases are to a text, of which one window of the encoder is read."""
    from mudy.backbones import encoder_states

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
