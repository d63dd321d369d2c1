"""The schemas of answers, the answers that describe the service, its methods and its models, and the OpenAPI document.

The names of schemas are those of the components of the document.
"""

from operator import attrgetter
from typing import Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from mudy import __version__, models
from mudy.extraction.examples import LEAST
from mudy.methods import METHODS, STYLES, Style, description, method_class, model_fields
from mudy.reading import formats as readers
from mudy.reading.document import BlockKind
from mudy.reading.languages import LANGUAGE_NAMES
from mudy.server.config import Config
from mudy.server.middleware import HEALTH_PATHS
from mudy.server.problems import MEDIA_TYPE
from mudy.server.request_schemas import served_methods, settings_schema


class ResponseSchema(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Occurrence(BaseModel):
    """One occurrence of a phrase, in characters (Unicode code points), end exclusive; with the parts of its score."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float] = Field(init=False)

    start: int
    end: int
    score: float


class ConceptMatch(ResponseSchema):
    """The concept of the vocabulary that a keyphrase was matched to."""

    id: str
    label: str = Field(description="The preferred label.")
    match: Literal["label", "near", "history"] = Field(description="near: by meaning; history: a tag of similar texts.")
    similarity: float | None = Field(None, description="For near matches: cosine similarity of phrase and label.")


class Keyphrase(ResponseSchema):
    rank: int = Field(description="From 1.")
    text: str
    score: float = Field(description="Higher is better, for every method; scores of two methods cannot be compared.")
    variants: list[str] = Field(description="Other forms merged into it.")
    source: Literal["text", "history"] = Field("text", description="history: a tag of similar texts, not in this one.")
    concept: ConceptMatch | None = Field(None, description="Only with a vocabulary or a history.")
    occurrences: list[Occurrence] = Field(description="Best first; none for a tag from history.")


class Section(ResponseSchema):
    """The keyphrases of one section of a text."""

    heading: str | None = Field(description="Null where the text has no heading.")
    start: int = Field(description="In Unicode code points; sections follow one another without gaps.")
    end: int
    keyphrases: list[Keyphrase] = Field(description="Best first, with the occurrences in the section.")


class Place(ResponseSchema):
    start: int
    end: int


class ModelCoverage(ResponseSchema):
    model: Literal["encoder", "language_model"]
    share: float = Field(description="Of the characters of the whole text.")
    spans: list[Place] = Field(description="In order; offsets in Unicode code points.")


class Coverage(ResponseSchema):
    words: int
    words_read: int = Field(description="Words that were searched for candidates.")
    share: float
    sections: int
    models: list[ModelCoverage] = Field(description="What each model read; empty for methods without a model.")


class MethodResult(ResponseSchema):
    method: str
    model: str | None = Field(description="Null for methods without a model.")
    language: str | None = Field(description="By whose rules it was read, as an ISO 639 code; null without words.")
    read_by: str | None = Field(description="What found the words: a tagger, a segmenter, or stop words.")
    coverage: Coverage
    keyphrases: list[Keyphrase] = Field(description="Best first.")
    sections: list[Section] = Field([], description="Only with per_section.")
    warnings: list[str] = Field([], description="For example, that the text is in another language.")
    not_found: list[str] = Field([], description="Candidates that do not occur in the text.")
    dropped: list[str] = Field([], description="Phrases that a model generated but that cannot be returned.")


class Result(MethodResult):
    """The keyphrases of one text."""

    source: str | None


class Extracted(ResponseSchema):
    results: list[Result] = Field(description="One per text, in order.")


class FitResult(ResponseSchema):
    """Weights of mudyplus adapted to examples. F1 is that of examples left out, at 10, in per cent."""

    weights: dict[str, Any] = Field(description="Content of a file of weights, as `mudy fit` writes it.")
    examples: int = Field(description="Number of examples in use.")
    before: float = Field(description="F1 of the style.")
    after: float = Field(description="F1 of the adapted weights, each example left out in turn.")
    helps: bool = Field(description="If false, the weights are those of the style.")
    changes: list[str] = Field(description="What changed in the lists, such as longer phrases.")
    notes: list[str] = Field(description="What could not be used.")
    summary: str = Field(description="All of this in a sentence.")


class ScorePart(ResponseSchema):
    """One of the numbers that make up a score."""

    name: str = Field(description="Its key in occurrences.")
    symbol: str = Field(description="Symbol for display.")
    words: str = Field(description="Human-readable meaning.")
    kind: Literal["value", "contribution"] = Field(description="A score is the sum of its contributions.")


class ExplainedMethod(MethodResult):
    """The result of one method, with its settings."""

    settings: dict[str, Any] = Field(description="The settings in use.")
    free: list[str] = Field(description="Settings whose change needs no new run: scores follow from their parts.")
    seconds: float = Field(description="Computing time; its share if texts were computed together.")


class GoldPhrase(ResponseSchema):
    text: str
    places: list[Place] = Field(description="Empty if it does not occur in the text.")


class Explanation(ResponseSchema):
    source: str | None
    gold: list[GoldPhrase]
    methods: list[ExplainedMethod] = Field(description="In the order of the request.")


class ProblemError(ResponseSchema):
    where: str
    message: str


class ProblemDetails(ResponseSchema):
    """An error (RFC 9457)."""

    type: str = Field(examples=["/problems/not-valid"])
    title: str
    status: int
    detail: str = Field(description="Human-readable explanation.")
    request_id: str
    errors: list[ProblemError] = []


class BlockPlace(Place):
    kind: BlockKind
    level: int = Field(description="Of a heading, from 1; else 0.")


class FileText(ResponseSchema):
    text: str
    pages: list[int] = Field(description="Offsets at which pages begin, if the file has pages.")
    blocks: list[BlockPlace] | None = Field(description="Headings, code and so on; null for plain text.")


class Waiting(ResponseSchema):
    state: Literal["waiting"]
    ahead: int = Field(description="Requests ahead of this one.")
    elapsed: float = Field(description="Seconds since the request was admitted.")


class Working(ResponseSchema):
    state: Literal["working"]
    elapsed: float = Field(description="Seconds since the computation began.")
    expected: float | None = Field(description="Expected seconds of computation, if known.")


class Done(ResponseSchema):
    state: Literal["done"]
    explanation: Explanation


class FailedLine(ResponseSchema):
    state: Literal["failed"]
    problem: ProblemDetails


class Health(ResponseSchema):
    status: Literal["ok", "ready"]


class Limits(ResponseSchema):
    body_bytes: int
    characters: int = Field(description="Of each text.")
    texts: int = Field(description="Of each request.")
    examples: int = Field(description="Fewest texts of a fit.")
    seconds: float = Field(description="For each request, from admission to answer.")


class ServiceInfo(ResponseSchema):
    version: str
    model: str
    encoder: str
    speed: str
    default_method: str
    default_style: Style = Field(description="The style of requests that name none.")
    styles: dict[Style, str] = Field(description="The styles of mudyplus, each in a few words.")
    limits: Limits
    readers: list[str] = Field(description="Extensions of supported files.")
    languages: list[str] = Field(description="Language codes that a request may use, besides auto.")


class MethodInfo(ResponseSchema):
    name: str
    title: str = Field(description="Display name.")
    description: str
    summary: str = Field(description="The same as `description`.")
    citation: str
    needs: list[Literal["backbone", "encoder", "chat", "multilingual"]] = Field(description="Models it may use.")
    parts: list[ScorePart] = Field(description="Parts of a score, as named in occurrences.")
    asks: Literal["backbone", "encoder", "chat"] | None = Field(description="Kind of model it uses; null for none.")
    available: bool
    settings: dict[str, Any] = Field(description="Settings with their defaults; a model may have others.")
    descriptions: dict[str, str] = Field(description="What each setting does, in one line.")
    presets: list[str]


class Methods(ResponseSchema):
    methods: list[MethodInfo]


class ModelInfo(ResponseSchema):
    name: str
    kind: str
    description: str
    parameters: int | None
    licence: str | None
    cached: bool
    loaded: bool


class Models(ResponseSchema):
    models: list[ModelInfo]


def service_info(config: Config) -> ServiceInfo:
    return ServiceInfo(
        **{name: getattr(config, name) for name in ("model", "encoder", "speed", "default_style")},
        version=__version__,
        default_method=config.method,
        styles=STYLES,
        limits=Limits(
            body_bytes=config.max_body,
            characters=config.max_characters,
            texts=config.max_texts,
            examples=LEAST,
            seconds=config.timeout,
        ),
        readers=list(readers.endings()),
        languages=sorted(LANGUAGE_NAMES),
    )


def method_list() -> Methods:
    listed = []
    for name in METHODS:
        described, needed = description(name), model_fields(name)
        asks = next((kind for kind in ("backbone", "encoder", "chat") if kind in needed), None)
        about = {"summary": described["description"], "asks": asks, "available": name in served_methods()}
        listed.append(MethodInfo(**described, **about))
    return Methods(methods=listed)


def model_list(config: Config, loaded: frozenset[str]) -> Models:
    """The known models, after those that are served under a name of their own."""
    served = {config.model: "backbone", config.encoder: "encoder"}
    fields = ("name", "kind", "description", "parameters", "licence", "cached")
    own = "Configured by the operator of this service."
    rows = [(name, kind, own, None, None, True) for name, kind in served.items() if name not in models.KNOWN]
    rows += map(attrgetter(*fields), models.status())
    listed = [dict(zip(fields, row, strict=True)) | {"loaded": served.get(row[0]) in loaded} for row in rows]
    return Models.model_validate({"models": listed})


# -- The OpenAPI document: as FastAPI writes it, with the limits, key, problems and settings of this service -----------

COMPONENT = "#/components/schemas/"
DESCRIPTION = """
Keyphrases of any text, found by a pre-trained language model without training data.

Requests wait in one queue for one model, and waiting texts are computed together; no answer depends on that. Errors are
`application/problem+json`. The computation stops when a client closes its connection.
"""
MEANING = {
    401: "The key is missing or wrong.",
    408: "The body arrived too slowly.",
    413: "The body is too large.",
    415: "Unsupported Content-Type or Content-Encoding.",
    421: "The host in the Host header is not allowed.",
    422: "The request is invalid, a text is too long, or a method or setting is unknown.",
    500: "Internal error.",
    503: "The queue is full, the request timed out, or the service is starting or shutting down. See Retry-After.",
}
# Problems and the lines of a stream, which no route returns as JSON.
UNROUTED = (ProblemDetails, Waiting, Working, Done, FailedLine)
ANY_ROUTE = (401, 421, 500)  # routes that read a body have all of them


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{COMPONENT}ProblemDetails"}}}
    return {status: {"description": MEANING[status], "content": content} for status in statuses}


def extend_openapi(app: FastAPI, config: Config) -> None:
    """Extend the document of FastAPI, which is written when it is first asked for and after a route was added."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        if "securitySchemes" in document["components"]:  # extended before
            return document
        components = document["components"]["schemas"]
        template = f"{COMPONENT}{{model}}"
        components |= models_json_schema([(m, "serialization") for m in UNROUTED], ref_template=template)[1]["$defs"]
        names = ("ExtractRequest", "ExplainRequest", "FitRequest", "FitExample")
        extract, explain, fit, example = (components[name]["properties"] for name in names)
        extract["texts"]["maxItems"] = fit["examples"]["maxItems"] = config.max_texts
        for text in (extract["text"], extract["texts"]["items"], explain["text"], example["text"]):
            text["maxLength"] = config.max_characters
        _add_settings(components)
        # Where no key is required it is optional, so that a generated client can always be given one.
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}] if config.api_key is not None else [{"key": []}, {}]
        for path in HEALTH_PATHS:
            document["paths"][path]["get"]["security"] = []
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _add_settings(components: dict[str, Any]) -> None:
    """The settings of each method with their types; ranges are checked by the methods."""
    names = {method: f"{method_class(method).__name__}Settings" for method in served_methods()}
    references = {method: {"$ref": f"{COMPONENT}{name}"} for method, name in names.items()}
    components |= {name: settings_schema(method) for method, name in names.items()}
    extract = components["ExtractRequest"]["properties"]["settings"]
    extract |= {"anyOf": list(references.values())}
    del extract["default"]  # {}, which generators refuse beside anyOf
    components["ExplainRequest"]["properties"]["settings"] |= {"properties": references, "additionalProperties": False}
