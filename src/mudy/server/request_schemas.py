"""The schemas of requests. Nothing is coerced, and unknown fields are refused."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Self, get_args

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
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mudy._support.validation import Option, TopN, checked, checked_top_n, options_of
from mudy.errors import SettingError, unknown
from mudy.extraction.examples import LEAST
from mudy.extraction.options import Options, RankingFocus
from mudy.methods import METHODS, Style, check_settings, descriptions_of, model_fields, setting_types, settings_of
from mudy.methods.mudyplus.weights import Weights
from mudy.reading.candidates import CandidateKind
from mudy.reading.document import Block, BlockKind, Span
from mudy.reading.languages import AUTO, LANGUAGE_NAMES
from mudy.server.problems import HttpProblem
from mudy.server.scorer import SettingItems

EXAMPLE_TEXT = "River ice is thin in spring. The ice road closes, and a ferry crosses the river until the ice is back."
LARGEST_VALUE = 1e12  # of a setting; the largest default is 1.2e8
LARGEST_VALUES = {"window": 100, "section_tokens": 4096, "segment_tokens": 4096}  # where work grows with the square
FILE_SETTINGS = frozenset({"weights"})  # a request sends the content: only who runs the service may name a file
MAX_ENTRIES = 64  # of a setting that is a list
MAX_PHRASES = 5_000
MAX_METHODS = 4
MAX_TOP_N = 1_000_000
MAX_PAGES = 10_000
MAX_BLOCKS = 50_000


def served_methods() -> tuple[str, ...]:
    """The methods that can be requested: all but those that need a chat model."""
    return tuple(name for name in METHODS if "chat" not in model_fields(name))


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
    WithJsonSchema(TypeAdapter(CandidateKind | Phrases | None).json_schema()),
]


def _whole(value: Any) -> Any:
    """Convert 10.0 to 10: JSON does not tell them apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _top_n(value: Any) -> TopN:
    with suppress(SettingError):
        top_n = checked_top_n(_whole(value))
        if not isinstance(top_n, int) or top_n <= MAX_TOP_N:
            return top_n
    raise ValueError(f"must be a whole number from 1 to {MAX_TOP_N:,}, a share between 0 and 1, 'auto' or null")


_TOP_N_SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 1, "maximum": MAX_TOP_N},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "string", "enum": ["auto"]},
    {"type": "null"},
]
TopNField = Annotated[TopN, PlainValidator(_top_n), WithJsonSchema({"anyOf": _TOP_N_SCHEMAS})]


