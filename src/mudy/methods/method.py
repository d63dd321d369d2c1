"""What a method is: one verb, `score`, over the shared document and candidates; `choose` for one that writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from mudy.candidates import Candidate, Occurrence
from mudy.errors import SettingError
from mudy.text import Document

if TYPE_CHECKING:
    from mudy.backbones.backbone import Backbone
    from mudy.backbones.chat import Chat
    from mudy.backbones.encoder import SentenceEncoder

T = TypeVar("T")


def setting(default: T, description: str) -> T:
    """A field of a method, explained in one line for `mudy methods`, the service and its page."""
    return field(default=default, metadata={"description": description})


@dataclass(frozen=True, slots=True)
class OccurrenceScore:
    """One occurrence of one candidate, scored: higher is better, for every method."""

    candidate: int  # index into the candidates given
    occurrence: Occurrence
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)  # what the score was made of, under the paper's symbols
    section: int = 0  # which part of a long document it was read in


def same_at_each(
    candidates: Sequence[Candidate],
    scores: Sequence[float],
    parts: Sequence[Mapping[str, float]] | None = None,
    section: Callable[[int, Occurrence], int] = lambda candidate, occurrence: 0,  # noqa: ARG005
) -> list[OccurrenceScore]:
    """One score a phrase, the same at each of its occurrences: ranking puts the earlier of two equal phrases first."""
    made_of = parts if parts is not None else [{} for _ in candidates]
    return [
        OccurrenceScore(index, occurrence, float(score), part, section(index, occurrence))
        for index, (candidate, score, part) in enumerate(zip(candidates, scores, made_of, strict=True))
        for occurrence in candidate.occurrences
    ]


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """What a method that writes chose: perhaps phrases beside the candidates that it was given."""

    candidates: tuple[Candidate, ...]
    scores: tuple[OccurrenceScore, ...]  # of these candidates
    dropped: tuple[str, ...] = ()  # phrases that were written but cannot be returned
    unread_words: int = 0  # white-space words at the text's end for which the model had no room

    def only(self, allowed: Callable[[Candidate], bool]) -> ScoredCandidates:
        """The choice without some phrases, which count as dropped."""
        kept = tuple(score for score in self.scores if allowed(self.candidates[score.candidate]))
        dropped = tuple(candidate.phrase for candidate in self.candidates if not allowed(candidate))
        return replace(self, scores=kept, dropped=self.dropped + dropped)


def no_presets(name: str, preset: str | None) -> None:
    """For methods whose paper has one setting."""
    if preset is not None:
        raise SettingError(f"{name} has no presets, but {preset!r} was asked for.")


def require(name: str, value: object, fine: bool, needed: str) -> None:
    """A setting out of its range raises, and says what was seen and what was needed."""
    if not fine:
        raise SettingError(f"{name} is {value!r}, but must be {needed}.")


class Models(Protocol):
    """The models at hand, each loaded when it is asked for."""

    def backbone(self) -> Backbone: ...

    def encoder(self) -> SentenceEncoder: ...

    def chat(self) -> Chat: ...


Work = Sequence[tuple[Document, Sequence[Candidate]]]  # documents with their candidates


class Method(Protocol):
    """A way to rank candidates. Its fields are its paper's hyper-parameters."""

    @classmethod
    def build(cls, models: Models, preset: str | None, settings: Mapping[str, Any]) -> Method:
        """Make it from the models it needs; `settings` go before those of a preset."""

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]: ...


@runtime_checkable
class BatchMethod(Protocol):
    """A method that computes several documents together, which is faster where they are short."""

    def score_many(self, work: Work) -> list[list[OccurrenceScore]]: ...


@runtime_checkable
class GenerativeMethod(Protocol):
    """A method that writes phrases of its own, besides scoring those that it is given."""

    def choose(self, document: Document, candidates: Sequence[Candidate]) -> ScoredCandidates:
        """The phrases that it would return, candidates or not, each at every place where it stands in the text."""
