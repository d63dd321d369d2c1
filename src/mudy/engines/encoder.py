"""What a sentence encoder is (BERT and its kin): a model that gives a state for each token of a text.

Either engine computes the states; all that is made of them is here, in numpy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy.engines.tokens import Tokens, tokenise
from mudy.errors import UnsupportedModel
from mudy.reading.document import Span

_REACH = 600  # characters of context read on either side of a span
_SPARE = 2  # tokens kept free, since a window cut out of a text may begin with a piece more than it had there

States = NDArray[np.float32]


class SentenceEncoder(ABC):
    """An encoder and its tokeniser."""

    name: str
    tokenizer: Any
    width: int  # numbers in a vector
    positions: int  # how many tokens it reads at once, special ones too

    @abstractmethod
    def states(
        self, rows: Sequence[Sequence[int]], layer: int = -1, pool: Callable[[States], States] = lambda state: state
    ) -> list[States]:
        """What `pool` makes of the (tokens, width) states of each row of token ids, read alone; -1: the last layer."""

    # --- Tokens --------------------------------------------------------------------------------------------------

    def room(self) -> int:
        """How many tokens of text fit into one reading."""
        return max(1, self.positions - int(self.tokenizer.num_special_tokens_to_add()) - _SPARE)

    def token_ends(self, text: str) -> list[int]:
        """Where each token of a text ends, in characters: for planning windows."""
        return tokenise(self.tokenizer, text, Span(0, len(text)), special=False).ends

    def read_span(self, text: str, span: Span) -> Tokens:
        """A stretch of text as tokens, with the special ones, cut where the encoder ends."""
        tokens, longest = tokenise(self.tokenizer, text, span), self.positions
        return Tokens(tokens.ids[:longest], tokens.starts[:longest], tokens.ends[:longest], tokens.first)

    def read_alone(self, phrase: str) -> list[int]:
        """A phrase as token ids, with the special ones."""
        return self.read_span(phrase, Span(0, len(phrase))).ids

    def end_of_window(self, text: str) -> int:
        """Where reading ends in a text that is read alone, in characters: at its end, unless the window ends before."""
        tokens = tokenise(self.tokenizer, text, Span(0, len(text)))
        return len(text) if len(tokens) <= self.positions else tokens.ends[self.positions - 1]

    def mask_token(self) -> int:
        token = self.tokenizer.mask_token_id
        if token is None:
            raise UnsupportedModel(f"{self.name} has no mask token; an encoder trained with one (BERT) is needed.")
        return int(token)

    # --- Vectors -------------------------------------------------------------------------------------------------

    def embed(self, texts: Sequence[str]) -> States:
        """A vector of length 1 for each text: the mean of its last states, those of special tokens too; (texts, width).

        What does not fit into the model's window is not read.
        """
        if not texts:
            return np.empty((0, self.width), np.float32)
        return unit_length(np.stack(self.states([self.read_alone(text) for text in texts], pool=mean_state)))

    def span_states(self, text: str, spans: Sequence[Span], contexts: Sequence[Span]) -> States:
        """The mean of the last states over each span, read within its context; (spans, width)."""
        near = [
            Span(max(c.start, s.start - _REACH), min(c.end, s.end + _REACH))
            for s, c in zip(spans, contexts, strict=True)
        ]
        read = {context: self.read_span(text, context) for context in dict.fromkeys(near)}
        states = dict(zip(read, self.states([tokens.ids for tokens in read.values()]), strict=True))
        held = [(states[context], read[context].of(span)) for span, context in zip(spans, near, strict=True)]
        return np.stack([mean_state(state[tokens.start : tokens.stop]) for state, tokens in held])


def mean_state(state: States) -> States:
    return np.asarray(state.mean(0))


def unit_length(vectors: NDArray[Any]) -> NDArray[Any]:
    """Vectors divided by their lengths, along the last axis; one of zeros stays as it is."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return np.asarray(vectors / lengths.astype(vectors.dtype))
