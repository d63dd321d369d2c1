"""The options of an extraction and of an extractor, each declared once: name, type, default, help and limits.

Python's checks, the command line, the requests of the service and the tools for assistants are derived from these.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, get_args

from mudy._support.validation import (
    TopN,
    check_options,
    checked_top_n,
    declared,
    known_names,
    options_of,
    page_starts,
    phrases,
    seen,
)
from mudy.errors import SettingError
from mudy.extraction.examples import Examples
from mudy.methods import DEFAULT_STYLE, STYLES_IN_WORDS, Style, has_styles
from mudy.reading.candidates import MAX_PHRASE_WORDS, CandidateKind
from mudy.reading.candidates.vocabularies import Vocabulary
from mudy.reading.document import Block, squeeze
from mudy.reading.languages import AUTO
from mudy.reading.tagging import TextReader

ProtocolName = Literal["promptrank"]  # how texts are read for comparison with published numbers
DEFAULT_METHOD = "mudyplus"
DEFAULT_MODEL = "gemma3-270m"
DEFAULT_ENCODER = "minilm-l6"
HISTORY_STYLE: Style = "tags"  # of an extractor with a history, unless another is chosen


def _candidates(value: Any) -> CandidateKind | tuple[str, ...] | None:
    if value is None or (isinstance(value, str) and value in get_args(CandidateKind)):
        return value  # type: ignore[return-value]  # one of the kinds
    return tuple(phrases("candidates", value))


def _blocks(value: Any) -> tuple[Block, ...] | None:
    if value is None:
        return None
    if not isinstance(value, Sequence) or not all(isinstance(block, Block) for block in value):
        raise SettingError(f"blocks is {seen(value)}, but must be a list of blocks, as a reader of files gives them.")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Options:
    """What `extract` is asked for. A value of the wrong type or size raises an error of ours."""

    top_n: TopN = declared(
        10,
        "How many keyphrases: a number, a share of the text's words such as 0.02, or auto for those that are likely "
        "enough (mudyplus).",
        none="all",
        check=checked_top_n,
        flag="-n",
        metavar="NUMBER|SHARE|auto|all",
        assistants=int,
    )
    candidates: CandidateKind | Iterable[str] | None = declared(
        None,
        "Rank only these phrases; or a kind of them: nouns for noun phrases as long as possible, nested for phrases "
        "inside them too.",
        none="nested for mudyplus, else nouns",
        check=_candidates,
        metavar="FILE|nouns|nested",
        file="one phrase per line, UTF-8; blank lines and lines that start with # are ignored",
    )
    stop_phrases: Iterable[str] = declared(
        (),
        "Never return these phrases.",
        check=lambda value: tuple(phrases("stop_phrases", value)),
        file="like that of --candidates",
    )
    max_candidate_words: int | None = declared(
        MAX_PHRASE_WORDS, "Longest phrases, in words.", none="any length", least=1, most_served=100
    )
    merge: bool = declared(True, "Merge inflections (model, models) into one phrase.")
    diversity: float = declared(0.0, "Above 0, avoid phrases that share words.", least=0, most=1)
    min_score: float | None = declared(
        None, "Leave out phrases that score less; for mudyplus a probability, such as 0.3.", none="keep all"
    )
    distinct: bool | None = declared(
        None, "Leave out phrases that repeat what an earlier one says.", none="distinct for mudyplus"
    )
    vocabulary: Vocabulary | Iterable[Any] | None = declared(
        None,
        "Return only concepts of this vocabulary, found by stems, each keyphrase with its concept.",
        check=lambda value: None if value is None else Vocabulary.of(value),
        file=".csv, .json, .txt, or SKOS (.ttl, .rdf; extra `vocabularies`). Of labels in several languages, those in "
        "--language count",
    )
    boost: float | None = declared(
        None,
        "Return other phrases too, and raise those of the vocabulary by so much: in log-odds for mudyplus, else in "
        "standard deviations of the text's scores.",
        least=0,
        most_served=100,
        needs="vocabulary",
    )
    near: float | None = declared(
        None,
        "Give phrases without a concept the nearest one in meaning, from this similarity on (0.7 is strict), marked "
        "as near.",
        least=0,
        most=1,
        needs="vocabulary",
        metavar="SIMILARITY",
    )
    per_section: bool = declared(False, "Also list the keyphrases of each section.", assistants=bool)
    language: str | None = declared(
        None, "Language of the text: auto or an ISO 639 code.", none="that of the extractor", commands=False
    )
    source: str | None = declared(None, "Where the text comes from.", commands=False, requests=False)
    pages: Sequence[int] = declared((), "The offsets at which pages begin.", check=page_starts, commands=False)
    blocks: Sequence[Block] | None = declared(
        None,
        "The text's headings, code and other blocks, as a reader of files found them.",
        none="detected",
        check=_blocks,
        commands=False,
    )

    def __post_init__(self) -> None:
        check_options(self)
        for option in options_of(Options).values():
            if option.needs and getattr(self, option.needs) is None and getattr(self, option.name) is not None:
                raise SettingError(f"{option.name} has no effect without {option.needs}. Pass {option.needs} too.")
        if self.vocabulary is not None and self.phrases is not None:
            raise SettingError("Both candidates and a vocabulary are given; phrases are chosen by one of them.")

    @property
    def concepts(self) -> Vocabulary | None:
        """The vocabulary, if there is one."""
        return self.vocabulary  # type: ignore[return-value]  # checked above

    @property
    def only_concepts(self) -> bool:
        """Whether only phrases of the vocabulary are ranked."""
        return self.vocabulary is not None and self.boost is None and self.near is None

    @property
    def excluded(self) -> frozenset[str]:
        """The stop phrases, as they are compared."""
        return frozenset(squeeze(phrase).lower() for phrase in self.stop_phrases)

    @property
    def phrases(self) -> tuple[str, ...] | None:
        """The candidates that were given one by one, if they were."""
        return None if self.candidates is None or isinstance(self.candidates, str) else tuple(self.candidates)

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """These options with some changed; an unknown name raises."""
        known_names("option", changes, OPTION_NAMES)
        return replace(self, **changes) if changes else self

    def shared(self) -> dict[str, Any]:
        """Those that can be the same for many texts, as keyword arguments of `extract`."""
        return {name: getattr(self, name) for name in SHARED_OPTION_NAMES}


class OptionArguments(TypedDict, total=False):
    """`Options` but for `top_n`, for type checkers and editors: keyword arguments of `extract`."""

    candidates: CandidateKind | Iterable[str] | None
    stop_phrases: Iterable[str]
    max_candidate_words: int | None
    merge: bool
    diversity: float
    min_score: float | None
    distinct: bool | None
    vocabulary: Vocabulary | Iterable[Any] | None
    boost: float | None
    near: float | None
    per_section: bool
    language: str | None
    source: str | None
    pages: Sequence[int]
    blocks: Sequence[Block] | None


OPTION_NAMES = tuple(options_of(Options))
SHARED_OPTION_NAMES = tuple(name for name in OPTION_NAMES if name not in ("source", "pages", "blocks"))
DEFAULT_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class RankingFocus:
    """What a ranking is turned towards: settings of the methods that can do so."""

    style: Style | None = declared(
        None, f"Kind of keyphrases (mudyplus): {STYLES_IN_WORDS}.", none=DEFAULT_STYLE, assistants=Style | None
    )
    seeds: Iterable[str] = declared(
        (),
        "Turn the ranking towards a phrase (mudyplus); may be repeated.",
        check=lambda value: tuple(phrases("seeds", value)),
        flag="--seed",
        metavar="PHRASE",
    )
    query: str | None = declared(None, "Turn the ranking towards a question (mudyplus).")

    def __post_init__(self) -> None:
        check_options(self)

    def settings(self) -> dict[str, Any]:
        """Those that are given, as settings of a method."""
        return {name: value for name in options_of(RankingFocus) if (value := getattr(self, name))}

    def settings_of_each(self, methods: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Those that are given, as settings of methods that are compared: a style is for those that have styles."""
        settings = self.settings()
        if self.style is None or not any(map(has_styles, methods)):
            return dict.fromkeys(methods, settings)
        unstyled = {name: value for name, value in settings.items() if name != "style"}
        return {method: settings if has_styles(method) else unstyled for method in methods}


