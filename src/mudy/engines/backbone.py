"""What a backbone is: a language model that answers three questions about a text, whatever its architecture.

`encode` reads ranges of text once; `received_attention` says how much each token is looked at; `log_likelihood` says
how well each prompt follows, with an optional edit of its attention. All three take many texts at once, so that short
ones share the cost of a pass. Methods that ask more of attention than its sums show a text to an observer of their own
with `observe`. Only this room knows what a cache is.

Tensors stay within an engine: what goes in and comes out is numpy's.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mudy.engines.tokens import Tokens, tokenise
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
