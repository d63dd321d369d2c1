"""The schemas of requests. Nothing is coerced, and unknown fields are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, LiteralString, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from mudy._support.validation import TopN
from mudy.candidates import CandidateKind
from mudy.errors import SettingError, unknown
from mudy.extraction.options import DEFAULT_OPTIONS, SHARED_OPTION_NAMES, Options
from mudy.methods import METHODS, check_settings
from mudy.reading.languages import AUTO, LANGUAGE_NAMES
from mudy.server.setting_schemas import served_methods

EXAMPLE_TEXT = "River ice is thin in spring. The ice road closes, and a ferry crosses the river until the ice is back."
MAX_PHRASES = 5_000
MAX_METHODS = 4
MAX_TOP_N = 1_000_000
_MISSING: LiteralString = "is missing; send text, or texts for several"


def _check_served(name: str) -> str:
    if name in METHODS and name not in served_methods():
        raise SettingError(f"{name} needs a chat model, which this service does not have.")
    check_settings(name, {})
    return name


def _check_language(code: str) -> str:
    """Codes alone: the name of a package or a path would let a request load files of this machine."""
    if code != AUTO and code not in LANGUAGE_NAMES:
        raise SettingError(unknown("language", code, [AUTO, *LANGUAGE_NAMES]))
    return code


Name = Annotated[str, Field(max_length=40)]
MethodName = Annotated[
    Name,
    AfterValidator(_check_served),
    Field(json_schema_extra=lambda schema: schema.update(enum=list(served_methods())), examples=["mudy"]),
]
LanguageCode = Annotated[
    Name,
    AfterValidator(_check_language),
    Field(json_schema_extra={"enum": [AUTO, *sorted(LANGUAGE_NAMES)]}, examples=["de"]),
]
Phrase = Annotated[str, Field(max_length=1_000, pattern=r"[^\s\x1c-\x1f]")]  # not blank
Phrases = Annotated[list[Phrase], Field(max_length=MAX_PHRASES)]


def _candidates(value: Any, phrases: Callable[[Any], Any]) -> Any:
    """A kind of candidates as it is; else phrases."""
    return value if isinstance(value, str) and value in get_args(CandidateKind) else phrases(value)


Candidates = Annotated[
    Phrases | None,
    WrapValidator(_candidates),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": list(get_args(CandidateKind))},
                TypeAdapter(Phrases).json_schema(),
                {"type": "null"},
            ]
        }
    ),
]


def _whole(value: Any) -> Any:
    """Convert 10.0 to 10: JSON does not tell them apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _top_n(value: Any) -> TopN:
    value = _whole(value)
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise ValueError("a number, 'auto' or null is needed")
    if value is None or (isinstance(value, int) and 1 <= value <= MAX_TOP_N) or 0 < value < 1:
        return value
    raise ValueError(f"a whole number from 1 to {MAX_TOP_N:,}, a share between 0 and 1, 'auto' or null is needed")


TopNField = Annotated[
    TopN,
    PlainValidator(_top_n),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_TOP_N},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                {"type": "string", "enum": ["auto"]},
                {"type": "null"},
            ]
        }
    ),
]


class StrictSchema(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class ConceptEntry(StrictSchema):
    """One concept of a vocabulary."""

    id: Annotated[str, Field(max_length=1_000)] | None = Field(None, description="Its label, if there is none.")
    label: Phrase = Field(description="The preferred one.")
    alternatives: Annotated[list[Phrase], Field(max_length=MAX_PHRASES)] = Field([], description="Other labels.")


def _within_labels(entries: list[Any]) -> list[Any]:
    labels = sum(1 if isinstance(entry, str) else 1 + len(entry.alternatives) for entry in entries)
    if labels > MAX_PHRASES:
        raise ValueError(f"{labels:,} labels were sent, but at most {MAX_PHRASES:,} are allowed")
    return entries


class VocabularySchema(StrictSchema):
    """Concepts to find, and how."""

    concepts: Annotated[
        list[Phrase | ConceptEntry], Field(min_length=1, max_length=MAX_PHRASES), AfterValidator(_within_labels)
    ] = Field(description="Labels, or concepts with ids; found by stems.")
    boost: Annotated[float, Field(ge=0, le=100)] | None = Field(
        None, description="Return other phrases too, and raise those of the vocabulary by so much."
    )
    near: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="From which similarity on a phrase is given a concept that does not stand in the text."
    )

    def to_options(self) -> dict[str, Any]:
        concepts = [entry if isinstance(entry, str) else entry.model_dump() for entry in self.concepts]
        return {"vocabulary": concepts, "boost": self.boost, "near": self.near}


EXAMPLE_VOCABULARY = {"concepts": ["ice road", {"id": "W1", "label": "ferry", "alternatives": ["boat"]}]}
# To OpenAPI: phrases are named as candidates or as a vocabulary.
ONE_LIST: dict[str, Any] = {
    "required": ["candidates", "vocabulary"],
    "properties": {"candidates": {"type": "array", "items": {}}, "vocabulary": {"type": "object"}},
}


