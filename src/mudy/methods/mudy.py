"""MUDY (Kang and Yoon, SIGIR 2026): every occurrence scored in its own context, at two grains of attention.

Algorithm 1: likelihood with attention pulled towards each occurrence, raised by the attention that it receives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import log, log1p
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mudy.engines import ENCODER_DECODERS
from mudy.engines.interfaces import (
    AlignedRows,
    Encoding,
    Floats,
    Question,
    Rule,
    SentenceEncoder,
    TextRange,
    Weighting,
    unit_length,
)
from mudy.errors import SettingError
from mudy.methods.chunks import Chunk, scored_in_chunks
from mudy.methods.method import Architecture, ModelField, OccurrenceScore, ScorePart, Scores, Work, setting
from mudy.methods.promptrank import PromptMethod
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.stemming import stems_of
from mudy.reading.document import Span

Attention = Literal["GxL", "G", "L", "none"]
Factors = list[list[float]]  # for each chunk, for each of its occurrences
Flags = NDArray[np.bool_]

# -- Values by model, as measured, and by data set, as published -----------------------------------------------------

# Where attention tells most: T5 and Gemma 2 as published, the others as measured on development data.
SAM_LAYERS: Mapping[tuple[str, int], tuple[int, ...]] = {
    ("t5", 12): (9,),
    ("gemma2", 42): (23,),
    ("gemma3_text", 18): (6,),
    ("llama", 30): (22,),
}

# One setting for all documents, as measured on development data for the default models.
# In a text of one paragraph attention tells little, so lambda grows with a text up to 400 words.
# Both do without the mixture and without L, which cost F1 on most sets (experiments/README.md). Gemma 3 did better with
# the fifteen of its eighteen layers left alone that see only the last 512 tokens; why is not known.
RECOMMENDED: Mapping[tuple[str, int], Mapping[str, Any]] = {
    ("gemma3_text", 18): {"mixture": False, "attention": "G", "weight_sliding": False, "lambda_words": 400},
    ("llama", 30): {
        "mixture": False,
        "attention": "G",
        "lambda_": 2.0,
        "lambda_words": 400,
        "section_tokens": 1024,  # all of its layers see a whole section: longer ones take more time and memory
    },
}

# The published settings, tuned per data set by the authors: for comparison, not for use. "mgrank" is the authors'
# earlier code (HgKang1/MGRank) where a field can follow it; it also counts padding rows as aligned and scores the last
# sentences of a text in windows of their own, which we do not.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "mgrank": {"lambda_outside": True, "aligned_rows": "tail"},
    "t5-duc2001": {"kappa": 0.1, "lambda_": 0.9},
    "t5-wikihow": {"kappa": 0.8, "lambda_": 1.0},
    "t5-nus": {"kappa": 1.0, "lambda_": 0.1},
    "t5-semeval2017": {"kappa": 0.1, "lambda_": 0.1},
    "gemma2-duc2001": {"kappa": 0.4, "lambda_": 0.7},
    "gemma2-wikihow": {"kappa": 0.1, "lambda_": 1.0},
    "gemma2-nus": {"kappa": 0.8, "lambda_": 0.7},
    "gemma2-semeval2017": {"kappa": 0.1, "lambda_": 0.1},
}


class Likelihood(NamedTuple):
    """The p of one occurrence, and whether its prompt looked at its place in particular."""

    p: float
    weighted: bool


@dataclass(frozen=True)
class Mudy(PromptMethod):
    """Multi-granular dynamic candidate contextualization, Algorithm 1.

    Its settings are the hyper-parameters of the paper and of its authors' code, and ours.
    """

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

    encoder: SentenceEncoder | None = None  # whose embeddings say which candidates are related; T5 uses its own encoder
    _: KW_ONLY

    # Candidate-aware weighting (Sec. 4.2)
    weighting: bool = setting(True, "Pull attention towards each occurrence; false: read the text as it is (Table 3).")
    sigma: float = setting(0.3, "Initial spread of the view around an occurrence, in units (Eq. 2).", above=0)
    kappa: float = setting(0.1, "Spread added per layer: how quickly the view around a phrase widens (Eq. 2).", least=0)
    unit: float = setting(50.0, "Tokens in a unit of spread.", above=0)
    sigma_cap: float | None = setting(8.0, "Largest spread, in units, as in the authors' decoder-only code; none: any.")
    mixture: bool = setting(True, "Also look where the most similar candidates stand (Eqs. 3-4).")
    pi: float = setting(0.7, "Share of the occurrence itself in the mixture (Eq. 3).", least=0)
    pi_related: float = setting(0.1, "Share of each similar candidate in the mixture (Eq. 3).", least=0)
    sigma_related: tuple[float, ...] = setting(
        (0.15, 0.10, 0.05), "Spreads around similar candidates, most similar first; their number is k_sem.", above=0
    )
    mixture_floor: float = setting(0.3, "Weights below this share of the largest become 0; 0: keep all.", least=0)
    least_weight: float = setting(0.0, "Weights are mapped from 0..1 to least_weight..1 (ours).", least=0, most=1)
    k_attn: int = setting(15, "Best-aligned tokens that each head keeps (Eq. 7); 0 for none.", least=0)
    aligned_rows: AlignedRows = setting("candidate", "Rows that count in Eq. 5: candidate, or tail (also those after).")
    rule: Rule | None = setting(None, "How weights act: logit (Eq. 8) or post_softmax; none: that of the model.")
    weighted_layers: tuple[float, float] = setting((0.0, 1.0), "Share of the layers from and up to which weights act.")
    weight_sliding: bool = setting(True, "Gemma 2 and 3: weights also act in sliding-window layers.")
    keep_sink: bool = setting(True, "Decoder-only: the first token, an attention sink, keeps full weight.")
    ignore_blank_piece: bool = setting(True, "T5: lone word-boundary tokens are never aligned, nor in a mixture.")

    # Multi-granular attention (Sec. 4.3)
    attention: Attention = setting("GxL", "Which attention raises a score: GxL, G, L, or none (Table 3).")
    sam_layers: tuple[int, ...] | None = setting(None, "Layers whose attention is averaged; none: the best.")
    w: int = setting(1, "Sentences on each side of an occurrence in its local window.", least=1)
    normalise_global: bool | None = setting(None, "Divide G by its mean; none: in decoder-only models.")
    normalise_local: bool = setting(True, "Divide L by its mean over a window, so that windows can be compared.")
    as_clip: float | None = setting(2.5, "Largest attention score AS; none for no limit.")

    # How attention raises the likelihood (Eq. 12)
    lambda_: float = setting(1.0, "Weight of attention against likelihood (Eq. 12).", least=0)
    lambda_words: int = setting(0, "In texts of fewer words lambda shrinks with their length squared (ours).", least=0)
    lambda_outside: bool = setting(False, "lambda log(1 + AS), as in earlier code, in place of log(1 + lambda AS).")

    # Less work for nearly the same scores
    leaders: int | None = setting(None, "Weight only so many phrases that lead a section (ours); none: all.", least=1)
    one_reading: bool = setting(False, "Observe G in the same pass as the prompts, after 'Text:' (ours).")

    # Long documents
    recurrence: float = setting(0.5, "How much it counts that a phrase comes back in other sections (ours).", least=0)

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
        g, local = self._attention(chunks, encodings)  # Eqs. 9-10
        p = self._likelihoods(chunks, encodings, g, local)  # Eqs. 1-8
        for chunk, p_chunk, g_chunk, l_chunk in zip(chunks, p, g, local, strict=True):
            yield self._combine(chunk, self.lambda_, p_chunk, g_chunk, l_chunk)  # Eqs. 11-12

    # -- Attention that occurrences receive (Sec. 4.3) ----------------------------------------------------------------

    def _attention(self, chunks: Sequence[Chunk], encodings: Sequence[Encoding]) -> tuple[Factors, Factors]:
        """G and L of every occurrence (Eqs. 9-10).

        A factor that is not asked for is 1. A text of fewer sentences than a window is its own window.
        """
        ones = [[1.0] * len(chunk.places) for chunk in chunks]
        g = ones if self.attention in ("none", "L") else self._globally(chunks, encodings)
        local = ones if self.attention in ("none", "G") else self._locally(chunks)
        for index, chunk in enumerate(chunks):
            if self.attention in ("GxL", "L") and not self._has_windows(chunk):
                whole = g[index] if self.attention == "GxL" else self._globally([chunk], [encodings[index]])[0]
                g[index] = local[index] = normalised(whole)
        return g, local

    def _globally(self, chunks: Sequence[Chunk], encodings: Sequence[Encoding]) -> Factors:
        """Attention within the whole chunk (Eq. 9)."""
        received = [encoding.received for encoding in encodings if encoding.received]
        if not received:
            received = self.backbone.received_attention([chunk.text_range for chunk in chunks], self.layers)
        g = [[at.at(place.span) for place in chunk.places] for chunk, at in zip(chunks, received, strict=True)]
        divided = self.backbone.small_sums if self.normalise_global is None else self.normalise_global
        return [normalised(values) for values in g] if divided else g

    def _locally(self, chunks: Sequence[Chunk]) -> Factors:
        """Attention within the window around each occurrence's sentence, divided by the window's mean (Eq. 10)."""
        windows: dict[tuple[int, Span], list[int]] = defaultdict(list)
        for row, chunk in enumerate(chunks):
            for index, place in enumerate(chunk.places if self._has_windows(chunk) else ()):
                windows[row, chunk.sentences_around(place.span, self.w)].append(index)
        ranges = [TextRange(chunks[row].document.text, window) for row, window in windows]
        every = self.backbone.received_attention(ranges, self.layers)
        scores = [[0.0] * len(chunk.places) for chunk in chunks]
        for ((row, _), inside), received in zip(windows.items(), every, strict=True):
            values = [received.at(chunks[row].places[index].span) for index in inside]
            values = normalised(values) if self.normalise_local else values
            for index, value in zip(inside, values, strict=True):
                scores[row][index] = value
        return scores

    def _has_windows(self, chunk: Chunk) -> bool:
        return len(chunk.units) > 2 * self.w

    # -- Likelihood (Sec. 4.2) ----------------------------------------------------------------------------------------

    def _likelihoods(
        self, chunks: Sequence[Chunk], encodings: Sequence[Encoding], g: Factors, local: Factors
    ) -> list[list[Likelihood]]:
        """The p of every occurrence (Eq. 1), its prompt looking where it should (Eqs. 2-8)."""
        every, unweighted = [range(len(chunk.places)) for chunk in chunks], [None] * len(chunks)
        if not self.weighting:
            return self._prompted(chunks, encodings, every, unweighted)
        focuses = [focus(self, *pair) for pair in zip(chunks, encodings, strict=True)]
        if self.leaders is None:
            return self._prompted(chunks, encodings, every, focuses)
        p = self._prompted(chunks, encodings, every, unweighted)
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
        focuses: Sequence[Focus | None],
    ) -> list[list[Likelihood]]:
        """The p of the chosen occurrences of each chunk; without a focus, the prompt sees the text as it is."""
        questions = []
        for chunk, encoding, indices, view in zip(chunks, encodings, chosen, focuses, strict=True):
            phrases = [chunk.places[i].span.of(chunk.document.text) for i in indices]
            questions.append(Question(encoding, phrases, view.only(indices) if view else None))
        answers = zip(self.likelihoods(questions), focuses, strict=True)
        return [[Likelihood(p, view is not None) for p in answer] for answer, view in answers]

    def _leading(self, chunk: Chunk, p: Sequence[Likelihood], g: Sequence[float], local: Sequence[float]) -> list[int]:
        """Occurrences of the phrases that lead a chunk, by the recommended lambda: p depends on no other."""
        shape = Architecture(self.backbone.family, self.backbone.depth)
        lambda_ = self.recommended(lambda: shape).get("lambda_", type(self).lambda_)
        best: dict[int, float] = {}
        for score in self._combine(chunk, lambda_, p, g, local):
            best[score.candidate] = max(score.score, best.get(score.candidate, score.score))
        leaders = set(sorted(best, key=lambda candidate: -best[candidate])[: self.leaders])
        return [index for index, place in enumerate(chunk.places) if place.candidate in leaders]

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


def normalised(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value / mean if mean > 0 else 1.0 for value in values]


# -- The score: a likelihood, raised by attention and by recurrence (Eqs. 11-12) --------------------------------------


def attention_score(g: float, local: float, attention: Attention, clip: float | None) -> float:
    """AS = G L (Eq. 11), or one of its factors, and no more than `clip`."""
    score = {"GxL": g * local, "G": g, "L": local, "none": 0.0}[attention]
    return score if clip is None else min(score, clip)


def weight_of(words: int, lambda_: float, lambda_words: int) -> float:
    """The weight of attention in a text: lambda (words / lambda_words)^2, and no more than lambda. Ours."""
    return lambda_ * min(1.0, words / lambda_words) ** 2 if lambda_words else lambda_


def final_score(p: float, attention: float, lambda_: float, *, outside: bool = False) -> float:
    """FS = p / (1 + log(1 + lambda AS)), Eq. 12; `outside`: 1 + lambda log(1 + AS)."""
    return p / (1 + (lambda_ * log1p(attention) if outside else log1p(lambda_ * attention)))


def recurring(
    candidates: Sequence[Candidate], scores: Sequence[OccurrenceScore], recurrence: float, language: str
) -> Iterator[OccurrenceScore]:
    """Raise phrases that come back: FS / (1 + rho log m), m the chunks with their stems. Ours; of one, it is FS."""
    keys = [stems_of(candidate.phrase, language) for candidate in candidates]
    chunks: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for score in scores:
        chunks[keys[score.candidate]].add(score.section)
    for score in scores:
        m = len(chunks[keys[score.candidate]])
        yield replace(score, score=score.score / (1 + recurrence * log(m)), parts={**score.parts, "m": m})


# -- Where a prompt should look: around its occurrence, mixed with the places of related ones (Eqs. 2-4) --------------


@dataclass(frozen=True, kw_only=True)
class Focus(Weighting):
    """How strongly the prompt of each occurrence should look at each token of the document (Eqs. 2-4)."""

    settings: Mudy
    depth: int  # layers of the decoder
    centre: Floats  # (occurrences,): the middle token of each
    inside: Flags  # (occurrences, tokens): which tokens are the occurrence itself
    related: Floats  # (occurrences, k_sem): middle tokens of the most similar occurrences, nan where there are fewer
    sink: Flags  # (tokens,): tokens that always keep full weight

    def only(self, prompts: Sequence[int]) -> Focus:
        """The same for some of the occurrences."""
        chosen = list(prompts)
        return replace(self, centre=self.centre[chosen], inside=self.inside[chosen], related=self.related[chosen])

    def touches(self, layer: int) -> bool:
        low, high = self.settings.weighted_layers
        return low * self.depth <= layer < high * self.depth

    def weights(self, layer: int, prompts: Sequence[int]) -> Floats:
        settings, chosen = self.settings, list(prompts)
        # 1 on all tokens of the occurrence, and less around it (Eq. 2); (prompts, tokens)
        own = np.where(self.inside[chosen], np.float32(1), self._gaussian(self.centre[chosen], self.spread(layer)))
        weights = own if not settings.mixture else self._mixture(own, chosen)
        weights = settings.least_weight + (1 - settings.least_weight) * weights
        return np.where(self.sink, np.float32(1), weights)

    def spread(self, layer: int) -> float:
        """sigma_l = sigma_0 + kappa l: narrow in the lowest layer, wider in each one above it."""
        spread, cap = self.settings.sigma + self.settings.kappa * layer, self.settings.sigma_cap
        return spread if cap is None else min(spread, cap)

    def _gaussian(self, centres: Floats, sigma: float) -> Floats:
        """exp(-d^2 / 2 sigma^2), d the distance of each token in units: 1 at the place itself; (prompts, tokens)."""
        tokens = np.arange(self.inside.shape[1], dtype=np.float32)
        distance = (tokens - centres[:, None]) / self.settings.unit
        return np.asarray(np.exp(-(distance**2) / (2 * sigma**2)))

    def _mixture(self, own: Floats, prompts: list[int]) -> Floats:
        """Add the places of related candidates; divide by the largest weight, and drop what is small (Eqs. 3-4)."""
        settings = self.settings
        total = settings.pi * own
        for rank, sigma in enumerate(settings.sigma_related):
            total = total + settings.pi_related * np.nan_to_num(self._gaussian(self.related[prompts, rank], sigma))
        total = total / total.max(1, keepdims=True)
        total = np.where(total < settings.mixture_floor, np.float32(0), total)
        return np.where(self.eligible, total, own)


def focus(mudy: Mudy, chunk: Chunk, encoding: Encoding) -> Focus:
    """Where the prompt of each of a chunk's occurrences should look."""
    tokens, backbone = encoding.tokens, mudy.backbone
    spans = [tokens.of(place.span) for place in chunk.places]
    inside = np.zeros((len(spans), len(tokens)), bool)
    for row, span in zip(inside, spans, strict=True):
        row[span.start : span.stop] = True
    related = np.full((len(spans), len(mudy.sigma_related)), np.nan, np.float32)
    if mudy.mixture:
        vectors = span_vectors(mudy, chunk, encoding)
        for row, others in zip(related, most_similar(vectors, chunk, len(mudy.sigma_related)), strict=True):
            row[: len(others)] = [(spans[i][0] + spans[i][-1]) // 2 for i in others]
    eligible, sink = np.ones(len(tokens), bool), np.zeros(len(tokens), bool)
    if mudy.ignore_blank_piece:
        eligible[backbone.blank_pieces(tokens)] = False
    if mudy.keep_sink and backbone.sink_token is not None:
        sink[backbone.sink_token] = True
    return Focus(
        settings=mudy,
        rule=mudy.rule or backbone.default_rule,
        k=mudy.k_attn,
        sliding=mudy.weight_sliding,
        aligned_rows=mudy.aligned_rows,
        depth=backbone.prompt_depth,
        centre=np.array([round((s[0] + s[-1]) / 2) for s in spans], np.float32),
        inside=inside,
        related=related,
        eligible=eligible,
        sink=sink,
    )


def span_vectors(mudy: Mudy, chunk: Chunk, encoding: Encoding) -> Floats:
    """A vector for each occurrence: of the language model's own encoder, or else of the sentence encoder."""
    spans = [place.span for place in chunk.places]
    if (states := mudy.backbone.span_states(encoding, spans)) is not None:
        return states
    if mudy.encoder is None:
        raise SettingError(
            f"The mixture needs embeddings, but {mudy.backbone.name} has no encoder: pass encoder or mixture=False."
        )
    return mudy.encoder.span_states(chunk.document.text, spans, [chunk.sentences_around(s, 0) for s in spans])


def most_similar(vectors: Floats, chunk: Chunk, k_sem: int) -> list[tuple[int, ...]]:
    """The k_sem most similar occurrences to each one, as indices, of candidates that share no stem with it."""
    vectors = unit_length(vectors)
    phrases = [chunk.candidates[place.candidate].phrase for place in chunk.places]
    stems = [set(stems_of(phrase, chunk.document.language)) for phrase in phrases]
    others = np.array([[one.isdisjoint(other) for other in stems] for one in stems])  # (occurrences, occurrences)
    similarity = np.where(others, vectors @ vectors.T, -np.inf)
    best = np.argsort(-similarity, axis=1, kind="stable")[:, :k_sem]  # of equals, the earlier one
    return [tuple(i for i in row if others[own, i]) for own, row in enumerate(best.tolist())]
