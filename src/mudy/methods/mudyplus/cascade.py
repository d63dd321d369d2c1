"""MUDY+: the score of a phrase is a weighted sum of evidence, a log-odds, returned as a probability.

A cascade keeps it cheap. Counted evidence is computed for all phrases; the leading ones are encoded and compared with
the text; and the language model scores those that lead then. Each step takes several short texts at once, which share
the passes through the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mudy.candidates import Candidate
from mudy.engines.backbone import Backbone
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
from mudy.methods.mudyplus.asked import TEMPLATE, Answer, Beginning, ask
from mudy.methods.mudyplus.counted import counted
from mudy.methods.mudyplus.evidence_table import ANSWERS, UNKNOWN_SIMILARITY, Numbers, Table, long
from mudy.methods.mudyplus.fitting import expit
from mudy.methods.mudyplus.near import (
    MOST_PHRASES,
    Embed,
    Steering,
    multilingual_similarity,
    similarities,
    vectors_alone,
)
from mudy.methods.mudyplus.weights import Sum, Weights, load_weights, other_languages
from mudy.reading.document import Document, Span

if TYPE_CHECKING:
    from mudy.engines.encoder import SentenceEncoder
    from mudy.engines.universal_encoder import UniversalEncoder

_WORDS = {  # what each contribution is, for people
    "base": "the same for all phrases",
    "own_frequency": "mentions on its own",
    "nested_frequency": "mentions inside longer phrases",
    "noun_phrase": "is a whole noun phrase",
    "one_word": "is a single word",
    "one_word_noun_phrase": "is a single word and a whole noun phrase",
    "usual_length": "is as long as most phrases of the text",
    "first_position": "is first mentioned late",
    "generic": "is an everyday word",
    "plain_generic": "is an everyday word (in plain language)",
    "plain_own_frequency": "mentions on its own (in plain language)",
    "plain_one_word": "is a single word (in plain language)",
    "similarity": "similar to the text",
    "plain_similarity": "similar to the text (in plain language)",
    "likelihood": "likely as a keyword",
    "ending": "ends where it should",
    "plain_ending": "ends where it should (in plain language)",
    "attention": "attention received",
    "seeds": "similar to the seeds",
    "query": "occurs in sentences similar to the query",
    "not_asked": "not scored by the language model",
    "calibration": "correction of high probabilities",
    "vocabulary": "is in the vocabulary",
}
ASKED_WORDS = 350  # that the language model remembers at once, at 50 kB each
MOST = 1 - 1e-6  # a probability is never quite 0 or 1


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
    multilingual: Callable[[], UniversalEncoder | None] | None = field(default=None, compare=False)  # not for English

    weights: str | None = setting(None, "File of weights made by `mudy fit`; none: the built-in weights.")
    encoded: int = setting(80, "Number of phrases that are encoded: those that lead by counted evidence.")
    leaders: int = setting(30, "Number of leading phrases that the language model scores; 0: none.")
    read_words: int = setting(900, "Number of words, from the start of the text, that the language model reads.")
    encoded_words: int = setting(
        200, "Number of words, from the start of the text, that the encoder reads, in one window."
    )
    template: str | None = setting(
        None, "What follows the text, with {} for the phrase; none: ' Keywords: {},', for which weights are fitted."
    )
    seeds: tuple[str, ...] = setting((), "Phrases that steer the ranking.")
    query: str | None = setting(None, "A question that steers the ranking.")
    seed_weight: float = setting(
        8.0, "Log-odds that a cosine of 1 to a seed or the query adds, over the mean of the text's phrases."
    )

    def __post_init__(self) -> None:
        require("leaders", self.leaders, self.leaders >= 0, "1 or more, or 0 for no language model")
        require("seed_weight", self.seed_weight, self.seed_weight >= 0, "0 or more")
        require("seeds", self.seeds, all(map(str.strip, self.seeds)), "phrases that are not blank")
        for name in ("encoded", "read_words", "encoded_words"):
            require(name, value := getattr(self, name), value >= 1, "1 or more")
        weights = self.loaded_weights  # raises now if the file cannot be used
        if self.backbone is not None and self.leaders:
            weights.with_model  # noqa: B018

    @classmethod
    def needed(cls, settings: Mapping[str, Any], architecture: Callable[[], Architecture]) -> frozenset[ModelField]:  # noqa: ARG003
        """Without leaders no language model is fetched or loaded; weights that cannot be used raise before."""
        weights = load_weights(settings.get("weights"))
        if not settings.get("leaders", cls.leaders):
            return frozenset(("encoder", "multilingual"))
        weights.with_model  # noqa: B018 (raises)
        return frozenset(cls.needs)

    @cached_property
    def loaded_weights(self) -> Weights:
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
        encoder, pieces = self._encoder_for(document), [self.encoded_span(document), *self._steering.read(document)]
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
        """The scores of each text; the language model scores the leaders of all of them at once."""
        weights = [self.weights_for(text.document) for text in texts]
        sums = [QuickSums.of(text, own.quick, self.steered(text)) for text, own in zip(texts, weights, strict=True)]
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
        """The similarity of phrases to their text, by the encoder that knows its language."""
        pairs = list(zip(texts, map(self._encoder_for, documents), strict=True))
        near = iter(similarities(self.encoder, [text for text, encoder in pairs if encoder is self.encoder]))
        return [
            next(near) if encoder is self.encoder else multilingual_similarity(encoder, *text)
            for text, encoder in pairs
        ]

    def weights_for(self, document: Document) -> Weights:
        """The weights for the document's language: the built-in ones differ for English and other languages."""
        return self.loaded_weights if self.weights is not None or document.language == "en" else other_languages()

    def steered(self, text: TextEvidence) -> list[dict[str, float]]:
        """What seeds and query add to the log-odds of each phrase; nothing if there are none."""
        if not self.seeds and not self.query:
            return [{} for _ in text.candidates]
        leaders = leading(totals(text.table, self.weights_for(text.document).quick), MOST_PHRASES)
        return self._steering.added(self._embed(text.document), text.document, text.candidates, leaders)

    @property
    def _steering(self) -> Steering:
        return Steering(self.seeds, self.query, self.seed_weight)

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
                min(text.document.word_count, self.read_words),
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


