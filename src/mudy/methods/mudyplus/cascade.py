"""MUDY+: the score of a phrase is a weighted sum of evidence, a log-odds, returned as a probability.

A cascade keeps it cheap. Counted evidence is computed for all phrases; the leading ones are encoded and compared with
all windows of the text; and the language model, which reads a digest of the text, scores those that lead then. Each
step takes several short texts at once, which share the passes through the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mudy.engines.interfaces import Backbone
from mudy.engines.tokens import packs
from mudy.methods import DEFAULT_STYLE, STYLES, Style
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
    setting,
)
from mudy.methods.mudyplus.evidence import ANSWERS, ENCODED, UNKNOWN_SIMILARITY, Numbers, Table, counted, long
from mudy.methods.mudyplus.language_model import (
    COVERED,
    LEAST_WORDS,
    NOT_READ,
    TEMPLATE,
    Answer,
    Inquiry,
    ask,
    best_of,
    digest,
    stretches,
)
from mudy.methods.mudyplus.near import (
    MOST_PHRASES,
    Embed,
    Pair,
    Steering,
    WindowCosines,
    alike,
    keyphraseness_for,
    repeated,
    unit_vectors,
    vectors_alone,
    vectors_of,
    windows,
)
from mudy.methods.mudyplus.weights import Sum, Weights, load_weights, probabilities
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.stemming import stem_parts
from mudy.reading.document import Document, Span

if TYPE_CHECKING:
    from mudy.engines.interfaces import SentenceEncoder
    from mudy.engines.light.encoders import UniversalEncoder

_WORDS = {  # what each contribution is, for people
    "base": "the same for all phrases",
    "own_frequency": "mentions on its own",
    "nested_frequency": "mentions inside longer phrases",
    "cohesion": "its words occur together",
    "first_mention": "how far into the text it is first mentioned",
    "in_heading": "occurs in headings",
    "is_heading": "is a heading",
    "digit": "has digits",
    "symbol": "has symbols",
    "capitalised": "is capitalised",
    "acronym": "is an acronym",
    "rare_words": "its words are rare",
    "noun_phrase": "is a whole noun phrase",
    "one_word": "is a single word",
    "one_word_noun_phrase": "is a single word and a whole noun phrase",
    "usual_length": "is as long as most phrases of the text",
    "first_position": "is first mentioned late",
    "generic": "is an everyday word",
    "plain_generic": "is an everyday word (in plain language)",
    "plain_own_frequency": "mentions on its own (in plain language)",
    "plain_one_word": "is a single word (in plain language)",
    "similarity": "similar to its nearest passages",
    "plain_similarity": "similar to its nearest passages (in plain language)",
    "keyphraseness": "resembles keyphrases of other documents",
    "likelihood": "likely as a keyword",
    "ending": "ends where it should",
    "plain_ending": "ends where it should (in plain language)",
    "attention": "attention received",
    "in_context": "means in its sentences what keyphrases do",
    "repeats": "close in meaning to a phrase that ranks higher",
    "local": "support from this passage, compared with the best one",
    "seeds": "similar to the seeds",
    "query": "occurs in sentences similar to the query",
    "not_asked": "not scored by the language model",
    "calibration": "correction of high probabilities",
    "vocabulary": "is in the vocabulary",
}
TOGETHER = 350  # words that the language model remembers at once, at 50 kB each
FAST_WORDS = 350  # from here on a text counts as long
LONG_TEXT = 3  # times as many phrases, at most, are encoded and scored in a long text


@dataclass(frozen=True)
class MudyPlus(BatchMethod):
    """Frequency, form, position, similarity, likelihood, boundary and attention, each with its weight."""

    title: ClassVar = "MUDY+"
    citation: ClassVar = "This project, after Kang and Yoon, SIGIR 2026"
    needs: ClassVar = ("backbone", "encoder", "multilingual")
    parts: ClassVar = tuple(ScorePart(name, words, kind="contribution") for name, words in _WORDS.items())
    exclusive: ClassVar = (("style", "weights"),)
    speeds: ClassVar = {"quick": {"leaders": 0, "encoded": 60}, "fast": {"read_words": 340, "read_all": False}}
    candidate_kind: ClassVar = "nested"
    default_speed: ClassVar = "fast"
    calibrated: ClassVar = True
    distinct: ClassVar = True

    encoder: SentenceEncoder
    backbone: Backbone | None = None  # None: without a language model
    multilingual: Callable[[], UniversalEncoder | None] | None = field(default=None, compare=False)  # not for English

    style: Style = setting(
        DEFAULT_STYLE, f"Kind of keyphrases: {', '.join(STYLES)}; `mudy extract --help` explains them."
    )
    weights: str | Weights | None = setting(
        None, "File of weights made by `mudy fit`; none: the built-in weights of the style."
    )
    encoded: int = setting(
        80, "Number of phrases that are encoded: those that lead by counted evidence; up to three times in a long text."
    )
    leaders: int = setting(
        30, "Number of leading phrases that the language model scores; up to three times in a long text; 0: none."
    )
    read_words: int = setting(
        900, "Number of words that the language model reads: the text, or a digest of a longer one."
    )
    read_all: bool = setting(
        True, "Whether the language model also reads all of a longer text, and scores phrases where they occur."
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
        require("encoded", self.encoded, self.encoded >= 1, "1 or more")
        require("read_words", self.read_words, self.read_words >= LEAST_WORDS, f"{LEAST_WORDS} or more")
        require("style", self.style, self.style in STYLES, f"one of {', '.join(STYLES)}")
        weights = self.loaded_weights  # raises now if the file cannot be used
        if self.asks:
            weights.with_model  # noqa: B018

    @classmethod
    def needed(cls, settings: Mapping[str, Any], architecture: Callable[[], Architecture]) -> frozenset[ModelField]:  # noqa: ARG003
        """Without leaders no language model is fetched or loaded; weights that cannot be used raise before."""
        weights = load_weights(settings.get("weights"), settings.get("style", cls.style))
        if not settings.get("leaders", cls.leaders):
            return frozenset(("encoder", "multilingual"))
        weights.with_model  # noqa: B018 (raises)
        return frozenset(cls.needs)

    @property
    def asks(self) -> int:
        """How many phrases the language model scores: none, if there is no model."""
        return 0 if self.backbone is None else self.leaders

    @cached_property
    def loaded_weights(self) -> Weights:
        return load_weights(self.weights, self.style)

    def score_many(self, work: Work) -> list[Scores]:
        """The probability of each occurrence, with the contribution of each kind of evidence to its log-odds."""
        texts = iter(self._scored([self.counted(*each) for each in work if each[1]]))
        return [next(texts) if candidates else Scores() for _, candidates in work]

    def counted(self, document: Document, candidates: Sequence[Candidate]) -> TextEvidence:
        """A text with the evidence that needs no model."""
        return TextEvidence(counted(document, candidates, self.encoder.tokenizer), document, candidates)

    def _scored(self, texts: Sequence[TextEvidence]) -> Iterator[Scores]:
        """The scores of each text; the models read all of them together."""
        weights = [self.weights_for(text.document) for text in texts]
        texts = self.with_similarities(texts, [by.quick for by in weights])
        sums = [QuickSums.of(text, by.quick, self.steered(text)) for text, by in zip(texts, weights, strict=True)]
        if not self.asks:
            return (self._finished(text, quick, by.quick) for text, quick, by in zip(texts, sums, weights, strict=True))
        orders = [ordered(quick.log_odds) for quick in sums]
        texts = self.with_answers(texts, orders)
        return (
            self._finished(text, quick.corrected(text, by.with_model), by.with_model)
            for text, quick, by in zip(texts, sums, weights, strict=True)
        )

    def _finished(self, text: TextEvidence, sums: QuickSums, weights: Sum) -> Scores:
        """The scores of a text, with the spans that each model read."""
        sums = sums.without_repeats(text, weights)
        assert text.near is not None
        encoder = self._encoder_for(text.document)
        spans = [*text.near.windows, *self._steering.read(text.document)]
        read = {
            "encoder": [
                Span(span.start, span.start + encoder.end_of_window(span.of(text.document.text))) for span in spans
            ]
        }
        if text.read:
            read["language_model"] = list(text.read)
        return Scores(finished(text, sums, weights), **read)

    def with_similarities(self, texts: Sequence[TextEvidence], weights: Sequence[Sum]) -> list[TextEvidence]:
        """The texts with the similarity of those of their phrases that lead without it."""
        chosen = [
            leading(quick.totals(text.neutral), in_long_text(self.encoded, text.document.word_count))
            for text, quick in zip(texts, weights, strict=True)
        ]
        cut = [windows(text.document) for text in texts]
        rows = [
            [*(window.of(text.document.text) for window in spans), *(text.candidates[row].phrase for row in leaders)]
            for text, spans, leaders in zip(texts, cut, chosen, strict=True)
        ]
        vectors = self._vectors([text.document for text in texts], rows)
        return [
            text.adding_similarity(
                WindowCosines.of(leaders, spans, states[len(spans) :], states[: len(spans)]),
                *self._known_meaning(text, leaders, states[len(spans) :]),
            )
            for text, spans, leaders, states in zip(texts, cut, chosen, vectors, strict=True)
        ]

    def _known_meaning(
        self, text: TextEvidence, leaders: Sequence[int], vectors: Numbers
    ) -> tuple[Numbers, tuple[Pair, ...]]:
        """The keyphraseness of the leaders, and which are alike; nothing by an encoder or in a language not fitted."""
        language = text.document.language
        known = keyphraseness_for(self._encoder_for(text.document).name, language, vectors.shape[1])
        if known is None:
            return np.zeros(len(leaders)), ()
        stems = [stem_parts(text.candidates[row].phrase.replace("-", " "), language) for row in leaders]
        return known.of(unit_vectors(vectors)), alike(leaders, stems, vectors)

    def _vectors(self, documents: Sequence[Document], rows: Sequence[Sequence[str]]) -> list[Numbers]:
        """The vectors of texts that belong to documents, by the encoder that knows the language of each."""
        pairs = list(zip(documents, rows, strict=True))
        english = [row for document, row in pairs if self._encoder_for(document) is self.encoder]
        known = iter(vectors_of(partial(vectors_alone, self.encoder), english))
        return [
            next(known) if self._encoder_for(document) is self.encoder else self._embed(document)(row)
            for document, row in pairs
        ]

    def weights_for(self, document: Document) -> Weights:
        """The weights for the document's language: the built-in ones differ for English and other languages."""
        return load_weights(None, self.style, document.language) if self.weights is None else self.loaded_weights

    def steered(self, text: TextEvidence) -> list[dict[str, float]]:
        """What seeds and query add to the log-odds of each phrase; nothing if there are none."""
        if not self.seeds and not self.query:
            return [{} for _ in text.candidates]
        leaders = leading(self.weights_for(text.document).quick.totals(text.table), MOST_PHRASES)
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

    def with_answers(self, texts: Sequence[TextEvidence], orders: Sequence[Sequence[int]]) -> list[TextEvidence]:
        """The texts with what the language model says about the first rows of an order, after a digest about them."""
        asked = [
            sorted(order[: in_long_text(self.leaders, text.document.word_count)])
            for text, order in zip(texts, orders, strict=True)
        ]
        inquiries = [
            Inquiry(
                digest(text.document, [text.candidates[row] for row in order[:COVERED]], self.read_words),
                [text.candidates[row] for row in rows],
            )
            for text, order, rows in zip(texts, orders, asked, strict=True)
        ]
        together = packs(inquiries, lambda inquiry: inquiry.digest.words, TOGETHER)
        answers = [answer for some in together for answer in ask(self.prompted, some)]
        read = [inquiry.digest.pieces for inquiry in inquiries]
        if self.read_all:
            everywhere = [self._everywhere(*each) for each in zip(texts, inquiries, answers, strict=True)]
            answers, read = [best for best, _ in everywhere], [spans for _, spans in everywhere]
        return [
            text.adding_answers(rows, about, spans, model_key(self.prompted))
            for text, rows, about, spans in zip(texts, asked, answers, read, strict=True)
        ]

    def _everywhere(
        self, text: TextEvidence, inquiry: Inquiry, answers: Sequence[Answer]
    ) -> tuple[list[Answer], tuple[Span, ...]]:
        """The best answer about each phrase, after the digest or a stretch that mentions it; and all that was read."""
        known, read = [[answer] for answer in answers], list(inquiry.digest.pieces)
        for stretch in stretches(text.document, self.read_words) if text.document.word_count > self.read_words else ():
            held = [row for row, candidate in enumerate(inquiry.candidates) if stretch.holds(candidate)]
            if held:
                (local,) = ask(self.prompted, [Inquiry(stretch, [inquiry.candidates[row] for row in held])])
                read += stretch.pieces
                for row, answer in zip(held, local, strict=True):
                    known[row].append(answer)
        return [best_of(several) for several in known], tuple(read)

    @cached_property
    def prompted(self) -> Backbone:
        """The language model with the template of MUDY+."""
        assert self.backbone is not None
        return prompted(self.backbone, self.template) if self.template else self.backbone.with_template(TEMPLATE)


