"""The shapes of requests and answers, as OpenAPI tells them. Nothing is coerced, and nothing unknown is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, LiteralString, get_type_hints

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
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from mudy.candidates import MAX_WORDS
from mudy.errors import SettingError
from mudy.methods import METHODS, check_settings, descriptions_of, method_class, model_fields, settings_of
from mudy.server.jobs import Settings
from mudy.server.problems import Problem

TEXT = "River ice is thin in spring. The ice road closes, and a ferry crosses the river until the ice is back."
LARGEST = 1e12  # of a setting; the largest default is 1.2e8
MOST = {"window": 100, "section_tokens": 4096, "segment_tokens": 4096}  # what makes work grow with its square
MOST_ENTRIES = 64  # of a setting that is a list
MOST_PHRASES = 5_000
MOST_METHODS = 4
MOST_WANTED = 1_000_000
MISSING: LiteralString = "is missing; send text, or texts for several"


@cache
def served() -> tuple[str, ...]:
    """The methods that can be asked for: all but those that a chat model writes for."""
    return tuple(name for name in METHODS if "chat" not in model_fields(name))


def _served(name: str) -> str:
    if name in METHODS and name not in served():
        raise SettingError(f"{name} needs a chat model, which this service does not have.")
    check_settings(name, {})
    return name


Name = Annotated[str, Field(max_length=40)]
MethodName = Annotated[
    Name,
    AfterValidator(_served),
    Field(json_schema_extra=lambda schema: schema.update(enum=list(served())), examples=["mudy"]),
]
Phrase = Annotated[str, Field(max_length=1_000, pattern=r"[^\s\x1c-\x1f]")]  # with something to see in it
Phrases = Annotated[list[Phrase], Field(max_length=MOST_PHRASES)]


def _whole(value: Any) -> Any:
    """In JSON 10.0 is a whole number too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _top_n(value: Any) -> int | float | None:
    value = _whole(value)
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise ValueError("a number or null is needed")
    if value is None or (isinstance(value, int) and 1 <= value <= MOST_WANTED) or 0 < value < 1:
        return value
    raise ValueError(f"a whole number from 1 to {MOST_WANTED:,}, a share between 0 and 1, or null is needed")


TopN = Annotated[
    int | float | None,
    PlainValidator(_top_n),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MOST_WANTED},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                {"type": "null"},
            ]
        }
    ),
]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


# -- Requests ---------------------------------------------------------------------------------------------------------


class Options(Shape):
    """How phrases are found and ranked, by whatever method."""

    top_n: TopN = Field(
        10, description="How many keyphrases: a number, a share of the text's words such as 0.02, or null for all."
    )
    candidates: Phrases | None = Field(
        None, description="Rank these phrases only, instead of the noun phrases of the text.", examples=[["ice road"]]
    )
    stop_phrases: Phrases = Field([], description="Phrases that are never returned.", examples=[["spring"]])
    max_candidate_words: Annotated[int, Field(ge=1, le=100), BeforeValidator(_whole)] | None = Field(
        MAX_WORDS, description="The longest noun phrases; null for any length."
    )
    merge: bool = Field(True, description="Whether forms with equal stems (model, models) are one phrase.")
    diversity: Annotated[float, Field(ge=0, le=1)] = Field(0.0, description="Above 0, avoid phrases that share words.")

    def options(self) -> dict[str, Any]:
        """As Extractor.prepare takes them."""
        names = ("top_n", "candidates", "stop_phrases", "max_candidate_words", "merge", "diversity")
        return {name: getattr(self, name) for name in names}


def _either(schema: dict[str, Any]) -> None:
    """Tell OpenAPI that exactly one of text and texts is needed."""
    schema["oneOf"] = [{"required": ["text"]}, {"required": ["texts"]}]
    for name in ("text", "texts"):
        schema["properties"][name].pop("default", None)
    schema["examples"] = [{"text": TEXT, "top_n": 3}, {"texts": [TEXT, TEXT], "method": "yake"}]


