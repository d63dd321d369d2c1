"""What is asked of an extraction, and of the machine that computes it: each defined and checked once.

The library, the command line, the service and corpus runs all make these values of what they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

from mudy._support.validation import TopN, checked, checked_top_n, known_names, page_starts, phrases
from mudy.candidates import MAX_PHRASE_WORDS, CandidateKind
from mudy.errors import SettingError
from mudy.vocabularies import Vocabulary


@dataclass(frozen=True, slots=True)
class Options:
    """What `extract` is asked for, with its defaults. A value of the wrong type or size raises an error of ours."""

    top_n: TopN = 10  # a number, a share of the text's words, "auto" for those likely enough, or None for all
    candidates: CandidateKind | Iterable[str] | None = None  # a kind, or phrases; None: the kind that the method ranks
    stop_phrases: Iterable[str] = ()
    max_candidate_words: int | None = MAX_PHRASE_WORDS
    merge: bool = True  # inflections are one phrase: singular and plural
    diversity: float = 0.0  # above 0, phrases that share words are kept apart
    min_score: float | None = None  # leave out phrases that score less
    distinct: bool | None = None  # leave out what a phrase before says; None: as the method does
    vocabulary: Vocabulary | Iterable[Any] | None = None  # concepts to find; labels or mappings become one
    boost: float | None = None  # what the vocabulary's phrases gain over others; None: others are not returned
    near: float | None = None  # the similarity from which a phrase is given a concept that does not stand in the text
    language: str | None = None  # of this text: "auto" or a code; None: the extractor's
    source: str | None = None
    pages: Sequence[int] = ()  # where each page begins

    def __post_init__(self) -> None:
        given = self.candidates
        for name, value in {
            "top_n": checked_top_n(self.top_n),
            "candidates": _candidates(given),
            "stop_phrases": tuple(phrases("stop_phrases", self.stop_phrases)),
            "max_candidate_words": checked("max_candidate_words", self.max_candidate_words, int | None, least=1),
            "merge": checked("merge", self.merge, bool),
            "diversity": checked("diversity", self.diversity, float, least=0, most=1),
            "min_score": checked("min_score", self.min_score, float | None),
            "distinct": checked("distinct", self.distinct, bool | None),
            "vocabulary": None if self.vocabulary is None else Vocabulary.of(self.vocabulary),
            "boost": checked("boost", self.boost, float | None, least=0),
            "near": checked("near", self.near, float | None, least=0, most=1),
            "language": checked("language", self.language, str | None),
            "source": checked("source", self.source, str | None),
            "pages": page_starts(self.pages),
        }.items():
            object.__setattr__(self, name, value)
        self._check_vocabulary()

    def _check_vocabulary(self) -> None:
        """Options that need a vocabulary have one; candidates are given in one way only."""
        for name in ("boost", "near"):
            if self.vocabulary is None and getattr(self, name) is not None:
                raise SettingError(f"{name} says how a vocabulary is used, but none is given. Pass vocabulary too.")
        if self.vocabulary is not None and self.phrases is not None:
            raise SettingError("Both candidates and a vocabulary are given; phrases are chosen by one of them.")

    @property
    def concepts(self) -> Vocabulary | None:
        """The vocabulary, if there is one."""
        return None if self.vocabulary is None else Vocabulary.of(self.vocabulary)

    @property
    def only_concepts(self) -> bool:
        """Whether nothing but the vocabulary's phrases stands in the text for ranking."""
        return self.vocabulary is not None and self.boost is None and self.near is None

    @property
    def phrases(self) -> tuple[str, ...] | None:
        """The candidates that were given one by one, if they were."""
        return None if self.candidates is None or isinstance(self.candidates, str) else tuple(self.candidates)

    def changed(self, changes: Mapping[str, Any]) -> Options:
        """These options with some changed; an unknown name raises."""
        known_names("option", changes, OPTION_NAMES)
        return replace(self, **changes) if changes else self

    def shared(self) -> dict[str, Any]:
        """Those that can be the same for many texts, as keyword arguments of `extract`."""
        return {name: getattr(self, name) for name in SHARED_OPTION_NAMES}


def _candidates(given: Any) -> CandidateKind | tuple[str, ...] | None:
    if given is None or (isinstance(given, str) and given in get_args(CandidateKind)):
        return given  # type: ignore[return-value]  # one of the kinds
    return tuple(phrases("candidates", given))


OPTION_NAMES = tuple(option.name for option in fields(Options))
SHARED_OPTION_NAMES = tuple(name for name in OPTION_NAMES if name not in ("source", "pages"))  # those differ by text
DEFAULT_OPTIONS = Options()
