"""What a backbone is: a language model that answers three questions about a text, whatever its architecture.

`encode` reads ranges of text once; `received_attention` says how much each token is looked at; `log_likelihood` says
how well each prompt follows, with an optional edit of its attention. All three take many texts at once, so that short
ones share the cost of a pass. Methods that ask more of attention than its sums show a text to an observer of their own
with `observe`. Only this room knows what a cache is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

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
    """How much attention each token of a range of text receives."""

    tokens: Tokens
    sums: Any  # (tokens,): a vector of torch or of numpy

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

    @property
    def device(self) -> torch.device | str: ...

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

    def observe(self, tokens: Tokens, observer: Observer) -> None:
        """Show one range of text to an observer, in the layers that it asks for."""

    def log_likelihood(self, questions: Sequence[Question[E]]) -> list[list[list[float]]]:
        """Log-probabilities of "about", the phrase's tokens and the token after it, for each question's phrases."""

    def with_template(self, template: str) -> Self:
        """The same model, sharing its weights, whose prompts follow another template ({} in the phrase's place)."""

    def span_states(self, encoding: E, spans: Sequence[Span]) -> Tensor | None:
        """A vector for each span, or None where the model has no encoder."""


Backbone: TypeAlias = LanguageModel[Any]  # of any family: its encodings are handed back to the same model