class ExtractRequest(Options):
    """One text or several, exactly one of both, for one method."""

    model_config = ConfigDict(json_schema_extra=_either)

    text: str = Field("", description="One text.")
    texts: list[str] = Field([], description="Several texts.", min_length=1)
    method: MethodName | None = Field(None, description="See /v1/methods; null for the service's default.")
    settings: dict[Name, Any] = Field(
        {}, description="Settings of the method, under its paper's symbols; see /v1/methods.", examples=[{}]
    )

    @model_validator(mode="before")
    @classmethod
    def _one_of_both(cls, given: Any) -> Any:
        if isinstance(given, dict) and not {"text", "texts"} & given.keys():
            missing: InitErrorDetails = {
                "type": PydanticCustomError("needed", MISSING),
                "loc": ("text",),
                "input": None,
            }
            raise ValidationError.from_exception_data(cls.__name__, [missing])
        if isinstance(given, dict) and {"text", "texts"} <= given.keys():
            raise ValueError("both text and texts are given, but only one is needed")
        return given

    @property
    def placed(self) -> dict[str, str]:
        """The texts by where they stand in the request."""
        if "text" in self.model_fields_set:
            return {"text": self.text}
        return {f"texts.{index}": text for index, text in enumerate(self.texts)}


class ExplainRequest(Options):
    """One text, for one or several methods."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": TEXT, "methods": ["promptrank", "mudy"], "gold": ["ice road"]}]}
    )

    text: str = Field(description="The text.")
    top_n: TopN = Field(None, description="As for /v1/extract, but all phrases unless fewer are asked for.")
    methods: Annotated[list[MethodName], Field(min_length=1, max_length=MOST_METHODS)] | None = Field(
        None, description="Methods to compare, each named once; null for the service's default.",
        json_schema_extra={"uniqueItems": True},
    )  # fmt: skip
    settings: dict[Name, dict[Name, Any]] = Field(
        {}, description="Settings by method, of those that are compared.", examples=[{"mudy": {"kappa": 0.3}}]
    )
    gold: Phrases = Field([], description="Phrases known to be right, to be marked where they stand.")

    @model_validator(mode="after")
    def _once_each(self) -> ExplainRequest:
        if self.methods and len(set(self.methods)) < len(self.methods):
            raise ValueError("each method can be named only once")
        return self


# -- Settings of a method ---------------------------------------------------------------------------------------------


def checked(method: str, given: Mapping[str, Any], where: str) -> Settings:
    """A method's settings, each of its field's type; lists become tuples."""
    return tuple(sorted((name, _checked(method, name, value, where)) for name, value in given.items()))


def _checked(method: str, name: str, value: Any, where: str) -> Any:
    try:
        check_settings(method, {name: None})
    except SettingError as error:
        raise Problem("unknown-setting", str(error), errors=[(where, str(error))]) from None
    try:
        found = _type_of(method, name).validate_python(tuple(value) if isinstance(value, list) else value)
        _reasonable(name, found)
    except ValueError as error:  # pydantic's is one
        message = _first(error) if isinstance(error, ValidationError) else str(error)
        raise Problem("not-valid", f"{where}.{name}: {message}", errors=[(f"{where}.{name}", message)]) from None
    return found


@cache
def _type_of(method: str, name: str) -> TypeAdapter[Any]:
    kind = get_type_hints(method_class(method))[name]
    return TypeAdapter(kind, config=ConfigDict(strict=True, allow_inf_nan=False))


def _reasonable(name: str, value: Any) -> None:
    """Values that no one needs, but that could take all memory or overflow, are refused."""
    entries = value if isinstance(value, tuple) else (value,)
    most = MOST.get(name, LARGEST)
    if len(entries) > MOST_ENTRIES:
        raise ValueError(f"at most {MOST_ENTRIES} entries are allowed")
    if any(isinstance(entry, int | float) and abs(entry) > most for entry in entries):
        raise ValueError(f"numbers up to {most:,.0f} are allowed")


def settings_shape(method: str) -> dict[str, Any]:
    """A method's settings as JSON Schema."""
    return {
        "type": "object",
        "title": f"Settings of {method}",
        "properties": {name: _shape(method, name, default) for name, default in settings_of(method).items()},
        "additionalProperties": False,
    }


def _shape(method: str, name: str, default: Any) -> dict[str, Any]:
    most = {"maximum": MOST[name]} if name in MOST else {}
    return {
        **_type_of(method, name).json_schema(),
        "description": descriptions_of(method)[name],
        "default": list(default) if isinstance(default, tuple) else default,
        **most,
    }