# -- Texts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextEvidence:
    """A text with its candidates, a table of evidence about them, and what it was made of."""

    table: Table
    document: Document
    candidates: Sequence[Candidate]
    near: WindowCosines | None = None
    alike: tuple[Pair, ...] = ()
    answers: Mapping[int, Answer] = field(default_factory=dict)  # of the rows that the language model scored
    in_context: Mapping[int, Numbers] = field(default_factory=dict)  # of each occurrence of these rows
    read: Sequence[Span] = ()  # what the language model read

    @property
    def neutral(self) -> Table:
        """The table as if the encoder said the same about all phrases."""
        return self.table.adding(**{name: np.zeros(len(self.candidates)) for name in ENCODED})

    def adding_similarity(
        self, near: WindowCosines, keyphraseness: Numbers, alike: tuple[Pair, ...] = ()
    ) -> TextEvidence:
        """The text with what the encoder says about its leading phrases."""
        similar, typical = np.full(len(self.candidates), UNKNOWN_SIMILARITY), np.zeros(len(self.candidates))
        similar[list(near.rows)], typical[list(near.rows)] = near.similarity, keyphraseness
        table = self.table.adding(similarity=long(self.document.word_count) * similar, keyphraseness=typical)
        return replace(self, table=table, near=near, alike=alike)

    def adding_answers(
        self, rows: Sequence[int], answers: Sequence[Answer], read: Sequence[Span], model: str
    ) -> TextEvidence:
        """The text with what a language model says about some phrases."""
        columns = {name: np.zeros(len(self.candidates)) for name in ANSWERS}
        in_context = {}
        for row, answer in zip(rows, answers, strict=True):
            columns["likelihood"][row], columns["ending"][row] = answer.likelihood, answer.ending
            columns["attention"][row] = self._attended(answer.attention)
            state = answer.state
            known = None if state is None else keyphraseness_for(model, self.document.language, len(state))
            if state is not None and known is not None:
                columns["in_context"][row] = mean = float(known.of(state))
                in_context[row] = np.array([mean if s is None else float(known.of(s)) for s in answer.states])
        known_answers = dict(zip(rows, answers, strict=True))
        table = self.table.adding(**columns)
        return replace(self, table=table, answers=known_answers, in_context=in_context, read=read)

    def _attended(self, attention: float) -> float:
        return long(self.document.word_count) ** 2 * attention

    def local(self, row: int, weights: Sum) -> Numbers:
        """What each occurrence has less than the best one: similarity to its window, attention, meaning in context."""
        spans = [occurrence.span for occurrence in self.candidates[row].occurrences]
        support = np.zeros(len(spans))
        if len(spans) > 1 and self.near is not None and row in self.near:
            weight = weights.evidence.get("similarity", 0.0) * long(self.document.word_count)
            support += weight * self.near.at(row, [span.start for span in spans])
        if len(spans) > 1 and row in self.answers:
            received = [NOT_READ if value is None else value for value in self.answers[row].received]
            support += weights.evidence.get("attention", 0.0) * np.array([self._attended(value) for value in received])
        if len(spans) > 1 and row in self.in_context:
            support += weights.evidence.get("in_context", 0.0) * self.in_context[row]
        return np.asarray(support - support.max())


