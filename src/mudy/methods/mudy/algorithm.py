"""Algorithm 1: likelihood with attention pulled towards each occurrence, raised by the attention that it receives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from mudy.engines import ENCODER_DECODERS
from mudy.engines.backbone import Backbone, Encoding, Floats, Question
from mudy.errors import SettingError
from mudy.methods.chunks import Chunk, scored_in_chunks
from mudy.methods.method import (
    Architecture,
    BatchMethod,
    ModelField,
    OccurrenceScore,
    ScorePart,
    Scores,
    Work,
    prompted,
)
from mudy.methods.mudy.multi_granular import (
    Factors,
    attention_factors,
    attention_score,
    final_score,
    recurring,
    weight_of,
)
from mudy.methods.mudy.settings import PRESETS, RECOMMENDED, SAM_LAYERS, MudySettings
from mudy.methods.mudy.weighting import Focus, focus
from mudy.methods.promptrank import prompt_likelihood
from mudy.reading.document import Span


class Likelihood(NamedTuple):
    """The p of one occurrence, and whether its prompt looked at its place in particular."""

    p: float
    weighted: bool


class SpanEncoder(Protocol):
    """Gives a vector for each span of a text, in its context."""

    def span_states(self, text: str, spans: Sequence[Span], contexts: Sequence[Span]) -> Floats: ...


@dataclass(frozen=True)
class Mudy(MudySettings, BatchMethod):
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

    backbone: Backbone
    encoder: SpanEncoder | None = None  # whose embeddings say which candidates are related; T5 uses its own encoder

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.template is not None:
            object.__setattr__(self, "backbone", prompted(self.backbone, self.template))

    @classmethod
    def recommended(cls, architecture: Callable[[], Architecture]) -> Mapping[str, Any]:
        return RECOMMENDED.get(architecture(), {})

    @classmethod
    def needed(cls, settings: Mapping[str, Any], architecture: Callable[[], Architecture]) -> frozenset[ModelField]:
        """An encoder says which candidates are related, if the language model has none of its own."""
        related = settings.get("weighting", cls.weighting) and settings.get("mixture", cls.mixture)
        return frozenset(cls.needs if related and architecture().family not in ENCODER_DECODERS else ("backbone",))

    @property
    def layers(self) -> tuple[int, ...]:
        depth = self.backbone.depth
        layers = self.sam_layers or SAM_LAYERS.get((self.backbone.family, depth), (round(0.55 * depth),))
        if not all(0 <= layer < depth for layer in layers):
            raise SettingError(f"sam_layers is {layers}, but {self.backbone.name} has the layers 0 to {depth - 1}.")
        return layers

    def score_many(self, work: Work) -> list[Scores]:
        every = scored_in_chunks(work, self.backbone, self.section_tokens, self._scored)
        return [
            Scores(recurring(candidates, scores, self.recurrence, document.language), **scores.read)
            for (document, candidates), scores in zip(work, every, strict=True)
        ]

    def _scored(self, chunks: Sequence[Chunk]) -> Iterator[Iterator[OccurrenceScore]]:
        """The score of every occurrence in each chunk; what a model remembers of the texts is gone afterwards."""
        observed = self.layers if self.one_reading and self.attention != "none" else ()
        encodings = self.backbone.encode([chunk.text_range for chunk in chunks], observed)  # once for all occurrences
        g, local = attention_factors(self, chunks, encodings)  # Eqs. 9-10
        p = self._likelihoods(chunks, encodings, g, local)  # Eqs. 1-8
        for chunk, p_chunk, g_chunk, l_chunk in zip(chunks, p, g, local, strict=True):
            yield self._combine(chunk, self.lambda_, p_chunk, g_chunk, l_chunk)  # Eqs. 11-12

    def _combine(
        self, chunk: Chunk, lambda_: float, p: Sequence[Likelihood], g: Sequence[float], local: Sequence[float]
    ) -> Iterator[OccurrenceScore]:
        """The likelihood of each occurrence, raised by attention (Eqs. 11-12)."""
        lambda_ = weight_of(len(chunk.document.text.split()), lambda_, self.lambda_words)
        for place, (p_c, weighted), g_c, l_c in zip(chunk.places, p, g, local, strict=True):
            attention = attention_score(g_c, l_c, self.attention, self.as_clip)
            score = final_score(p_c, attention, lambda_, outside=self.lambda_outside)
            parts = {"p": p_c, "G": g_c, "L": l_c, "AS": attention, "lambda": lambda_, "m": 1}
            if self.leaders is not None:  # else every p is made by the same rule
                parts["weighted"] = int(weighted)
            yield OccurrenceScore(place.candidate, place.occurrence, score, parts, chunk.index)

    def _likelihoods(
        self, chunks: Sequence[Chunk], encodings: Sequence[Encoding], g: Factors, local: Factors
    ) -> list[list[Likelihood]]:
        """The p of every occurrence (Eq. 1), its prompt looking where it should (Eqs. 2-8)."""
        every = [range(len(chunk.places)) for chunk in chunks]
        if not self.weighting:
            return self._prompted(chunks, encodings, every, None)
        focuses = [focus(self, *pair) for pair in zip(chunks, encodings, strict=True)]
        if self.leaders is None:
            return self._prompted(chunks, encodings, every, focuses)
        p = self._prompted(chunks, encodings, every, None)
        leading = [self._leading(*row) for row in zip(chunks, p, g, local, strict=True)]
        weighted = self._prompted(chunks, encodings, leading, focuses)
        for p_chunk, indices, values in zip(p, leading, weighted, strict=True):
            for index, value in zip(indices, values, strict=True):
                p_chunk[index] = value
        return p

    def _prompted(
        self,
        chunks: Sequence[Chunk],
        encodings: Sequence[Encoding],
        chosen: Sequence[Sequence[int]],
        focuses: Sequence[Focus] | None,
    ) -> list[list[Likelihood]]:
        """The p of the chosen occurrences of each chunk; without a focus, the prompt sees the text as it is."""
        questions = []
        for row, (chunk, encoding, indices) in enumerate(zip(chunks, encodings, chosen, strict=True)):
            phrases = [chunk.places[i].span.of(chunk.document.text) for i in indices]
            questions.append(Question(encoding, phrases, focuses[row].only(indices) if focuses else None))
        answers = self.backbone.log_likelihood(questions)  # Eqs. 5-8 run inside attention
        weighted = focuses is not None
        return [
            [Likelihood(prompt_likelihood(scored, self.alpha, self.score_tokens), weighted) for scored in answer]
            for answer in answers
        ]

    def _leading(self, chunk: Chunk, p: Sequence[Likelihood], g: Sequence[float], local: Sequence[float]) -> list[int]:
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
