"""MUDY+: the score of a phrase is the sum of what speaks for it, a log-odds, given as a probability.

A cascade keeps it cheap. What can be counted is counted for all phrases; the phrases that lead by it are encoded and
held against the text; and of those that lead then the language model is asked. Each step takes several short texts at
once, which share the passes through the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mudy.candidates import Candidate
from mudy.engines.backbone import Backbone, Question, Received, TextRange
from mudy.engines.batches import packs
from mudy.methods.method import (
    Architecture,
    BatchMethod,
    ModelField,
    OccurrenceScore,
    ScorePart,
    Scores,
    Work,
    prompted,
    require,
    same_at_each,
    setting,
)
from mudy.methods.mudy.presets import SAM_LAYERS
from mudy.methods.mudyplus.evidence.boundary import ending
from mudy.methods.mudyplus.evidence.keyword_likelihood import TEMPLATE, likelihood
from mudy.methods.mudyplus.evidence.places import Numbers
from mudy.methods.mudyplus.evidence.received_attention import attention
from mudy.methods.mudyplus.evidence.similarity import similarity
from mudy.methods.mudyplus.evidence_table import ANSWERS, UNKNOWN_SIMILARITY, Table, counted, long
from mudy.methods.mudyplus.fitting import expit
from mudy.methods.mudyplus.turning import MOST_PHRASES, Embed, Turning, vectors_alone
from mudy.methods.mudyplus.weights import Sum, Weights, load_weights, other_languages
from mudy.reading.document import Document, Span

if TYPE_CHECKING:
    from mudy.engines.encoder import SentenceEncoder
    from mudy.engines.universal_encoder import UniversalEncoder

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
    "plain_generic": "an everyday word, in plain language",
    "plain_own_frequency": "named by itself, in plain language",
    "plain_one_word": "a single word, in plain language",
    "similarity": "near the text's meaning",
    "plain_similarity": "near the text's meaning, in plain language",
    "likelihood": "likely as a keyword",
    "ending": "ends where it should",
    "plain_ending": "ends where it should, in plain language",
    "attention": "attention received",
    "seeds": "near what is looked for",
    "query": "stands where the question is answered",
    "not_asked": "not among the leaders",
    "calibration": "high sums are right less often than they say",
    "vocabulary": "known to the vocabulary",
}
ASKED_WORDS = 350  # that the language model remembers at once: 50 kB for each
MOST = 1 - 1e-6  # a probability is never quite 0 or 1
Answer = tuple[float, float, float]  # likelihood, ending and attention of a phrase


@dataclass(frozen=True)
class MudyPlus(BatchMethod):
    """Frequency, form, position, similarity, likelihood, boundary and attention, each with its weight."""

    title: ClassVar = "MUDY+"
    citation: ClassVar = "This project, after Kang and Yoon, SIGIR 2026"
    needs: ClassVar = ("backbone", "encoder", "multilingual")
    parts: ClassVar = tuple(ScorePart(name, words, kind="contribution") for name, words in _WORDS.items())
    speeds: ClassVar = {"quick": {"leaders": 0, "encoded": 60}, "fast": {"read_words": 340}}
    candidate_kind: ClassVar = "nested"
    default_speed: ClassVar = "fast"
    calibrated: ClassVar = True
    distinct: ClassVar = True

    encoder: SentenceEncoder
    backbone: Backbone | None = None  # None: without a language model
    multilingual: Callable[[], UniversalEncoder | None] | None = field(
        default=None, compare=False
    )  # the encoder of texts not in English

    weights: str | None = setting(None, "File of weights made by `mudy fit`; none: those shipped.")
    encoded: int = setting(80, "Phrases that are encoded: those that lead by what can be counted.")
    leaders: int = setting(
        30,
        "Phrases that the language model is asked about: those that lead without it; 0: none.",
    )
    read_words: int = setting(900, "Words at the text's beginning that the language model reads.")
    encoded_words: int = setting(200, "Words at the text's beginning that the encoder reads, in one window.")
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
        weights = self.fitted_weights  # those that cannot be used raise now
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
    def fitted_weights(self) -> Weights:
        return load_weights(self.weights)

    def score_many(self, work: Work) -> list[Scores]:
        """The probability of each phrase, with the contribution of each kind of evidence to its log-odds."""
        full = [(document, candidates) for document, candidates in work if candidates]
        tables = self.with_similarities([TextEvidence(counted(*each, self.encoder.tokenizer), *each) for each in full])
        scores = iter(self._scored([TextEvidence(table, *each) for table, each in zip(tables, full, strict=True)]))
        return [
            Scores(next(scores), **self.read(document)) if candidates else Scores() for document, candidates in work
        ]

    def read(self, document: Document) -> dict[str, list[Span]]:
        """The spans of a text that each model reads."""
        encoder, pieces = self._encoder_for(document), [self.encoded_span(document), *self._turning.read(document)]
        cut = [Span(piece.start, piece.start + encoder.end_of_window(piece.of(document.text))) for piece in pieces]
        if self.backbone is None or not self.leaders:
            return {"encoder": cut}
        return {"encoder": cut, "language_model": [self.asked_span(document)]}

    def encoded_span(self, document: Document) -> Span:
        """The beginning of a text that is given to the encoder."""
        return Span(0, document.end_of_words(self.encoded_words))

    def asked_span(self, document: Document) -> Span:
        """The beginning of a text that is given to the language model."""
        return Span(0, document.end_of_words(self.read_words))

    def _scored(self, texts: Sequence[TextEvidence]) -> Iterator[list[OccurrenceScore]]:
        """The scores of each text; the language model is asked about the leaders of all of them at once."""
        weights = [self.weights_for(text.document) for text in texts]
        sums = [QuickSums.of(text, own.quick, self.turned(text)) for text, own in zip(texts, weights, strict=True)]
        if self.backbone is None or not self.leaders:
            return (finished(text, own, by.quick) for text, own, by in zip(texts, sums, weights, strict=True))
        asked = [leading(own.log_odds, self.leaders) for own in sums]
        tables = self.with_many_answers(texts, asked)
        return (
            finished(text, own.corrected(table, by.with_model, rows), by.with_model)
            for text, own, table, rows, by in zip(texts, sums, tables, asked, weights, strict=True)
        )

    def with_similarities(self, texts: Sequence[TextEvidence], weights: Sum | None = None) -> list[Table]:
        """The table of each text with the similarity of those of its phrases that lead without it."""
        sums = [weights or self.weights_for(text.document).quick for text in texts]
        chosen = [leading(totals(text.neutral, own), self.encoded) for text, own in zip(texts, sums, strict=True)]
        near = self._similarities(
            [text.document for text in texts],
            [
                (self.encoded_span(text.document).of(text.document.text), [text.candidates[row].phrase for row in rows])
                for text, rows in zip(texts, chosen, strict=True)
            ],
        )
        return [text.adding_similarity(rows, own) for text, rows, own in zip(texts, chosen, near, strict=True)]

    def _similarities(self, documents: Sequence[Document], texts: Sequence[tuple[str, Sequence[str]]]) -> list[Numbers]:
        """How near phrases are to their text, by the encoder that knows its language."""
        foreign = [self.multilingual is not None and document.language != "en" for document in documents]
        encoder = self.multilingual() if self.multilingual is not None and any(foreign) else None
        if encoder is None:
            return similarities(self.encoder, texts)
        near = iter(similarities(self.encoder, [text for text, other in zip(texts, foreign, strict=True) if not other]))
        return [
            multilingual_similarity(encoder, *text) if other else next(near)
            for text, other in zip(texts, foreign, strict=True)
        ]

    def weights_for(self, document: Document) -> Weights:
        """Those of the document's language: the shipped ones differ for texts in other languages than English."""
        return self.fitted_weights if self.weights is not None or document.language == "en" else other_languages()

    def turned(self, text: TextEvidence) -> list[dict[str, float]]:
        """What seeds and query add to the log-odds of each phrase; nothing where there are none."""
        if not self.seeds and not self.query:
            return [{} for _ in text.candidates]
        leaders = leading(totals(text.table, self.weights_for(text.document).quick), MOST_PHRASES)
        return self._turning.added(self._embed(text.document), text.document, text.candidates, leaders)

    @property
    def _turning(self) -> Turning:
        return Turning(self.seeds, self.query, self.seed_weight)

    def _embed(self, document: Document) -> Embed:
        """Texts as vectors, by the encoder that knows a document's language."""
        encoder = self._encoder_for(document)
        if encoder is self.encoder:
            return partial(vectors_alone, self.encoder)
        return lambda texts: encoder.embed(texts).astype(np.float64)

    def _encoder_for(self, document: Document) -> SentenceEncoder | UniversalEncoder:
        foreign = self.multilingual() if self.multilingual is not None and document.language != "en" else None
        return self.encoder if foreign is None else foreign

    def with_answers(
        self, table: Table, document: Document, candidates: Sequence[Candidate], rows: Sequence[int]
    ) -> Table:
        """The table of one text with what the language model says about some rows; 0 for the others."""
        (found,) = self.with_many_answers([TextEvidence(table, document, candidates)], [rows])
        return found

    def with_many_answers(self, texts: Sequence[TextEvidence], rows: Sequence[Sequence[int]]) -> list[Table]:
        """The table of each text with what the language model says about some of its rows; 0 for the others."""
        beginnings = [
            Beginning(
                text.document.text,
                self.asked_span(text.document).end,
                [text.candidates[row] for row in own],
                min(text.words, self.read_words),
            )
            for text, own in zip(texts, rows, strict=True)
        ]
        together = packs(beginnings, lambda each: each.words, ASKED_WORDS)
        answers = [answer for some in together for answer in ask(self.prompted, some)]
        return [text.adding_answers(own, found) for text, own, found in zip(texts, rows, answers, strict=True)]

    @cached_property
    def prompted(self) -> Backbone:
        """The language model with the template of MUDY+."""
        assert self.backbone is not None
        return prompted(self.backbone, self.template) if self.template else self.backbone.with_template(TEMPLATE)


