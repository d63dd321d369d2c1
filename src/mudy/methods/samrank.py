"""SAMRank (Kang and Shin, EMNLP 2023): phrases whose tokens are looked at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mudy.candidates import Candidate
from mudy.engines.backbone import Backbone, Floats, TextRange
from mudy.engines.observers import HeadObserver
from mudy.engines.tokens import Tokens
from mudy.methods.method import Method, ScorePart, Scores, require, setting
from mudy.methods.token_scores import ChunkedDocument, CountedChunk, without_sink
from mudy.reading.document import Document

_Observed = tuple[CountedChunk, Tokens, dict[str, Floats]]  # scores of a chunk's tokens, by part


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
    segment_tokens: int = setting(1024, "Longer documents are read in segments of so many tokens.")

    def __post_init__(self) -> None:
        require(
            "head", self.head, (self.head is None) == (self.layer is None), "given together with layer, or not at all"
        )
        if self.layer is not None:
            depth, heads = self.backbone.depth, self.backbone.heads
            require("layer", self.layer, 0 <= self.layer < depth, f"between 0 and {depth - 1}")
            require("head", self.head, self.head is not None and 0 <= self.head < heads, f"between 0 and {heads - 1}")
        require("segment_tokens", self.segment_tokens, self.segment_tokens >= 64, "64 or more")

    def score(self, document: Document, candidates: Sequence[Candidate]) -> Scores:
        if not candidates:
            return Scores()
        read = ChunkedDocument.of(document, candidates, self.backbone, self.segment_tokens)
        observed = self._mean(document, read) if self.head is None else self._head(document, read)
        names = ("G",) if self.head is None else ("G", "P")
        parts = [dict.fromkeys(names, 0.0) for _ in candidates]
        for chunk, tokens, scores in observed:
            for name, values in scores.items():
                for index, score in read.phrases(chunk, tokens, values).items():
                    parts[index][name] += score
        return read.scored([sum(part.values()) for part in parts], parts)

    def _mean(self, document: Document, read: ChunkedDocument) -> Iterator[_Observed]:
        """The column sums of the mean map of all layers and heads."""
        ranges = [TextRange(document.text, chunk.span) for chunk in read.chunks]
        every = self.backbone.received_attention(ranges, range(self.backbone.depth))
        for chunk, received in zip(read.chunks, every, strict=True):
            yield chunk, received.tokens, {"G": without_sink(received.sums, self.backbone.sink_token)}

    def _head(self, document: Document, read: ChunkedDocument) -> Iterator[_Observed]:
        """What each token receives from one head, and its share in what the others receive."""
        assert self.layer is not None
        assert self.head is not None
        for chunk in read.each():
            tokens = self.backbone.window(document.text, chunk.span)
            observer = HeadObserver(layers=frozenset([self.layer]), head=self.head, without=self.backbone.sink_token)
            self.backbone.observe(tokens, observer)
            yield chunk, tokens, {"G": observer.sums[self.layer], "P": observer.shares[self.layer]}