def _first(error: ValidationError) -> str:
    found = "; ".join(dict.fromkeys(str(each["msg"]) for each in error.errors(include_input=False)))
    return found[:1].lower() + found[1:]


# -- Answers ----------------------------------------------------------------------------------------------------------


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Occurrence(BaseModel):
    """One place of a phrase: characters (Unicode code points), end exclusive; and what its score was made of."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float] = Field(init=False)

    start: int
    end: int
    score: float


class Keyphrase(Answer):
    rank: int = Field(description="From 1.")
    text: str
    score: float = Field(description="Higher is better, for every method; scores of two methods cannot be compared.")
    variants: list[str] = Field(description="Other forms merged into it.")
    occurrences: list[Occurrence] = Field(description="Best first.")


class Coverage(Answer):
    words: int
    words_read: int
    share: float
    sections: int


class Found(Answer):
    method: str
    model: str | None = Field(description="Null for a method that asks none.")
    language: str | None = Field(description="That the text is surely in, as an ISO 639 code.")
    coverage: Coverage
    keyphrases: list[Keyphrase] = Field(description="Best first.")
    warnings: list[str] = Field([], description="Such as: the text is in another language than it was read in.")
    not_found: list[str] = Field([], description="Candidates that do not stand in the text.")
    dropped: list[str] = Field([], description="Phrases that a model wrote but that cannot be returned.")


class Result(Found):
    """The keyphrases of one text."""

    source: str | None


class Extracted(Answer):
    results: list[Result] = Field(description="One for each text, in order.")


class ExplainedMethod(Found):
    """What one method found, and how it was set."""

    settings: dict[str, Any] = Field(description="Those in use.")
    free: list[str] = Field(description="Settings under which scores follow from their parts without a new run.")
    seconds: float = Field(description="Its share, where texts were computed together.")


class Place(Answer):
    start: int
    end: int


class GoldPhrase(Answer):
    text: str
    places: list[Place] = Field(description="None if it does not stand in the text.")


class Explanation(Answer):
    source: str | None
    gold: list[GoldPhrase]
    methods: list[ExplainedMethod] = Field(description="In the order asked for.")


class ProblemError(Answer):
    where: str
    message: str


class ProblemDetails(Answer):
    """What went wrong (RFC 9457)."""

    type: str = Field(examples=["/problems/not-valid"])
    title: str
    status: int
    detail: str = Field(description="For people.")
    request_id: str
    errors: list[ProblemError] = []


class FileText(Answer):
    text: str
    pages: list[int] = Field(description="Where each page begins, in a file that has pages.")


class Waiting(Answer):
    state: Literal["waiting"]
    ahead: int = Field(description="Requests before this one.")
    elapsed: float = Field(description="Seconds since the request was admitted.")


class Working(Answer):
    state: Literal["working"]
    elapsed: float = Field(description="Seconds since the work on it began.")
    expected: float | None = Field(description="Seconds that this work takes, if that can be told.")


class Done(Answer):
    state: Literal["done"]
    explanation: Explanation


class FailedLine(Answer):
    state: Literal["failed"]
    problem: ProblemDetails


class Health(Answer):
    status: Literal["ok", "ready"]


class Limits(Answer):
    body_bytes: int
    characters: int = Field(description="Of each text.")
    texts: int = Field(description="Of each request.")
    seconds: float = Field(description="For each request, from being admitted to its answer.")


class ServiceInfo(Answer):
    version: str
    model: str
    encoder: str
    speed: str
    default_method: str
    limits: Limits
    readers: list[str] = Field(description="Endings of files that can be read.")


class MethodInfo(Answer):
    name: str
    description: str
    asks: Literal["backbone", "encoder", "chat"] | None = Field(description="Which kind of model; null for none.")
    available: bool
    settings: dict[str, Any] = Field(description="With defaults; the model's own may differ.")
    descriptions: dict[str, str] = Field(description="What each setting does, in one line.")
    presets: list[str]


class Methods(Answer):
    methods: list[MethodInfo]


class ModelInfo(Answer):
    name: str
    kind: str
    description: str
    parameters: int | None
    licence: str | None
    cached: bool
    loaded: bool


class Models(Answer):
    models: list[ModelInfo]