# -- Texts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextEvidence:
    """A text with its candidates, and a table of evidence about them."""

    table: Table
    document: Document
    candidates: Sequence[Candidate]

    @property
    def words(self) -> int:
        return self.document.word_count

    @property
    def neutral(self) -> Table:
        """The table as if all phrases were equally similar to the text."""
        return self.table.adding(similarity=np.zeros(len(self.candidates)))

    def adding_similarity(self, rows: Sequence[int], values: Numbers) -> Table:
        found = np.full(len(self.candidates), UNKNOWN_SIMILARITY)
        found[list(rows)] = values
        return self.table.adding(similarity=long(self.words) * found)

    def adding_answers(self, rows: Sequence[int], answers: Sequence[Answer]) -> Table:
        columns = {name: np.zeros(len(self.candidates)) for name in ANSWERS}
        weight = long(self.words) ** 2
        for row, (p, e, g) in zip(rows, answers, strict=True):
            columns["likelihood"][row], columns["ending"][row], columns["attention"][row] = p, e, weight * g
        return self.table.adding(**columns)


@dataclass(frozen=True)
class QuickSums:
    """What each kind of evidence adds for each phrase, and the log-odds that come of it."""

    parts: list[dict[str, float]]
    log_odds: Numbers
    turned: list[dict[str, float]]  # what seeds and a query add

    @classmethod
    def of(cls, text: TextEvidence, weights: Sum, turned: list[dict[str, float]]) -> QuickSums:
        parts = [{**contributions(text.table, weights, row), **own} for row, own in enumerate(turned)]
        return cls(parts, np.array([sum(own.values()) for own in parts]), turned)

    def corrected(self, table: Table, weights: Sum, asked: Sequence[int]) -> QuickSums:
        """With the answers about some phrases; the others are put below them."""
        parts, log_odds = list(self.parts), self.log_odds.copy()
        for row in asked:
            parts[row] = {**contributions(table, weights, row), **self.turned[row]}
            log_odds[row] = sum(parts[row].values())
        rest, lead = not_asked(log_odds, asked)
        for row in rest:
            parts[row] = {**parts[row], "not_asked": -lead}
            log_odds[row] -= lead
        return QuickSums(parts, log_odds, self.turned)


