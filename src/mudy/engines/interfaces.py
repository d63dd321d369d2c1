"""What methods ask of models, which each engine implements: a backbone and a sentence encoder.

A backbone is a language model that answers three questions about a text, whatever its architecture. `encode` reads
ranges of text once; `received_attention` says how much each token is looked at; `log_likelihood` says how well each
prompt follows, with an optional edit of its attention. All three take many texts at once, so that short ones share the
cost of a pass. Methods that ask more of attention than its sums show a text to an observer of their own with `observe`.
Only this room knows what a cache is.

An encoder (BERT and its kin) gives a state for each token of a text; all that is made of the states is here.

Tensors stay within an engine: what goes in and comes out is numpy's.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mudy.engines.tokens import Tokens, tokenise
from mudy.errors import UnsupportedModel
from mudy.reading.document import Span

Floats = NDArray[np.float32]
Rule = Literal["logit", "post_softmax"]  # how a weighting changes attention
AlignedRows = Literal["candidate", "tail"]  # which rows of a prompt say what is well-aligned with it


@dataclass(frozen=True, slots=True)
class Received:
    """How much attention each token of a range of text receives."""

    tokens: Tokens
    sums: Floats  # (tokens,)

    def at(self, span: Span) -> float:
        """The mean over a span's tokens (Eq. 9)."""
        tokens = self.tokens.of(span)
        return float(self.sums[tokens.start : tokens.stop].mean())


class TextRange(NamedTuple):
    """Part of a text, read as if it stood alone."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Encoding:
    """A range of text, read once by one backbone."""

    tokens: Tokens
    received: Received | None  # the attention that its tokens received while it was read, if that was asked for
    middle: Floats | None  # the states of its tokens after half of the layers, if they were asked for; (tokens, width)


@dataclass(frozen=True, kw_only=True)
class Weighting(ABC):
    """How strongly each of many prompts should look at each token of the document, layer by layer."""

    rule: Rule
    k: int  # how many best-aligned tokens each head always keeps; 0 for none
    sliding: bool  # whether layers that see only the last few hundred tokens are edited too
    aligned_rows: AlignedRows
    eligible: NDArray[np.bool_]  # (tokens,): which tokens may be among the best-aligned

    @abstractmethod
    def touches(self, layer: int) -> bool:
        """Whether this layer is edited at all."""

    @abstractmethod
    def weights(self, layer: int, prompts: Sequence[int]) -> Floats:
        """Weights in [0, 1] in a layer that is edited; (prompts, tokens)."""

    def edits(self, layer: int, window: int | None) -> bool:
        """Whether a layer is edited that looks back as far as a window, or over all of the text (None)."""
        return self.touches(layer) and (window is None or self.sliding)


# The attention map of a text in one layer, of all heads or of one, some rows at a time; (heads, rows, tokens). It is
# computed anew at each call.
Maps: TypeAlias = Callable[..., Iterator[tuple[slice, Floats]]]


@dataclass(frozen=True, kw_only=True)
class MapObserver(ABC):
    """Looks at attention maps, and adds up what its method asks of them; no (heads, tokens, tokens) map is held."""

    layers: frozenset[int]  # the layers to be shown
    sums: dict[int, Floats] = field(default_factory=dict)  # layer -> (tokens,)

    @abstractmethod
    def see(self, layer: int, maps: Maps) -> None:
        """Called once for each of these layers."""


@dataclass(frozen=True, slots=True)
class Question:
    """Phrases that may follow a text in the prompt, and how their prompts should look at it."""

    encoding: Any  # of the backbone that is asked
    phrases: Sequence[str]
    weighting: Weighting | None = None


class Backbone(ABC):
    """A language model, ready to be asked. Its encodings are handed back to the same model."""

    name: str
    family: str  # its architecture, as transformers names it
    tokenizer: Any
    template: str  # what follows the text, with {} in the phrase's place
    special_in_window = True  # whether the tokeniser's special tokens belong to a text whose attention is observed
    depth: int  # layers in which attention within the text can be observed
    heads: int  # of each of these layers
    prompt_depth: int  # layers in which a prompt looks at the text
    sink_token: int | None  # the token of a text that takes the attention which is not needed elsewhere
    default_rule: Rule  # how a weighting changes its attention unless a method says otherwise
    small_sums: bool  # whether the attention that tokens receive is small, so that it should be divided by its mean

    @abstractmethod
    def room(self) -> int:
        """How many tokens of text fit into one reading beside the prompt."""

    @abstractmethod
    def encode(self, ranges: Sequence[TextRange], layers: Sequence[int] = (), middle: bool = False) -> list[Any]:
        """Read each range once, for any number of prompts to follow, and observe attention in some layers.

        With `middle`, decoder-only models also keep the states of the tokens after half of the layers.
        """

    @abstractmethod
    def received_attention(self, ranges: Sequence[TextRange], layers: Sequence[int]) -> list[Received]:
        """Attention received in each of many ranges of text, each read alone (Eqs. 13-14)."""

    @abstractmethod
    def observe(self, tokens: Tokens, observer: MapObserver) -> None:
        """Show one range of text to an observer, in the layers that it asks for."""

    @abstractmethod
    def log_likelihood(self, questions: Sequence[Question]) -> list[list[list[float]]]:
        """Log-probabilities of "about", the phrase's tokens and the token after it, for each question's phrases."""

    def token_ends(self, text: str) -> list[int]:
        """Where each token of a text ends, in characters: for planning chunks."""
        return tokenise(self.tokenizer, text, Span(0, len(text)), special=False).ends

    def window(self, text: str, span: Span) -> Tokens:
        """A range of text as it is cut when its attention is observed."""
        return tokenise(self.tokenizer, text, span, special=self.special_in_window)

    def blank_pieces(self, tokens: Tokens) -> list[int]:  # noqa: ARG002 (the rule is about T5's cross-attention)
        """Which tokens are nothing but the mark of a word's beginning and should draw no attention."""
        return []

    def span_states(self, encoding: Any, spans: Sequence[Span]) -> Floats | None:  # noqa: ARG002
        """A vector for each span, or None where the model has no encoder."""
        return None

    def with_template(self, template: str) -> Self:
        """The same model, sharing its weights, whose prompts follow another template ({} in the phrase's place)."""
        other = copy.copy(self)
        other.template = template
        return other


