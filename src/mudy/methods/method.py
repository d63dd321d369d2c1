"""What a method is, and what it says of itself.

A method is a frozen dataclass: its fields are the models that it is given and its paper's hyper-parameters, its verb is
`score`. What the command line, the service, its page and the paper's tables show of a method they read from the class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from mudy.engines import Speed
from mudy.errors import SettingError, unknown
from mudy.reading.candidates import Candidate, CandidateKind, Occurrence
from mudy.reading.document import Document, Span

if TYPE_CHECKING:
    from mudy.engines.interfaces import Backbone

T = TypeVar("T")

ModelField = Literal["backbone", "encoder", "chat", "multilingual"]  # the field of a method that holds a model
Work = Sequence[tuple[Document, Sequence[Candidate]]]  # documents with their candidates

# What a setting must keep to: whether a value does, and the words for it in an error.
LIMITS: Mapping[str, tuple[Callable[[Any, Any], bool], Callable[[Any], str]]] = {
    "least": (ge, "{} or more".format),
    "above": (gt, "above {}".format),
    "most": (le, "at most {}".format),
    "below": (lt, "less than {}".format),
}


def setting(default: T, description: str, **limits: Any) -> T:
    """A field of a method, explained in one line for `mudy methods`, the service and its page; see `LIMITS`."""
    return field(default=default, metadata={"description": description, "limits": limits})


def require(name: str, value: object, fine: bool, needed: str) -> None:
    """A setting out of its range raises, and says what was seen and what was needed."""
    if not fine:
        raise SettingError(f"{name} is {value!r}, but must be {needed}.")


def prompted(backbone: Backbone, template: str) -> Backbone:
    """A language model that is asked with a template of the caller's: one {}, and words before and after it.

    If the model's own template begins with a space, because it follows the text, this one does too.
    """
    before, mark, after = template.partition("{}")
    fine = bool(mark and before.strip() and after.strip()) and "{}" not in after
    require("template", template, fine, "a text with one {} for the phrase, and something before and after it")
    spaced = backbone.template.startswith(" ") and not template[0].isspace()
    return backbone.with_template(f" {template}" if spaced else template)


@dataclass(frozen=True, slots=True)
class OccurrenceScore:
    """One occurrence of one candidate, scored: higher is better, for every method."""

    candidate: int  # index into the candidates given
    occurrence: Occurrence
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)  # what the score was made of, by the names of `parts`
    section: int = 0  # which chunk of a long document it was read in


def same_at_each(
    candidates: Sequence[Candidate],
    scores: Sequence[float],
    parts: Sequence[Mapping[str, float]] | None = None,
    section: Callable[[int, Occurrence], int] = lambda candidate, occurrence: 0,  # noqa: ARG005
) -> list[OccurrenceScore]:
    """One score per phrase, the same at each of its occurrences; of two equal phrases the earlier ranks first."""
    made_of = parts or [{} for _ in candidates]
    return [
        OccurrenceScore(index, occurrence, float(score), part, section(index, occurrence))
        for index, (candidate, score, part) in enumerate(zip(candidates, scores, made_of, strict=True))
        for occurrence in candidate.occurrences
    ]


class Scores(list[OccurrenceScore]):
    """The scores of one text, with the spans of the text that each model read."""

    def __init__(self, scores: Iterable[OccurrenceScore] = (), **read: Iterable[Span]) -> None:
        super().__init__(scores)
        self.read = {model: list(spans) for model, spans in read.items()}  # by `encoder` or `language_model`


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """What a generative method chose: perhaps phrases beside the candidates that it was given."""

    candidates: tuple[Candidate, ...]
    scores: tuple[OccurrenceScore, ...]  # of these candidates
    dropped: tuple[str, ...] = ()  # phrases that were written but cannot be returned
    unread_words: int = 0  # white-space words at the text's end for which the model had no room
    read: Mapping[str, Sequence[Span]] = field(default_factory=dict)  # as in `Scores`

    @classmethod
    def of(cls, candidates: tuple[Candidate, ...], scores: Sequence[OccurrenceScore]) -> ScoredCandidates:
        return cls(candidates, tuple(scores), read=scores.read if isinstance(scores, Scores) else {})

    def only(self, allowed: Callable[[Candidate], bool]) -> ScoredCandidates:
        """Without the phrases that are not allowed, which count as dropped."""
        kept = tuple(score for score in self.scores if allowed(self.candidates[score.candidate]))
        dropped = tuple(candidate.phrase for candidate in self.candidates if not allowed(candidate))
        return replace(self, scores=kept, dropped=self.dropped + dropped)


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One of the numbers that a score is made of."""

    name: str  # in `OccurrenceScore.parts` and in JSON
    words: str  # what it is, for people
    symbol: str = ""  # as printed; the name if empty
    kind: Literal["value", "contribution"] = "value"  # a score is the sum of its contributions

    def to_dict(self) -> dict[str, str]:
        return {"name": self.name, "symbol": self.symbol or self.name, "words": self.words, "kind": self.kind}


