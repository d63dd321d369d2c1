"""What a backbone is: a language model that answers three questions about a text, whatever its architecture.

`encode` reads ranges of text once; `received_attention` says how much each token is looked at; `log_likelihood` says
how well each prompt follows, with an optional edit of its attention. All three take many texts at once, so that short
ones share the cost of a pass. Methods that ask more of attention than its sums show a text to an observer of their own
with `observe`. Only this room knows what a cache is.

Tensors stay within an engine: what goes in and comes out is numpy's.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

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


class Encoding(Protocol):
    """A range of text, read once by one backbone."""

    @property
    def tokens(self) -> Tokens: ...

    @property
    def received(self) -> Received | None:
        """The attention that its tokens received while it was read, if that was asked for."""


class Weighting(Protocol):
    """How strongly each of many prompts should look at each token of the document, layer by layer."""

    @property
    def rule(self) -> Rule: ...

    @property
    def k(self) -> int:
        """How many best-aligned tokens each head always keeps; 0 for none."""

    @property
    def sliding(self) -> bool:
        """Whether layers that see only the last few hundred tokens are edited too."""

    @property
    def aligned_rows(self) -> AlignedRows:
        """Which of the prompt's rows say what is well-aligned: the candidate's, or all from its first on."""

    @property
    def eligible(self) -> NDArray[np.bool_]:
        """Which tokens may be among the best-aligned; (tokens,)."""

    def touches(self, layer: int) -> bool:
        """Whether this layer is edited at all."""

    def weights(self, layer: int, prompts: Sequence[int]) -> Floats:
        """Weights in [0, 1] in a layer that is edited; (prompts, tokens)."""


class Maps(Protocol):
    """The attention map of a text in one layer, computed anew each time that it is asked for."""

    def __call__(self, head: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Some rows at a time; (heads, rows, tokens), of all heads or of one."""


class MapObserver(Protocol):
    """Whoever looks at attention maps."""

    @property
    def layers(self) -> frozenset[int]:
        """The layers to be shown."""

    def see(self, layer: int, maps: Maps) -> None:
        """Called once for each of these layers."""


E = TypeVar("E", bound=Encoding)


@dataclass(frozen=True, slots=True)
class Question(Generic[E]):
    """Phrases that may follow a text in the prompt, and how their prompts should look at it."""

    encoding: E
    phrases: Sequence[str]
    weighting: Weighting | None = None


class LanguageModel(Protocol[E]):
    """A language model, ready to be asked, with the encodings of its family."""

    @property
    def name(self) -> str: ...

    @property
    def template(self) -> str:
        """What follows the text, with {} in the phrase's place."""

    @property
    def family(self) -> str:
        """Its architecture, as transformers names it."""

    @property
    def sink_token(self) -> int | None:
        """The token of a text that takes the attention which is not needed elsewhere, if there is one."""

    @property
    def default_rule(self) -> Rule:
        """How a weighting changes its attention unless a method says otherwise."""

    @property
    def small_sums(self) -> bool:
        """Whether the attention that tokens receive is small, so that it should be divided by its mean."""

    @property
    def depth(self) -> int:
        """Layers in which attention within the text can be observed."""

    @property
    def heads(self) -> int:
        """Heads of each of these layers."""

    @property
    def prompt_depth(self) -> int:
        """Layers in which a prompt looks at the text."""

    def room(self) -> int:
        """How many tokens of text fit into one reading beside the prompt."""

    def token_ends(self, text: str) -> list[int]:
        """Where each token of a text ends, in characters: for planning chunks."""

    def blank_pieces(self, tokens: Tokens) -> list[int]:
        """Which tokens are nothing but the mark of a word's beginning and should draw no attention."""

    def encode(self, ranges: Sequence[TextRange], layers: Sequence[int] = ()) -> list[E]:
        """Read each range once, for any number of prompts to follow, and observe attention in some layers."""

    def received_attention(self, ranges: Sequence[TextRange], layers: Sequence[int]) -> list[Received]:
        """Attention received in each of many ranges of text, each read alone (Eqs. 13-14)."""

    def window(self, text: str, span: Span) -> Tokens:
        """A range of text as it is cut when its attention is observed."""

    def observe(self, tokens: Tokens, observer: MapObserver) -> None:
        """Show one range of text to an observer, in the layers that it asks for."""

    def log_likelihood(self, questions: Sequence[Question[E]]) -> list[list[list[float]]]:
        """Log-probabilities of "about", the phrase's tokens and the token after it, for each question's phrases."""

    def with_template(self, template: str) -> Self:
        """The same model, sharing its weights, whose prompts follow another template ({} in the phrase's place)."""

    def span_states(self, encoding: E, spans: Sequence[Span]) -> Floats | None:
        """A vector for each span, or None where the model has no encoder."""


Backbone: TypeAlias = LanguageModel[Any]  # of any family: its encodings are handed back to the same model


# --- What both engines share -------------------------------------------------------------------------------------


def is_edited(weighting: Weighting, layer: int, window: int | None) -> bool:
    """Whether a weighting edits a layer that looks back as far as a window, or over all of the text (None)."""
    return weighting.touches(layer) and (window is None or weighting.sliding)


class Prompted:
    """A language model's tokeniser and template."""

    tokenizer: Any
    template: str

    def token_ends(self, text: str) -> list[int]:
        return tokenise(self.tokenizer, text, Span(0, len(text)), special=False).ends

    def with_template(self, template: str) -> Self:
        other = copy.copy(self)
        other.template = template
        return other


class DecoderOnly(Prompted):
    """What is the same for all decoder-only models: the prompt follows the text, and the first token is a sink."""

    sink_token = 0
    default_rule: Rule = "post_softmax"
    small_sums = True
    template = " Answer: This text mainly talks about {}."  # with {} in the candidate's place
    depth: int

    @property
    def prompt_depth(self) -> int:
        return self.depth

    def opened(self, text_range: TextRange) -> Tokens:
        """A range of text as prompts follow it."""
        return tokenise(self.tokenizer, *text_range, prefix="Text: ")

    def blank_pieces(self, tokens: Tokens) -> list[int]:  # noqa: ARG002 (the rule is about T5's cross-attention)
        return []

    def span_states(self, encoding: Any, spans: Sequence[Span]) -> None:  # noqa: ARG002 (no encoder)
        return None
