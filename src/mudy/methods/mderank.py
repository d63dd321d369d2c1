"""MDERank (Zhang et al., Findings of ACL 2022): a keyphrase is what a document is not itself without."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mudy.engines.interfaces import Floats, SentenceEncoder, unit_length
from mudy.engines.tokens import Tokens
from mudy.methods.chunks import EncoderChunk, encoder_chunks, everywhere, scored_alike
from mudy.methods.method import Method, ScorePart, Scores, setting
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document, Span


@dataclass(frozen=True)
class MDERank(Method):
    """How far the document's vector moves when every occurrence of a candidate is masked.

    A document's vector is the largest value of each dimension over all tokens of a layer, special ones too. Of a
    document longer than the encoder's window, only windows that hold the candidate are read again. The paper ranks by
    the cosine, lowest first; the score is 1 - cosine, which keeps its digits where cosines are near 1. A candidate of
    which the tokeniser leaves nothing to mask scores 0, the least there is.
    """

    title = "MDERank"
    citation = "Zhang et al., Findings of ACL 2022"
    needs = ("encoder",)
    parts = (ScorePart("cosine", "likeness of the text without the phrase to the whole text", "cos"),)

    encoder: SentenceEncoder
    layer: int = setting(-1, "Layer that is compared: -1 the last, as published, or -2.", least=-2, most=-1)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> Scores:
        chunks = encoder_chunks(document, self.encoder)
        original = np.stack(self._maxima([window.tokens.ids for window in chunks]))  # (windows, width)
        complete = everywhere(document, candidates)
        masked = [(index, *parts) for index, c in enumerate(complete) for parts in self._masked(chunks, c)]
        maxima = self._maxima([ids for _, _, ids in masked])
        changed: list[dict[int, Floats]] = [{} for _ in candidates]
        for (index, window, _), vector in zip(masked, maxima, strict=True):
            changed[index][window] = vector
        scores = [distance(original, vectors) for vectors in changed]
        parts = [{"cosine": 1 - score} for score in scores]
        return scored_alike(candidates, scores, parts, chunks)

    def _masked(self, chunks: Sequence[EncoderChunk], candidate: Candidate) -> Iterator[tuple[int, list[int]]]:
        """Each window that holds a candidate, by index, and its tokens with the candidate masked."""
        mask = self.encoder.mask_token()
        spans = [occurrence.span for occurrence in candidate.occurrences]
        for index, window in enumerate(chunks):
            inside = {i for span in spans for i in held(window.tokens, span)}
            if inside:
                yield index, [mask if i in inside else token for i, token in enumerate(window.tokens.ids)]

    def _maxima(self, rows: Sequence[Sequence[int]]) -> list[Floats]:
        return self.encoder.states(rows, self.layer, lambda state: state.max(0))


def held(tokens: Tokens, span: Span) -> list[int]:
    """The tokens that stand for some character of a span; none if the tokeniser left it out, or it lies elsewhere."""
    return [i for i in tokens.of(span) if max(tokens.starts[i], span.start) < min(tokens.ends[i], span.end)]


def distance(original: Floats, changed: Mapping[int, Floats]) -> float:
    """1 - the cosine of the document's vector before and after some windows change; 0 if none does."""
    if not changed:
        return 0.0
    after = original.copy()
    for index, vector in changed.items():
        after[index] = vector
    first, second = (unit_length(v.max(0).astype(np.float64)) for v in (original, after))
    return float(np.square(first - second).sum() / 2)  # |a - b|^2 = 2 - 2 cos, without cancellation