# -- Texts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextEvidence:
    """A text with its candidates, and a table of evidence about them."""

    table: Table
    document: Document
    candidates: Sequence[Candidate]

    @property
    def neutral(self) -> Table:
        """The table as if all phrases were equally similar to the text."""
        return self.table.adding(similarity=np.zeros(len(self.candidates)))

    def adding_similarity(self, rows: Sequence[int], values: Numbers) -> Table:
        column = np.full(len(self.candidates), UNKNOWN_SIMILARITY)
        column[list(rows)] = values
        return self.table.adding(similarity=long(self.document.word_count) * column)

    def adding_answers(self, rows: Sequence[int], answers: Sequence[Answer]) -> Table:
        columns = {name: np.zeros(len(self.candidates)) for name in ANSWERS}
        weight = long(self.document.word_count) ** 2
        for row, (p, e, g) in zip(rows, answers, strict=True):
            columns["likelihood"][row], columns["ending"][row], columns["attention"][row] = p, e, weight * g
        return self.table.adding(**columns)


@dataclass(frozen=True)
class QuickSums:
    """What each kind of evidence adds for each phrase, and the resulting log-odds."""

    parts: list[dict[str, float]]
    log_odds: Numbers
    steered: list[dict[str, float]]  # what seeds and a query add

    @classmethod
    def of(cls, text: TextEvidence, weights: Sum, steered: list[dict[str, float]]) -> QuickSums:
        parts = [{**contributions(text.table, weights, row), **own} for row, own in enumerate(steered)]
        return cls(parts, np.array([sum(own.values()) for own in parts]), steered)

    def corrected(self, table: Table, weights: Sum, asked: Sequence[int]) -> QuickSums:
        """With the answers about some phrases; the others rank below them."""
        parts, log_odds = list(self.parts), self.log_odds.copy()
        for row in asked:
            parts[row] = {**contributions(table, weights, row), **self.steered[row]}
            log_odds[row] = sum(parts[row].values())
        rest, lead = not_asked(log_odds, asked)
        for row in rest:
            parts[row] = {**parts[row], "not_asked": -lead}
            log_odds[row] -= lead
        return QuickSums(parts, log_odds, self.steered)


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
    """The rows that were not asked about, and how much to subtract so that they rank below the others."""
    rest = sorted(set(range(len(log_odds))).difference(asked))
    return rest, max(0.0, max(log_odds[rest], default=-np.inf) - min(log_odds[list(asked)]))


def totals(table: Table, weights: Sum) -> Numbers:
    """The weighted sum of the evidence for each phrase."""
    return np.asarray(table.rows(list(weights.evidence)) @ np.array(list(weights.evidence.values())))


def leading(values: Numbers, most: int) -> list[int]:
    """The rows with the highest values, of equals the earlier ones, in the order of the text."""
    return sorted(np.argsort(-np.round(values, 9), kind="stable")[:most].tolist())
