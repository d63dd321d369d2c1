"""The schemas of answers, and the answers that describe the service, its methods and its models.

In the OpenAPI document each schema has its name here without `Schema`: `Result`, `Keyphrase`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mudy import __version__, models
from mudy.methods import METHODS, description, model_fields
from mudy.reading import formats as readers
from mudy.reading.languages import LANGUAGE_NAMES
from mudy.server.config import Config
from mudy.server.setting_schemas import served_methods


class ResponseSchema(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OccurrenceSchema(BaseModel):
    """One occurrence of a phrase, in characters (Unicode code points), end exclusive; with the parts of its score."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float] = Field(init=False)

    start: int
    end: int
    score: float


class ConceptMatchSchema(ResponseSchema):
    """The concept of the vocabulary that a keyphrase was given."""

    id: str
    label: str = Field(description="The preferred one.")
    match: Literal["label", "near"] = Field(description="near: none of its labels occurs in the text.")
    similarity: float | None = Field(None, description="Of a near one: the cosine of phrase and label.")


class KeyphraseSchema(ResponseSchema):
    rank: int = Field(description="From 1.")
    text: str
    score: float = Field(description="Higher is better, for every method; scores of two methods cannot be compared.")
    variants: list[str] = Field(description="Other forms merged into it.")
    concept: ConceptMatchSchema | None = Field(None, description="Where a vocabulary was sent.")
    occurrences: list[OccurrenceSchema] = Field(description="Best first.")


class PlaceSchema(ResponseSchema):
    start: int
    end: int


class ModelCoverageSchema(ResponseSchema):
    model: Literal["encoder", "language_model"]
    share: float = Field(description="Of the characters of the whole text.")
    spans: list[PlaceSchema] = Field(description="In order, in Unicode code points of the text.")


class CoverageSchema(ResponseSchema):
    words: int
    words_read: int = Field(description="The words in which candidates were looked for.")
    share: float
    sections: int
    models: list[ModelCoverageSchema] = Field(description="What each model read; empty for a method without a model.")


class MethodResultSchema(ResponseSchema):
    method: str
    model: str | None = Field(description="Null for a method that uses none.")
    language: str | None = Field(
        description="The language by whose rules the text was read, as an ISO 639 code; null for a text without words."
    )
    read_by: str | None = Field(
        description="What found the words: a tagger, a segmenter, or the stop words of the language."
    )
    coverage: CoverageSchema
    keyphrases: list[KeyphraseSchema] = Field(description="Best first.")
    warnings: list[str] = Field([], description="For example that the text is in another language.")
    not_found: list[str] = Field([], description="Candidates that do not occur in the text.")
    dropped: list[str] = Field([], description="Phrases that a model wrote but that cannot be returned.")


class ResultSchema(MethodResultSchema):
    """The keyphrases of one text."""

    source: str | None


class ExtractedSchema(ResponseSchema):
    results: list[ResultSchema] = Field(description="One for each text, in order.")


class ScorePartSchema(ResponseSchema):
    """One of the numbers that a score is made of."""

    name: str = Field(description="As in occurrences.")
    symbol: str = Field(description="As printed.")
    words: str = Field(description="What it is, for people.")
    kind: Literal["value", "contribution"] = Field(description="A score is the sum of its contributions.")


class ExplainedMethodSchema(MethodResultSchema):
    """The result of one method, with its settings."""

    settings: dict[str, Any] = Field(description="The settings in use.")
    free: list[str] = Field(description="Settings that can change without a new run: scores follow from their parts.")
    seconds: float = Field(description="Its share, if texts were computed together.")


class GoldPhraseSchema(ResponseSchema):
    text: str
    places: list[PlaceSchema] = Field(description="Empty if it does not occur in the text.")


class ExplanationSchema(ResponseSchema):
    source: str | None
    gold: list[GoldPhraseSchema]
    methods: list[ExplainedMethodSchema] = Field(description="In the order of the request.")


class ProblemErrorSchema(ResponseSchema):
    where: str
    message: str


class ProblemDetailsSchema(ResponseSchema):
    """An error (RFC 9457)."""

    type: str = Field(examples=["/problems/not-valid"])
    title: str
    status: int
    detail: str = Field(description="For people.")
    request_id: str
    errors: list[ProblemErrorSchema] = []


class FileTextSchema(ResponseSchema):
    text: str
    pages: list[int] = Field(description="Where each page begins, in a file that has pages.")