def _language(value: Any) -> Any:
    """A language's name, a tagger, or a spaCy pipeline."""
    if isinstance(value, str | TextReader) or (callable(value) and hasattr(value, "pipe_names")):
        return value
    raise SettingError(
        f"language is {seen(value)}, but must be 'auto', a code such as 'en', the name or path of a spaCy package, or "
        "a pipeline that spaCy has loaded."
    )


def _history(value: Any) -> str | None:
    """The path of tagged texts, which must be there."""
    if not isinstance(value, str | Path | None):
        raise SettingError(f"history is {seen(value)}, but must be the path of a folder or file.")
    if value is None:
        return None
    from mudy.extraction.history import check_history

    check_history(Path(value).expanduser())
    return str(value)


@dataclass(frozen=True, slots=True)
class Setup:
    """What an `Extractor` is made of, besides the settings of its method and of the machine."""

    method: str = declared(DEFAULT_METHOD, "See `mudy methods`.", flag="-m", metavar="NAME")
    model: str = declared(
        DEFAULT_MODEL, "A name of `mudy models`, a local folder, or an id on the Hugging Face hub.", metavar="NAME"
    )
    encoder: str = declared(DEFAULT_ENCODER, "Sentence encoder; named like --model.", metavar="NAME")
    endpoint: str | None = declared(
        None,
        "For `empirical`: a server that speaks OpenAI's chat completions, such as http://localhost:8080/v1, and knows "
        "--model. Its key is read from OPENAI_API_KEY.",
        metavar="URL",
    )
    preset: str | None = declared(None, "Published settings of the method for one data set.", metavar="NAME")
    language: Any = declared(
        AUTO,
        "Language of the texts: auto, a code such as de, an installed spaCy package, or the path of a pipeline "
        "(./name).",
        check=_language,
    )
    protocol: ProtocolName | None = declared(None, "Read texts as published experiments did.")
    max_words: int | None = declared(None, "Read only the first words of each text.", none="all", least=1)
    examples: Examples | str | Path | Iterable[tuple[str, Iterable[str]]] | None = declared(
        None,
        "Adapt the weights of the style to texts with the keyphrases that you want (mudyplus), at least 3.",
        check=lambda value: None if value is None else Examples.of(value),
        metavar="FILE|FOLDER",
        file="JSON lines, CSV, TSV or XLSX with the columns text and keyphrases, BibTeX, or a folder of Markdown notes "
        "with tags",
    )
    history: str | None = declared(
        None,
        "Suggest the tags of similar texts (mudyplus): a folder of Markdown notes with tags, or a .jsonl or .csv file "
        "with text and tags.",
        check=_history,
        metavar="PATH",
    )

    def __post_init__(self) -> None:
        check_options(self)