class DecoderOnly(Backbone):
    """What is the same for all decoder-only models: the prompt follows the text, and the first token is a sink."""

    sink_token = 0
    default_rule: Rule = "post_softmax"
    small_sums = True
    template = " Answer: This text mainly talks about {}."

    def opened(self, text_range: TextRange) -> Tokens:
        """A range of text as prompts follow it."""
        return tokenise(self.tokenizer, *text_range, prefix="Text: ")


_REACH = 600  # characters of context read on either side of a span
_SPARE = 2  # tokens kept free, since a window cut out of a text may begin with a piece more than it had there


class SentenceEncoder(ABC):
    """An encoder and its tokeniser."""

    name: str
    tokenizer: Any
    width: int  # numbers in a vector
    positions: int  # how many tokens it reads at once, special ones too

    @abstractmethod
    def states(
        self, rows: Sequence[Sequence[int]], layer: int = -1, pool: Callable[[Floats], Floats] = lambda state: state
    ) -> list[Floats]:
        """What `pool` makes of the (tokens, width) states of each row of token ids, read alone; -1: the last layer."""

    def room(self) -> int:
        """How many tokens of text fit into one reading."""
        return max(1, self.positions - len(self.read_alone("")) - _SPARE)

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

    def embed(self, texts: Sequence[str]) -> Floats:
        """A vector of length 1 for each text: the mean of its last states, those of special tokens too; (texts, width).

        What does not fit into the model's window is not read.
        """
        if not texts:
            return np.empty((0, self.width), np.float32)
        return unit_length(np.stack(self.states([self.read_alone(text) for text in texts], pool=mean_state)))

    def span_states(self, text: str, spans: Sequence[Span], contexts: Sequence[Span]) -> Floats:
        """The mean of the last states over each span, read within its context; (spans, width)."""
        near = [
            Span(max(c.start, s.start - _REACH), min(c.end, s.end + _REACH))
            for s, c in zip(spans, contexts, strict=True)
        ]
        read = {context: self.read_span(text, context) for context in dict.fromkeys(near)}
        states = dict(zip(read, self.states([tokens.ids for tokens in read.values()]), strict=True))
        held = [(states[context], read[context].of(span)) for span, context in zip(spans, near, strict=True)]
        return np.stack([mean_state(state[tokens.start : tokens.stop]) for state, tokens in held])


def mean_state(state: Floats) -> Floats:
    return np.asarray(state.mean(0))


def unit_length(vectors: NDArray[Any]) -> NDArray[Any]:
    """Vectors divided by their lengths, along the last axis; one of zeros stays as it is."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return np.asarray(vectors / lengths.astype(vectors.dtype))