def finished(text: TextEvidence, sums: QuickSums, weights: Sum) -> list[OccurrenceScore]:
    """Log-odds as probabilities, high ones bent."""
    parts: list[Mapping[str, float]] = list(sums.parts)
    bent = weights.calibration.bent(sums.log_odds)
    for row, bend in enumerate(bent - sums.log_odds):
        if bend:
            parts[row] = {**parts[row], "calibration": float(bend)}
    return same_at_each(text.candidates, np.clip(expit(bent), 1 - MOST, MOST).tolist(), parts)


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


def similarities(encoder: SentenceEncoder, texts: Sequence[tuple[str, Sequence[str]]]) -> list[Numbers]:
    """How near phrases are to their text, of which one window of the encoder is read; for each text.

    A phrase that several texts hold is read once.
    """
    rows = [tuple(encoder.read_alone(text)) for text, _ in texts]
    alone = [[tuple(encoder.read_alone(phrase)) for phrase in phrases] for _, phrases in texts]
    every = list(dict.fromkeys([*rows, *(row for own in alone for row in own)]))
    states = encoder.states(every, pool=lambda state: state.mean(0))
    vectors = {row: state.astype(np.float64) for row, state in zip(every, states, strict=True)}
    return [
        similarity(np.stack([vectors[row] for row in own]), vectors[text])
        for text, own in zip(rows, alone, strict=True)
    ]


