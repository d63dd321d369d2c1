"""SAMRank (Kang and Shin, EMNLP 2023): phrases whose tokens are looked at most.

And Attention-Seeker (López Z. et al., COLING 2025): attention, weighted by how much each head looks at candidates.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal, Self

import numpy as np

from mudy._support.callbacks import reported
from mudy.engines.interfaces import Backbone, Floats, MapObserver, Maps
from mudy.engines.tokens import Tokens
from mudy.methods.chunks import Chunk, IndexedOccurrence, chunks, everywhere
from mudy.methods.method import Method, ScorePart, Scores, require, same_at_each, setting
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document, Span


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """A document, cut into chunks, and the candidates to be scored."""

    candidates: Sequence[Candidate]
    chunks: Sequence[Chunk]  # with candidates wherever their words occur, and of their occurrences those that count
    homes: Mapping[IndexedOccurrence, int]  # which chunk answers for each occurrence

    @classmethod
    def of(cls, document: Document, candidates: Sequence[Candidate], backbone: Backbone, limit: int) -> Self:
        """Candidates count wherever their words occur, as in the papers, but single words not within longer ones."""
        complete = everywhere(document, candidates)
        cut = list(chunks(document, complete, backbone.token_ends(document.text), min(limit, backbone.room())))
        left_out = nested(complete)
        counted = [replace(c, places=tuple(place for place in c.places if place not in left_out)) for c in cut]
        return cls(candidates, counted, {place: chunk.index for chunk in cut for place in chunk.places})

    def windows(self, backbone: Backbone) -> Iterator[tuple[Chunk, Tokens]]:
        """The chunks one after the other, with their tokens; progress is the share of them."""
        for chunk in reported(self.chunks, lambda _: 1, len(self.chunks)):
            yield chunk, backbone.window(*chunk.text_range)

    def scored(self, scores: Sequence[float], parts: Sequence[Mapping[str, float]]) -> Scores:
        homes = self.homes
        same = same_at_each(self.candidates, scores, parts, lambda index, place: homes[IndexedOccurrence(index, place)])
        return Scores(same, language_model=[chunk.span for chunk in self.chunks])

    def phrases(self, chunk: Chunk, tokens: Tokens, scores: Floats) -> dict[int, float]:
        """The score of each candidate in a chunk: the sum over its occurrences; the mean for those of one word."""
        sums: dict[int, list[float]] = defaultdict(list)
        for place in chunk.places:
            held = tokens.of(place.span)
            sums[place.candidate].append(float(scores[held.start : held.stop].sum()))
        single = {index for index in sums if is_single(self.candidates[index])}
        return {index: sum(values) / (len(values) if index in single else 1) for index, values in sums.items()}


def is_single(candidate: Candidate) -> bool:
    return len(candidate.phrase.split()) == 1


def nested(candidates: Sequence[Candidate]) -> set[IndexedOccurrence]:
    """Occurrences of single words that lie within one of a candidate of several words."""
    spans = sorted(o.span for c in candidates if not is_single(c) for o in c.occurrences)
    starts = [span.start for span in spans]
    reach = [0, *accumulate((span.end for span in spans), max)]  # the farthest end of the first so many
    return {
        IndexedOccurrence(index, occurrence)
        for index, candidate in enumerate(candidates)
        if is_single(candidate)
        for occurrence in candidate.occurrences
        if reach[bisect_right(starts, occurrence.span.start)] >= occurrence.span.end
    }


def candidate_mask(chunk: Chunk, tokens: Tokens, sink: int | None) -> Floats:
    """1 for tokens of candidates, also where another chunk answers for them; the attention sink is none; (tokens,)."""
    mask = np.zeros(len(tokens), np.float32)
    for span in (occurrence.span for candidate in chunk.candidates for occurrence in candidate.occurrences):
        inside = Span(max(span.start, chunk.span.start), min(span.end, chunk.span.end))
        if inside.start < inside.end:
            held = tokens.of(inside)
            mask[held.start : held.stop] = 1
    return without_sink(mask, sink)


def without_sink(scores: Floats, sink: int | None) -> Floats:
    """Scores with 0 for the token that takes the attention which is not needed elsewhere, if there is one."""
    scores = scores.copy()
    if sink is not None:
        scores[sink] = 0
    return scores


@dataclass(frozen=True)
class SAMRank(Method):
    """The attention that a phrase's tokens receive, summed over its occurrences (its mean for phrases of one word).

    Without a head, as MUDY's authors ran it on Llama 3: the mean over all layers and heads of what each token receives
    (G). With a layer and a head, as in the paper: what that head gives it, and its share in what the others receive
    (G + P); the paper reports the best head of each data set, chosen on gold keyphrases. A decoder's first token counts
    for nothing. Long documents are read in sections, and a phrase's scores are summed over them.

    Candidates are the shared ones; the paper's have at most five words, and none that begins with a stop word.
    """

    title = "SAMRank"
    citation = "Kang and Shin, EMNLP 2023"
    needs = ("backbone",)
    parts = (ScorePart("G", "attention received"), ScorePart("P", "share of attention"))

    backbone: Backbone
    layer: int | None = setting(None, "Layer of the one head that counts, from 0; none: all layers.")
    head: int | None = setting(None, "Head that counts, from 0, given together with layer; none: all heads.")
    segment_tokens: int = setting(1024, "Longer documents are read in segments of so many tokens.", least=64)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.layer, self.head) != (None, None):
            for name, size in (("layer", self.backbone.depth), ("head", self.backbone.heads)):
                value = getattr(self, name)
                require(name, value, value in range(size), f"between 0 and {size - 1}: layer and head go together")

    def score(self, document: Document, candidates: Sequence[Candidate]) -> Scores:
        read = ChunkedDocument.of(document, candidates, self.backbone, self.segment_tokens)
        parts = [dict.fromkeys(("G",) if self.head is None else ("G", "P"), 0.0) for _ in candidates]
        for chunk, tokens, scores in self._observed(read):
            for name, values in scores.items():
                for index, score in read.phrases(chunk, tokens, values).items():
                    parts[index][name] += score
        return read.scored([sum(part.values()) for part in parts], parts)

    def _observed(self, read: ChunkedDocument) -> Iterator[tuple[Chunk, Tokens, dict[str, Floats]]]:
        """The scores of each chunk's tokens: column sums of the mean of all maps, or both parts of one head."""
        sink = self.backbone.sink_token
        if self.layer is None or self.head is None:
            ranges = [chunk.text_range for chunk in read.chunks]
            every = self.backbone.received_attention(ranges, range(self.backbone.depth))
            for chunk, received in zip(read.chunks, every, strict=True):
                yield chunk, received.tokens, {"G": without_sink(received.sums, sink)}
            return
        for chunk, tokens in read.windows(self.backbone):
            observer = HeadObserver(layers=frozenset([self.layer]), head=self.head, without=sink)
            self.backbone.observe(tokens, observer)
            yield chunk, tokens, {"G": observer.sums[self.layer], "P": observer.shares[self.layer]}