class Architecture(NamedTuple):
    """What settings may depend on, known before a language model is loaded."""

    family: str  # as transformers names it
    depth: int  # layers


class Method(ABC):
    """A way to rank candidates, which describes itself."""

    title: ClassVar[str]  # as printed
    citation: ClassVar[str]  # in one line
    needs: ClassVar[tuple[ModelField, ...]] = ()  # the models that it may be given; see `needed`
    parts: ClassVar[tuple[ScorePart, ...]] = ()  # what a score is made of
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # settings by the name of a preset
    speeds: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # settings by speed: "fast"; others keep the defaults
    rescorable: ClassVar[tuple[str, ...]] = ()  # settings under which scores follow from their parts, with no new run
    exclusive: ClassVar[tuple[tuple[str, str], ...]] = ()  # settings of which only one can be given
    candidate_kind: ClassVar[CandidateKind] = "nouns"  # which candidates it ranks, unless others are asked for
    default_speed: ClassVar[Speed] = "exact"
    calibrated: ClassVar[bool] = False  # whether its scores are probabilities of being a keyphrase
    distinct: ClassVar[bool] = False  # whether its lists leave out what a phrase before says, unless asked otherwise

    def __post_init__(self) -> None:
        """A setting outside its limits raises."""
        for declared in fields(self):  # type: ignore[arg-type]  # every method is a dataclass
            value, limits = getattr(self, declared.name), declared.metadata.get("limits", {})
            values = [item for item in (value if isinstance(value, tuple) else (value,)) if item is not None]
            fine = all(LIMITS[name][0](item, bound) for name, bound in limits.items() for item in values)
            needed = " and ".join(LIMITS[name][1](bound) for name, bound in limits.items())
            require(declared.name, value, fine, f"{needed}, or None" if declared.default is None else needed)

    @classmethod
    def summary(cls) -> str:
        return (cls.__doc__ or "").strip().split("\n")[0]

    @classmethod
    def recommended(cls, architecture: Callable[[], Architecture]) -> Mapping[str, Any]:  # noqa: ARG003
        """The settings measured to be best for a language model, where they are not the defaults."""
        return {}

    @classmethod
    def chosen_settings(
        cls, preset: str | None, settings: Mapping[str, Any], architecture: Callable[[], Architecture]
    ) -> dict[str, Any]:
        """Those of a preset, or recommended for the language model; `settings` go before both."""
        if preset is None:
            return {**cls.recommended(architecture), **settings}
        if not cls.presets:
            raise SettingError(f"{cls.title} has no presets, but {preset!r} was asked for.")
        if preset not in cls.presets:
            raise SettingError(unknown("preset", preset, cls.presets))
        return {**cls.presets[preset], **settings}

    @classmethod
    def needed(cls, settings: Mapping[str, Any], architecture: Callable[[], Architecture]) -> frozenset[ModelField]:  # noqa: ARG003
        """Which of `needs` it asks under some `chosen_settings`: all, unless the class knows better.

        `architecture` is called only where it matters: it may have to fetch the language model first.
        """
        return frozenset(cls.needs)

    @classmethod
    def build(cls, models: Any, preset: str | None, settings: Mapping[str, Any]) -> Self:
        """Make it from the models it needs; `models` loads each of them by a method of the field's name."""

        def architecture() -> Architecture:
            backbone = models.backbone()
            return Architecture(backbone.family, backbone.depth)

        chosen = cls.chosen_settings(preset, settings, architecture)
        needed = cls.needed(chosen, architecture)
        loaders = {name: getattr(models, name) for name in cls.needs if name in needed}
        given = {name: load if name == "multilingual" else load() for name, load in loaders.items()}
        return cls(**given, **chosen)  # the multilingual encoder is loaded for the first text that is not in English

    @abstractmethod
    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        """A score for each occurrence of the candidates, at least one; of a method that asks models, as `Scores`."""


class BatchMethod(Method):
    """A method that computes several documents together, which is faster where they are short."""

    def score(self, document: Document, candidates: Sequence[Candidate]) -> Scores:
        return self.score_many([(document, candidates)])[0]

    @abstractmethod
    def score_many(self, work: Work) -> list[Scores]:
        """The scores of each document; none depends on the other documents."""


class GenerativeMethod(Method):
    """A method that writes phrases of its own, besides scoring those that it is given."""

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        """The candidates that were written; the others have no score."""
        chosen = self.choose(document, candidates)
        place = {candidate: index for index, candidate in enumerate(candidates)}
        return [
            replace(score, candidate=place[written])
            for score in chosen.scores
            if (written := chosen.candidates[score.candidate]) in place
        ]

    @abstractmethod
    def choose(self, document: Document, candidates: Sequence[Candidate]) -> ScoredCandidates:
        """The phrases that it would return, candidates or not, each with all its occurrences in the text."""