def multilingual_similarity(encoder: UniversalEncoder, text: str, phrases: Sequence[str]) -> Numbers:
    """How near phrases are to a text in another language than English."""
    of_text, *of_phrases = encoder.embed([text, *phrases]).astype(np.float64)
    return similarity(np.stack(of_phrases), of_text)


@dataclass(frozen=True)
class Beginning:
    """The beginning of a text, and some of the text's candidates."""

    text: str
    end: int
    candidates: Sequence[Candidate]
    words: int

    @property
    def text_range(self) -> TextRange:
        return TextRange(self.text, Span(0, self.end))

    @property
    def forms(self) -> list[str]:
        """Each candidate as it first stands in the text."""
        return [candidate.occurrences[0].span.of(self.text) for candidate in self.candidates]

    def attention(self, received: Received) -> Iterator[float]:
        """How much attention each candidate receives."""
        mean = float(received.sums[received.tokens.first :].mean())
        for candidate in self.candidates:
            yield attention([received.at(o.span) for o in candidate.occurrences if o.span.end <= self.end], mean)


def ask(backbone: Backbone, beginnings: Sequence[Beginning]) -> list[list[Answer]]:
    """Likelihood, ending and attention of the candidates of each text, from one reading of its beginning."""
    layers = SAM_LAYERS.get((backbone.family, backbone.depth), (round(0.55 * backbone.depth),))
    encodings = backbone.encode([each.text_range for each in beginnings], layers)
    received = [
        encoding.received or backbone.received_attention([each.text_range], layers)[0]
        for encoding, each in zip(encodings, beginnings, strict=True)
    ]
    questions = [Question(encoding, each.forms) for encoding, each in zip(encodings, beginnings, strict=True)]
    return [
        [(likelihood(values), ending(values), g) for values, g in zip(scored, each.attention(own), strict=True)]
        for each, scored, own in zip(beginnings, backbone.log_likelihood(questions), received, strict=True)
    ]