@dataclass(frozen=True, kw_only=True)
class HeadObserver(MapObserver):
    """One head: what each token receives (G, in `sums`), and its share of what others receive (P, in `shares`)."""

    head: int
    without: int | None  # a token whose G is set to 0 before it is shared out
    shares: dict[int, Floats] = field(default_factory=dict)

    def see(self, layer: int, maps: Maps) -> None:
        columns = np.sum([part[0].sum(0) for _, part in maps(self.head)], axis=0)
        received = without_sink(columns, self.without)  # (tokens,)
        weights = received / (received * columns + 1e-10)  # B_ij = A_ij G_j over its column's sum, but for A_ij
        self.shares[layer] = np.concatenate([part[0] @ weights for _, part in maps(self.head)])
        self.sums[layer] = received


DocumentForm = Literal["auto", "short", "long"]

_ChunkScores = tuple[Chunk, float, dict[int, float]]  # its weight, and the scores of its phrases


@dataclass(frozen=True)
class AttentionSeeker(Method):
    """The attention that a phrase's tokens receive from rows and heads that look at candidates, over all layers.

    The paper has a form for short documents and one for long ones, which needs an abstract: the first segment stands
    for it here, since a document does not say what its abstract is. The long form weighs each segment by how much it
    looks at the candidates of the first. If the short form is asked for and the text is longer than a segment, its
    scores are summed over segments. Phrases are scored from their tokens as by SAMRank.
    """

    title = "Attention-Seeker"
    citation = "López Z. et al., COLING 2025"
    needs = ("backbone",)
    parts = (ScorePart("b", "attention received"), ScorePart("n", "times counted"))

    backbone: Backbone
    form: DocumentForm = setting("auto", "Of the paper: short or long documents; auto: short for one segment.")
    segment_tokens: int = setting(1024, "Longer documents are read in segments of so many tokens.", least=64)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> Scores:
        read = ChunkedDocument.of(document, candidates, self.backbone, self.segment_tokens)
        short = self.form == "short" or (self.form == "auto" and len(read.chunks) == 1)
        totals = [0.0] * len(candidates)
        parts: list[dict[str, float]] = [{"b": 0.0, "n": 0.0} for _ in candidates]
        for chunk, weight, phrases in self._short(read) if short else self._long(read):
            counts = Counter(place.candidate for place in chunk.places)
            for index, score in phrases.items():
                totals[index] += weight * score
                parts[index]["b"] += score
                parts[index]["n"] += counts[index]
        return read.scored(totals, parts)

    def _short(self, read: ChunkedDocument) -> Iterator[_ChunkScores]:
        """Two passes: candidates are weighed equally in the first, and by what they received there in the second."""
        for chunk, tokens in read.windows(self.backbone):
            mask = candidate_mask(chunk, tokens, self.backbone.sink_token)
            first = self._sought(tokens, mask, mask)
            yield chunk, 1.0, read.phrases(chunk, tokens, self._sought(tokens, mask, first * mask))

    def _sought(self, tokens: Tokens, mask: Floats, relevance: Floats) -> Floats:
        """B, the sum over layers and heads of R (s^T A), with s = A m in the rows of candidates and R = mean(s)."""
        observer = SeekingObserver(layers=frozenset(range(self.backbone.depth)), chosen=mask, relevance=relevance)
        self.backbone.observe(tokens, observer)
        return without_sink(np.sum(list(observer.sums.values()), axis=0), self.backbone.sink_token)

    def _long(self, read: ChunkedDocument) -> Iterator[_ChunkScores]:
        """Each chunk's weight T and phrase scores."""
        abstract: dict[int, float] | None = None
        for chunk, tokens in read.windows(self.backbone):
            mask = candidate_mask(chunk, tokens, self.backbone.sink_token)
            b = self._relevant(tokens, mask)
            phrases = read.phrases(chunk, tokens, b)
            if abstract is None:
                abstract, weight = phrases, float((np.square(b) * mask).sum())
            else:
                weight = float(b @ likeness(abstract, chunk, tokens))
            yield chunk, weight, phrases

    def _relevant(self, tokens: Tokens, mask: Floats) -> Floats:
        """b, the column sums of the sum over layers and heads of R A / mean(R), with R = mean(A m)."""
        observer = RelevanceObserver(layers=frozenset(range(self.backbone.depth)), chosen=mask)
        self.backbone.observe(tokens, observer)
        mean = sum(observer.means.values()) / len(observer.means)
        total = np.sum(list(observer.sums.values()), axis=0)
        return without_sink(total / np.float32(mean) if mean > 0 else total, self.backbone.sink_token)