@dataclass(frozen=True)
class QuickSums:
    """What each kind of evidence adds for each phrase, and the resulting log-odds."""

    parts: list[dict[str, float]]
    log_odds: Numbers
    steered: list[dict[str, float]]  # what seeds and a query add

    @classmethod
    def of(cls, text: TextEvidence, weights: Sum, steered: list[dict[str, float]]) -> QuickSums:
        parts = [{**weights.contributions(text.table, row), **added} for row, added in enumerate(steered)]
        return cls(parts, np.array([sum(part.values()) for part in parts]), steered)

    def corrected(self, text: TextEvidence, weights: Sum) -> QuickSums:
        """With the answers about some phrases; the others rank below them."""
        parts, log_odds, asked = list(self.parts), self.log_odds.copy(), list(text.answers)
        for row in asked:
            parts[row] = {**weights.contributions(text.table, row), **self.steered[row]}
            log_odds[row] = sum(parts[row].values())
        rest, lead = not_asked(log_odds, asked)
        for row in rest:
            parts[row] = {**parts[row], "not_asked": -lead}
            log_odds[row] -= lead
        return QuickSums(parts, log_odds, self.steered)

    def without_repeats(self, text: TextEvidence, weights: Sum) -> QuickSums:
        """With less for phrases that mean nearly the same as one that ranks higher."""
        lost = repeated(self.log_odds, text.alike, weights.repeats)
        parts = [
            {**part, "repeats": -less} if less else part for part, less in zip(self.parts, lost.tolist(), strict=True)
        ]
        return QuickSums(parts, self.log_odds - lost, self.steered)