class OptionsSchema(StrictSchema):
    """How phrases are found and ranked, for all methods."""

    top_n: TopNField = Field(
        DEFAULT_OPTIONS.top_n,
        description="How many keyphrases: a number, a share of the text's words such as 0.02, "
        "'auto' for those likely enough (mudyplus), or null for all.",
    )
    candidates: Candidates = Field(
        None,
        description="Rank these phrases only; or 'nouns' for noun phrases as long as possible, 'nested' for phrases "
        "inside them too.",
        examples=[["ice road"]],
    )
    stop_phrases: Phrases = Field([], description="Phrases that are never returned.", examples=[["spring"]])
    max_candidate_words: Annotated[int, Field(ge=1, le=100), BeforeValidator(_whole)] | None = Field(
        DEFAULT_OPTIONS.max_candidate_words, description="The longest noun phrases; null for any length."
    )
    merge: bool = Field(DEFAULT_OPTIONS.merge, description="Whether inflections (model, models) are one phrase.")
    diversity: Annotated[float, Field(ge=0, le=1)] = Field(
        DEFAULT_OPTIONS.diversity, description="Above 0, avoid phrases that share words."
    )
    min_score: float | None = Field(
        None, description="Leave out phrases that score less; for mudyplus a probability between 0 and 1."
    )
    distinct: bool | None = Field(
        None, description="Whether phrases that say what one before them says are left out; null: as the method does."
    )

    language: LanguageCode | None = Field(
        None, description="Of the text: an ISO 639 code, or 'auto' to look for it; null: as the service does."
    )
    vocabulary: VocabularySchema | None = Field(
        None,
        description="Nothing but these concepts is returned, each keyphrase with its `concept`.",
        examples=[EXAMPLE_VOCABULARY],
    )

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.vocabulary is not None and isinstance(self.candidates, list):
            raise ValueError("both candidates and vocabulary are given, but only one is needed")
        return self

    def options(self) -> Options:
        shared = {name: getattr(self, name) for name in SHARED_OPTION_NAMES if name in type(self).model_fields}
        return Options(**shared | (self.vocabulary.to_options() if self.vocabulary else {}))


def _text_or_texts(schema: dict[str, Any]) -> None:
    """Tell OpenAPI that exactly one of text and texts is required.

    By `if` instead of `oneOf`, which client generators turn into two classes or into `Any`.
    """
    text, texts = {"required": ["text"]}, {"required": ["texts"]}
    schema |= {"if": text, "then": {"not": texts}, "else": texts, "not": ONE_LIST}
    for name in ("text", "texts"):
        schema["properties"][name].pop("default", None)
    schema["examples"] = [{"text": EXAMPLE_TEXT, "top_n": 3}, {"texts": [EXAMPLE_TEXT, EXAMPLE_TEXT], "method": "yake"}]


class ExtractRequest(OptionsSchema):
    """One text (`text`) or several (`texts`), not both, for one method."""

    model_config = ConfigDict(json_schema_extra=_text_or_texts)

    text: str = Field("", description="One text.")
    texts: list[str] = Field([], description="Several texts.", min_length=1)
    method: MethodName | None = Field(None, description="See /v1/methods; null for the service's default.")
    settings: dict[Name, Any] = Field(
        {}, description="Settings of the method, under its paper's symbols; see /v1/methods.", examples=[{}]
    )

    @model_validator(mode="before")
    @classmethod
    def _exactly_one(cls, given: Any) -> Any:
        if isinstance(given, dict) and not {"text", "texts"} & given.keys():
            missing: InitErrorDetails = {
                "type": PydanticCustomError("needed", _MISSING),
                "loc": ("text",),
                "input": None,
            }
            raise ValidationError.from_exception_data(cls.__name__, [missing])
        if isinstance(given, dict) and {"text", "texts"} <= given.keys():
            raise ValueError("both text and texts are given, but only one is needed")
        return given

    @property
    def by_place(self) -> dict[str, str]:
        """The texts by their place in the request."""
        if "text" in self.model_fields_set:
            return {"text": self.text}
        return {f"texts.{index}": text for index, text in enumerate(self.texts)}


class ExplainRequest(OptionsSchema):
    """One text, for one or several methods."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": ONE_LIST,
            "examples": [{"text": EXAMPLE_TEXT, "methods": ["promptrank", "mudy"], "gold": ["ice road"]}],
        }
    )

    text: str = Field(description="The text.")
    top_n: TopNField = Field(None, description="As for /v1/extract, but all phrases unless fewer are asked for.")
    methods: Annotated[list[MethodName], Field(min_length=1, max_length=MAX_METHODS)] | None = Field(
        None, description="Methods to compare, each named once; null for the service's default.",
        json_schema_extra={"uniqueItems": True},
    )  # fmt: skip
    settings: dict[Name, dict[Name, Any]] = Field(
        {}, description="Settings by method, of those that are compared.", examples=[{"mudy": {"kappa": 0.3}}]
    )
    gold: Phrases = Field([], description="Phrases known to be right, to be marked where they stand.")

    @model_validator(mode="after")
    def _unique_methods(self) -> ExplainRequest:
        if self.methods and len(set(self.methods)) < len(self.methods):
            raise ValueError("each method can be named only once")
        return self