def likeness(abstract: Mapping[int, float], chunk: Chunk, tokens: Tokens) -> Floats:
    """H: for each token, the sum over its candidates of their score in the abstract / their places here; (tokens,)."""
    counts = Counter(place.candidate for place in chunk.places)
    h = np.zeros(len(tokens), np.float32)
    for place in chunk.places:
        if place.candidate in abstract:
            held = tokens.of(place.span)
            h[held.start : held.stop] += abstract[place.candidate] / counts[place.candidate]
    return h


@dataclass(frozen=True, kw_only=True)
class SeekingObserver(MapObserver):
    """Sums R (s^T A) over heads, s the relevance of candidate rows and R its mean (Attention-Seeker, short)."""

    chosen: Floats  # (tokens,): 1 for tokens of candidates; other rows do not count
    relevance: Floats  # (tokens,): how much it counts to look at each token

    def see(self, layer: int, maps: Maps) -> None:
        total: Floats = np.zeros((1, len(self.chosen)), np.float32)
        mean: Floats = np.zeros(1, np.float32)
        for rows, part in maps():
            s: Floats = (part @ self.relevance) * self.chosen[rows]  # (heads, rows)
            mean = mean + s.sum(1)  # (heads,)
            total = total + (s[:, None] @ part)[:, 0]  # (heads, tokens)
        self.sums[layer] = mean @ total / np.float32(len(self.chosen))


@dataclass(frozen=True, kw_only=True)
class RelevanceObserver(MapObserver):
    """Sums R A over heads and rows, R the mean attention to candidates (Attention-Seeker, long)."""

    chosen: Floats  # (tokens,): 1 for tokens of candidates
    means: dict[int, float] = field(default_factory=dict)  # layer -> mean of R over heads

    def see(self, layer: int, maps: Maps) -> None:
        columns = np.sum([part.sum(1) for _, part in maps()], axis=0)  # (heads, tokens)
        relevance = columns @ self.chosen / np.float32(len(self.chosen))  # (heads,)
        self.means[layer] = float(relevance.mean())
        self.sums[layer] = relevance @ columns