class StrictSchema(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


EXAMPLES: dict[str, Any] = {
    "candidates": ["ice road"],
    "stop_phrases": ["spring"],
    "vocabulary": {"concepts": ["ice road", {"id": "W1", "label": "ferry", "alternatives": ["boat"]}]},
}


def _served(needed: str = "") -> dict[str, Option]:
    """The declared options that are fields of a request; or of the object under a name, which they need."""
    return {name: option for name, option in options_of(Options).items() if option.requests and option.needs == needed}


def _declared_fields(needed: str = "", **types: Any) -> Any:
    """A schema with the declared options; `types` are those that JSON has for values that are not plain."""
    fields: dict[str, Any] = {}
    for name, option in _served(needed).items():
        null = f" null: {option.none}." if option.none else ""
        default = list(option.default) if isinstance(option.default, tuple) else option.default
        examples = [EXAMPLES[name]] if name in EXAMPLES else None
        field = Field(default, description=option.help + null, examples=examples)
        fields[name] = (types.get(name) or _plain_type(option), field)
    return create_model("DeclaredOptions", __base__=StrictSchema, **fields)


def _plain_type(option: Option) -> Any:
    (kind,) = option.types
    limits = Field(ge=option.least, le=option.most if option.most_served is None else option.most_served)
    limited = Annotated[kind, limits, BeforeValidator(_whole)] if kind is int else Annotated[kind, limits]
    return limited if option.default is not None and not option.none else limited | None


class ConceptEntry(StrictSchema):
    """One concept of a vocabulary."""

    id: Annotated[str, Field(max_length=1_000)] | None = Field(None, description="Defaults to the label.")
    label: Phrase = Field(description="The preferred label.")
    alternatives: Annotated[list[Phrase], Field(max_length=MAX_PHRASES)] = Field([], description="Other labels.")


def _within_labels(entries: list[Any]) -> list[Any]:
    labels = sum(1 if isinstance(entry, str) else 1 + len(entry.alternatives) for entry in entries)
    if labels > MAX_PHRASES:
        raise ValueError(f"{labels:,} labels were sent, but at most {MAX_PHRASES:,} are allowed")
    return entries


class Vocabulary(_declared_fields("vocabulary")):  # type: ignore[misc]  # made at run time
    """Concepts to find, and how."""

    concepts: Annotated[
        list[Phrase | ConceptEntry], Field(min_length=1, max_length=MAX_PHRASES), AfterValidator(_within_labels)
    ] = Field(description="Labels, or concepts with ids; matched by stems.")


class BlockEntry(StrictSchema):
    """A part of the text that is not a paragraph of prose, as /v1/read returns it."""

    start: int = Field(ge=0)
    end: int
    kind: BlockKind
    level: int = Field(0, ge=0, le=100, description="Of a heading, from 1.")


# To OpenAPI: phrases are named as candidates or as a vocabulary.
ONE_LIST: dict[str, Any] = {
    "required": ["candidates", "vocabulary"],
    "properties": {"candidates": {"type": "array", "items": {}}, "vocabulary": {"type": "object"}},
}


class OptionsSchema(
    _declared_fields(  # type: ignore[misc]  # made at run time
        top_n=TopNField,
        candidates=Candidates,
        stop_phrases=Phrases,
        language=LanguageCode | None,
        vocabulary=Vocabulary | None,
        pages=Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=MAX_PAGES)],
        blocks=Annotated[list[BlockEntry], Field(max_length=MAX_BLOCKS)] | None,
    )
):
    """How phrases are found and ranked, for all methods."""

    style: Style | None = Field(None, description=f"{options_of(RankingFocus)['style'].help} null: the default.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.vocabulary is not None and isinstance(self.candidates, list):
            raise ValueError("send either candidates or vocabulary, not both")
        ends = [0, *(place for block in self.blocks or () for place in (block.start, block.end))]
        if ends != sorted(ends) or ends[-1] > len(getattr(self, "text", "")):
            raise ValueError("blocks must be in order, without overlap, and within the text")
        return self

    def options(self) -> Options:
        values = {name: getattr(self, name) for name in _served()}
        if self.blocks is not None:
            values["blocks"] = tuple(Block(Span(b.start, b.end), b.kind, b.level) for b in self.blocks)
        if self.vocabulary is not None:
            how = self.vocabulary.model_dump()
            values |= {"vocabulary": how.pop("concepts"), **how}
        return Options(**values)


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
    settings: dict[Name, Any] = Field({}, description="Settings of the method; see /v1/methods.", examples=[{}])

    @model_validator(mode="before")
    @classmethod
    def _exactly_one(cls, given: Any) -> Any:
        names = given.keys() if isinstance(given, dict) else {"text"}  # of another type, which is refused next
        if not {"text", "texts"} & names:
            error = PydanticCustomError("needed", "is missing; send text, or texts for several texts")
            raise ValidationError.from_exception_data(cls.__name__, [{"type": error, "loc": ("text",), "input": None}])
        if {"text", "texts"} <= names:
            raise ValueError("send either text or texts, not both")
        if "texts" in names and {"pages", "blocks"} & names:
            raise ValueError("pages and blocks are those of one text; send it as text")
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
    top_n: TopNField = Field(None, description="As for /v1/extract, but the default is all phrases.")
    methods: Annotated[list[MethodName], Field(min_length=1, max_length=MAX_METHODS)] | None = Field(
        None, description="Methods to compare, each named once; null for the service's default.",
        json_schema_extra={"uniqueItems": True},
    )  # fmt: skip
    settings: dict[Name, dict[Name, Any]] = Field(
        {}, description="Settings of each compared method, by its name.", examples=[{"mudy": {"kappa": 0.3}}]
    )
    gold: Phrases = Field([], description="Gold keyphrases, marked where they occur.")

    @model_validator(mode="after")
    def _unique_methods(self) -> Self:
        if self.methods and len(set(self.methods)) < len(self.methods):
            raise ValueError("each method can be named only once")
        return self


class FitExample(StrictSchema):
    """A text and the keyphrases that are wanted for it."""

    text: str = Field(description="The text.")
    keyphrases: Annotated[Phrases, Field(min_length=1)] = Field(description="All that are wanted, as in the text.")


class FitRequest(StrictSchema):
    """Texts with keyphrases to which the weights of mudyplus are adapted."""

    examples: list[FitExample] = Field(
        description=f"At least {LEAST} different texts.", json_schema_extra={"minItems": LEAST}
    )
    style: Style | None = Field(None, description="The style to start from. null: the service's default.")


# -- Settings of methods: strictly typed, bounded, and described to OpenAPI -------------------------------------------


def validated_settings(method: str, given: Mapping[str, Any], where: str) -> SettingItems:
    """A method's settings, each of the type of its field; lists become tuples."""
    return tuple(sorted((name, _validated(method, name, value, where)) for name, value in given.items()))


def _validated(method: str, name: str, value: Any, where: str) -> Any:
    try:
        check_settings(method, {name: None})
    except SettingError as error:
        raise HttpProblem("unknown-setting", str(error), errors=[(where, str(error))]) from None
    try:
        if name in FILE_SETTINGS and isinstance(value, dict):
            value = replace(Weights.of(value, name), fitted_on={}, options={})
        setting = checked(name, value, setting_types(method)[name])
        _check_bounds(name, setting)
    except ValueError as error:  # SettingError is one
        raise HttpProblem("not-valid", f"{where}: {error}", errors=[(f"{where}.{name}", str(error))]) from None
    return setting


def _check_bounds(name: str, value: Any) -> None:
    """Refuse values that could exhaust memory or overflow, and names of files on this machine."""
    if name in FILE_SETTINGS and isinstance(value, str):
        raise ValueError(f"{name} must be the content of the file, a JSON object: a request cannot choose a file here")
    entries = value if isinstance(value, tuple) else (value,)
    largest = LARGEST_VALUES.get(name, LARGEST_VALUE)
    if len(entries) > MAX_ENTRIES:
        raise ValueError(f"{name} has {len(entries)} entries, but at most {MAX_ENTRIES} are allowed")
    if any(isinstance(entry, int | float) and abs(entry) > largest for entry in entries):
        raise ValueError(f"{name} is too large: numbers up to {largest:,.0f} are allowed")


def settings_schema(method: str) -> dict[str, Any]:
    kinds, descriptions, properties = setting_types(method), descriptions_of(method), {}
    for name, default in settings_of(method).items():
        kind: Any = dict[str, Any] | None if name in FILE_SETTINGS else kinds[name]
        schema = TypeAdapter(kind).json_schema()
        if entries := schema.pop("prefixItems", None):  # a tuple, which generators know as a list of one type
            schema["items"] = entries[0]
        default = list(default) if isinstance(default, tuple) else default
        maximum = {"maximum": LARGEST_VALUES[name]} if name in LARGEST_VALUES else {}
        properties[name] = {**schema, "description": descriptions[name], "default": default, **maximum}
    return {"type": "object", "title": f"Settings of {method}", "properties": properties, "additionalProperties": False}