class WaitingSchema(ResponseSchema):
    state: Literal["waiting"]
    ahead: int = Field(description="Requests before this one.")
    elapsed: float = Field(description="Seconds since the request was admitted.")


class WorkingSchema(ResponseSchema):
    state: Literal["working"]
    elapsed: float = Field(description="Seconds since the computation began.")
    expected: float | None = Field(description="Seconds that the computation takes, if known.")


class DoneSchema(ResponseSchema):
    state: Literal["done"]
    explanation: ExplanationSchema


class FailedLineSchema(ResponseSchema):
    state: Literal["failed"]
    problem: ProblemDetailsSchema


class HealthSchema(ResponseSchema):
    status: Literal["ok", "ready"]


class LimitsSchema(ResponseSchema):
    body_bytes: int
    characters: int = Field(description="Of each text.")
    texts: int = Field(description="Of each request.")
    seconds: float = Field(description="For each request, from admission to answer.")


class ServiceInfoSchema(ResponseSchema):
    version: str
    model: str
    encoder: str
    speed: str
    default_method: str
    limits: LimitsSchema
    readers: list[str] = Field(description="Extensions of files that can be read.")
    languages: list[str] = Field(description="Codes that a request may give as its language, besides auto.")


class MethodInfoSchema(ResponseSchema):
    name: str
    title: str = Field(description="As printed.")
    description: str
    summary: str = Field(description="The same as `description`.")
    citation: str
    needs: list[Literal["backbone", "encoder", "chat", "multilingual"]] = Field(
        description="The models that it may ask."
    )
    parts: list[ScorePartSchema] = Field(description="What a score is made of, as named in occurrences.")
    asks: Literal["backbone", "encoder", "chat"] | None = Field(description="Which kind of model; null for none.")
    available: bool
    settings: dict[str, Any] = Field(description="With defaults; the model's own may differ.")
    descriptions: dict[str, str] = Field(description="What each setting does, in one line.")
    presets: list[str]


class MethodsSchema(ResponseSchema):
    methods: list[MethodInfoSchema]


class ModelInfoSchema(ResponseSchema):
    name: str
    kind: str
    description: str
    parameters: int | None
    licence: str | None
    cached: bool
    loaded: bool


class ModelsSchema(ResponseSchema):
    models: list[ModelInfoSchema]


# -- What there is ----------------------------------------------------------------------------------------------------


def service_info(config: Config) -> ServiceInfoSchema:
    limits = LimitsSchema(
        body_bytes=config.max_body,
        characters=config.max_characters,
        texts=config.max_texts,
        seconds=config.timeout,
    )
    return ServiceInfoSchema(
        version=__version__,
        model=config.model,
        encoder=config.encoder,
        speed=config.speed,
        default_method=config.method,
        limits=limits,
        readers=list(readers.endings()),
        languages=sorted(LANGUAGE_NAMES),
    )


def method_list() -> MethodsSchema:
    return MethodsSchema(methods=[_method(name) for name in METHODS])


def _method(name: str) -> MethodInfoSchema:
    described = description(name)
    return MethodInfoSchema(
        **described, summary=described["description"], asks=_asks(name), available=name in served_methods()
    )


def _asks(name: str) -> Literal["backbone", "encoder", "chat"] | None:
    needed = model_fields(name)
    return "backbone" if "backbone" in needed else "encoder" if "encoder" in needed else "chat" if needed else None


def model_list(config: Config, loaded: frozenset[str]) -> ModelsSchema:
    """The known models, after those that are served under a name of their own."""
    served = {config.model: "backbone" in loaded, config.encoder: "encoder" in loaded}
    unlisted = [
        ModelInfoSchema(
            name=name, kind=kind, description="Named by whoever runs this service.",
            parameters=None, licence=None, cached=True, loaded=served[name],
        )
        for name, kind in ((config.model, "backbone"), (config.encoder, "encoder"))
        if name not in models.KNOWN
    ]  # fmt: skip
    known = [
        ModelInfoSchema(
            name=model.name, kind=model.kind, description=model.description,
            parameters=models.KNOWN[model.name].parameters, licence=model.licence,
            cached=model.cached, loaded=served.get(model.name, False),
        )
        for model in models.status()
    ]  # fmt: skip
    return ModelsSchema(models=unlisted + known)