def finished(text: TextEvidence, sums: QuickSums, weights: Sum) -> Iterator[OccurrenceScore]:
    """Log-odds of each occurrence as probabilities, high ones bent; the best occurrence has those of its phrase."""
    for row, candidate in enumerate(text.candidates):
        log_odds = sums.log_odds[row] + (local := text.local(row, weights))
        bent = weights.calibration.bent(log_odds)
        chances = probabilities(bent).tolist()
        for occurrence, chance, less, bend in zip(
            candidate.occurrences, chances, local.tolist(), (bent - log_odds).tolist(), strict=True
        ):
            parts = {**sums.parts[row], **({"local": less} if less else {}), **({"calibration": bend} if bend else {})}
            yield OccurrenceScore(row, occurrence, chance, parts)


# -- Sums -------------------------------------------------------------------------------------------------------------


def model_key(backbone: Backbone) -> str:
    """The architecture of a language model, for which a direction of its states was fitted or not."""
    return f"{backbone.family}-{backbone.depth}"


def not_asked(log_odds: Numbers, asked: Sequence[int]) -> tuple[list[int], float]:
    """The rows that were not asked about, and how much to subtract so that they rank below the others."""
    rest = sorted(set(range(len(log_odds))).difference(asked))
    return rest, max(0.0, max(log_odds[rest], default=-np.inf) - min(log_odds[list(asked)]))


def in_long_text(phrases: int, words: int) -> int:
    """How many phrases pass a step of the cascade: in a long text up to LONG_TEXT times as many."""
    return round(phrases * min(LONG_TEXT, max(1.0, words / FAST_WORDS)))


def ordered(values: Numbers) -> list[int]:
    """All rows, those with the highest values first, of equals the earlier ones."""
    return [int(row) for row in np.argsort(-np.round(values, 9), kind="stable")]


def leading(values: Numbers, most: int) -> list[int]:
    """The rows with the highest values, of equals the earlier ones, in the order of the text."""
    return sorted(ordered(values)[:most])
