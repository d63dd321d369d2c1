"""Algorithm 1: likelihood with attention pulled towards each occurrence, raised by the attention that it receives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from mudy.engines import has_encoder
from mudy.engines.backbone import Backbone, Encoding, Floats, Question
from mudy.methods.chunks import DocumentChunk, chunk_batches
from mudy.methods.method import (
    Architecture,
    BatchMethod,
    ModelField,
    OccurrenceScore,
    ScorePart,
    Scores,
    Work,
    with_own_template,
)
from mudy.methods.mudy.multi_granular import (
    Factors,
    MultiGranularAttention,
    attention_score,
    final_score,
    recurring,
    weight_of,
)
from mudy.methods.mudy.settings import (
    PRESETS,
    RECOMMENDED,
    AttentionSettings,
    LongTextSettings,
    ScoreSettings,
    ShortcutSettings,
    WeightingSettings,
)
from mudy.methods.promptrank import prompt_likelihood
from mudy.reading.document import Span

if TYPE_CHECKING:
    from mudy.methods.mudy.weighting import Focus


class Likelihood(NamedTuple):
    """The p of one occurrence, and whether its prompt looked at its place in particular."""

    p: float
    weighted: bool


class SpanEncoder(Protocol):
    """Gives a vector for each span of a text, in its context."""

    def span_states(self, text: str, spans: Sequence[Span], contexts: Sequence[Span]) -> Floats: ...


@dataclass(frozen=True)
class _Models:
    """What MUDY asks; a base class of its own, so that these fields come before the settings."""

    backbone: Backbone
    encoder: SpanEncoder | None = None  # whose embeddings say which candidates are related; T5 uses its own encoder


@dataclass(frozen=True)
class Mudy(
    LongTextSettings, ShortcutSettings, ScoreSettings, AttentionSettings, WeightingSettings, _Models, BatchMethod
):
    """Multi-granular dynamic candidate contextualization, Algorithm 1."""

    title = "MUDY"
    citation = "Kang and Yoon, SIGIR 2026"
    needs = ("backbone", "encoder")
    parts = (
        ScorePart("p", "likelihood of the phrase"),
        ScorePart("G", "attention in the whole text"),
        ScorePart("L", "attention in its passage"),
        ScorePart("AS", "attention score"),
        ScorePart("lambda", "weight of attention here", "λ"),
        ScorePart("m", "sections that hold it"),
        ScorePart("weighted", "whether p was computed with weighting (1) or without (0)", "w"),
    )
    presets = PRESETS
    speeds: ClassVar[Mapping[str, Mapping[str, Any]]] = {"fast": {"leaders": 15, "one_reading": True}}
    rescorable = ("lambda_",)  # p, G and L do not depend on it
    comparable = False

    def __post_init__(self) -> None:
        self.check_weighting()
        self.check_attention()
        self.check_score()
        self.check_shortcuts()
        self.check_long_text()
        with_own_template(self)

    @classmethod
    def recommended(cls, architecture: Callable[[], Architecture]) -> Mapping[str, Any]:
        return RECOMMENDED.get(architecture(), {})

    @classmethod
    def needed(cls, settings: Mapping[str, Any], architecture: Callable[[], Architecture]) -> frozenset[ModelField]:
        """An encoder says which candidates are related, if the language model has none of its own."""
        related = settings.get("weighting", cls.weighting) and settings.get("mixture", cls.mixture)
        return frozenset(cls.needs if related and not has_encoder(architecture().family) else ("backbone",))

    def score_many(self, work: Work) -> list[Scores]:
        scores = [Scores() for _ in work]
        for batch in chunk_batches(work, self.backbone, self.section_tokens):
            for chunk, p, g, local in zip(batch, *self._factors(batch), strict=True):
                combined = self._combine(chunk, self.lambda_, p, g, local)  # Eqs. 11-12
                scores[chunk.owner].add(combined, language_model=chunk.chunk.span)
        documents = zip(work, scores, strict=True)
        return [
            Scores(recurring(candidates, scored, self.recurrence, document.language), **scored.read)
            for (document, candidates), scored in documents
        ]

    def _factors(self, batch: Sequence[DocumentChunk]) -> tuple[list[list[Likelihood]], Factors, Factors]:
        """The p, G and L of every occurrence; what a model remembers of the texts is gone afterwards."""
        observed = self.layers if self.one_reading and self.attention != "none" else ()
        encodings = self.backbone.encode([chunk.text_range for chunk in batch], observed)  # once for all occurrences
        g, local = self._received.factors(batch, encodings)  # Eqs. 9-10
        return self._likelihoods(batch, encodings, g, local), g, local  # Eqs. 1-8

    def _combine(
        self, chunk: DocumentChunk, lambda_: float, p: Sequence[Likelihood], g: Sequence[float], local: Sequence[float]
    ) -> Iterator[OccurrenceScore]:
        """The likelihood of each occurrence, raised by attention (Eqs. 11-12)."""
        lambda_ = weight_of(len(chunk.text.split()), lambda_, self.lambda_words)
        for place, (p_c, weighted), g_c, l_c in zip(chunk.places, p, g, local, strict=True):
            attention = attention_score(g_c, l_c, self.attention, self.as_clip)
            score = final_score(p_c, attention, lambda_, outside=self.lambda_outside)
            parts = {"p": p_c, "G": g_c, "L": l_c, "AS": attention, "lambda": lambda_, "m": 1}
            if self.leaders is not None:  # else every p is made by the same rule
                parts["weighted"] = int(weighted)
            yield OccurrenceScore(place.candidate, place.occurrence, score, parts, chunk.chunk.index)

    # --- Multi-granular attention (Sec. 4.3) ---------------------------------------------------------------------

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers whose attention is observed."""
        return self._received.layers

    @property
    def _received(self) -> MultiGranularAttention:
        return MultiGranularAttention(self, self.backbone)

    # --- Candidate-aware weighting (Sec. 4.2) --------------------------------------------------------------------

    def focus(self, chunk: DocumentChunk, encoding: Encoding) -> Focus:
        """Where the prompt of each occurrence should look (Eqs. 2-4)."""
        from mudy.methods.mudy.weighting import focus

        return focus(self, self.backbone, self.encoder, chunk, encoding)

    def _likelihoods(
        self, batch: Sequence[DocumentChunk], encodings: Sequence[Encoding], g: Factors, local: Factors
    ) -> list[list[Likelihood]]:
        """The p of every occurrence (Eq. 1), its prompt looking where it should (Eqs. 2-8)."""
        every = [list(range(len(chunk.places))) for chunk in batch]
        if not self.weighting:
            return self._prompted(batch, encodings, every, None)
        focuses = [self.focus(*pair) for pair in zip(batch, encodings, strict=True)]
        if self.leaders is None:
            return self._prompted(batch, encodings, every, focuses)
        p = self._prompted(batch, encodings, every, None)
        leading = [self._leading(*row) for row in zip(batch, p, g, local, strict=True)]
        weighted = self._prompted(batch, encodings, leading, focuses)
        for p_chunk, indices, values in zip(p, leading, weighted, strict=True):
            for index, value in zip(indices, values, strict=True):
                p_chunk[index] = value
        return p

    def _prompted(
        self,
        batch: Sequence[DocumentChunk],
        encodings: Sequence[Encoding],
        chosen: Sequence[Sequence[int]],
        focuses: Sequence[Focus] | None,
    ) -> list[list[Likelihood]]:
        """The p of the chosen occurrences of each chunk; without a focus, the prompt sees the text as it is."""
        questions = []
        for row, (chunk, encoding, indices) in enumerate(zip(batch, encodings, chosen, strict=True)):
            phrases = [chunk.places[i].span.of(chunk.text) for i in indices]
            questions.append(Question(encoding, phrases, focuses[row].only(indices) if focuses else None))
        answers = self.backbone.log_likelihood(questions)  # Eqs. 5-8 run inside attention
        weighted = focuses is not None
        return [
            [Likelihood(prompt_likelihood(scored, self.alpha, self.score_tokens), weighted) for scored in answer]
            for answer in answers
        ]

    def _leading(
        self, chunk: DocumentChunk, p: Sequence[Likelihood], g: Sequence[float], local: Sequence[float]
    ) -> list[int]:
        """Which occurrences belong to the phrases that lead a chunk.

        Under the lambda recommended for the backbone, whatever lambda is in use: so p does not depend on lambda.
        """
        shape = Architecture(self.backbone.family, self.backbone.depth)
        lambda_ = self.recommended(lambda: shape).get("lambda_", type(self).lambda_)
        best: dict[int, float] = {}
        for score in self._combine(chunk, lambda_, p, g, local):
            best[score.candidate] = max(score.score, best.get(score.candidate, score.score))
        leaders = set(sorted(best, key=lambda candidate: -best[candidate])[: self.leaders])
        return [index for index, place in enumerate(chunk.places) if place.candidate in leaders]
