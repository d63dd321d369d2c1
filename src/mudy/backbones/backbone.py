"""What a backbone is: a language model that answers three questions about a text, whatever its architecture.

`encode` reads stretches of text once; `received_attention` says how much each token is looked at; `log_likelihood` says
how well each prompt follows, with an optional edit of its attention. All three take many texts at once, so that short
ones share the cost of a pass. Methods that ask more of attention than its sums show a text to an observer of their own
with `observe`. Only this room knows what a cache is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from mudy.backbones.tokens import Tokens
from mudy.text import Span

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from mudy.backbones.attention import Observer, Weighting

Rule = Literal["logit", "post_softmax"]  # how a weighting changes attention
AlignedRows = Literal["candidate", "tail"]  # which rows of a prompt say what is well-aligned with it


@dataclass(frozen=True, slots=True)
class Received:
    """How much attention each token of a stretch of text receives."""

    tokens: Tokens
    sums: Tensor  # (tokens,)

    def at(self, span: Span) -> float:
        """The mean over a span's tokens (Eq. 9)."""
        tokens = self.tokens.of(span)
        return float(self.sums[tokens.start : tokens.stop].mean())


class Stretch(NamedTuple):
    """A part of a text that is read as if it stood alone."""

    text: str
    span: Span


class Encoding(Protocol):
    """A stretch of text, read once by one backbone."""

    @property
    def tokens(self) -> Tokens: ...

    @property
    def received(self) -> Received | None:
        """The attention that its tokens received while it was read, if that was asked for."""


@dataclass(frozen=True, slots=True)
class Question:
    """Phrases that may follow a text in the prompt, and how their prompts should look at it."""

    encoding: Any
    phrases: Sequence[str]
    weighting: Weighting | None = None


class Backbone(Protocol):
    """A language model, ready to be asked."""

    @property
    def name(self) -> str: ...

    @property
    def family(self) -> str:
        """Its architecture, as transformers names it."""

    @property
    def decoder_only(self) -> bool: ...

    @property
    def depth(self) -> int:
        """Layers in which attention within the text can be observed."""

    @property
    def heads(self) -> int:
        """Heads of each of these layers."""

    @property
    def prompt_depth(self) -> int:
        """Layers in which a prompt looks at the text."""

    @property
    def device(self) -> torch.device: ...

    def room(self) -> int:
        """How many tokens of text fit into one reading beside the prompt."""

    def token_ends(self, text: str) -> list[int]:
        """Where each token of a text ends, in characters: for planning sections."""

    def blank_pieces(self, tokens: Tokens) -> list[int]:
        """Which tokens are nothing but the mark of a word's beginning and should draw no attention."""

    def encode(self, stretches: Sequence[Stretch], layers: Sequence[int] = ()) -> list[Any]:
        """Read each stretch once, for any number of prompts to follow, and observe attention in some layers."""

    def received_attention(self, stretches: Sequence[Stretch], layers: Sequence[int]) -> list[Received]:
        """Attention received in each of many stretches of text, each read alone (Eqs. 13-14)."""

    def window(self, text: str, span: Span) -> Tokens:
        """A stretch of text as it is cut when its attention is observed."""

    def observe(self, tokens: Tokens, observer: Observer) -> None:
        """Show one stretch of text to an observer, in the layers that it asks for."""

    def log_likelihood(self, questions: Sequence[Question]) -> list[list[list[float]]]:
        """Log-probabilities of "about", the phrase's tokens and the token after it, for each question's phrases."""

    def span_states(self, encoding: Any, spans: Sequence[Span]) -> Tensor | None:
        """A vector for each span, or None where the model has no encoder."""
