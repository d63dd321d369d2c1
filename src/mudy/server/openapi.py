"""The OpenAPI document: as FastAPI writes it, with the limits, key, problems and settings of this service."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from mudy.methods import method_class
from mudy.server import response_schemas as schemas
from mudy.server.config import Config
from mudy.server.middleware import HEALTH_PATHS
from mudy.server.problems import MEDIA_TYPE
from mudy.server.request_schemas import served_methods, settings_schema

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
UNROUTED = (schemas.ProblemDetails, schemas.Waiting, schemas.Working, schemas.Done, schemas.FailedLine)
ANY_ROUTE = (401, 421, 500)
POST_ROUTE = (*ANY_ROUTE, 408, 413, 415, 422, 503)


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{COMPONENT}ProblemDetails"}}}
    return {status: {"description": MEANING[status], "content": content} for status in statuses}


def extend_openapi(app: FastAPI, config: Config) -> None:
    """Extend the document of FastAPI, which is written when it is first asked for and after a route was added."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        if "securitySchemes" not in document["components"]:  # written just now
            components = document["components"]["schemas"]
            template = f"{COMPONENT}{{model}}"
            _, further = models_json_schema([(m, "serialization") for m in UNROUTED], ref_template=template)
            components |= further["$defs"]
            _add_limits(components, config)
            _add_settings(components)
            _add_key(document, required=config.api_key is not None)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _add_limits(components: dict[str, Any], config: Config) -> None:
    names = ("ExtractRequest", "ExplainRequest", "FitRequest", "FitExample")
    extract, explain, fit, example = (components[name]["properties"] for name in names)
    extract["texts"]["maxItems"] = fit["examples"]["maxItems"] = config.max_texts
    for text in (extract["text"], extract["texts"]["items"], explain["text"], example["text"]):
        text["maxLength"] = config.max_characters


def _add_settings(components: dict[str, Any]) -> None:
    """The settings of each method with their types; ranges are checked by the methods."""
    names = {method: f"{method_class(method).__name__}Settings" for method in served_methods()}
    references = {method: {"$ref": f"{COMPONENT}{name}"} for method, name in names.items()}
    components |= {name: settings_schema(method) for method, name in names.items()}
    extract = components["ExtractRequest"]["properties"]["settings"]
    extract |= {"anyOf": list(references.values())}
    del extract["default"]  # {}, which generators refuse beside anyOf
    components["ExplainRequest"]["properties"]["settings"] |= {"properties": references, "additionalProperties": False}


def _add_key(document: dict[str, Any], required: bool) -> None:
    """The key; where none is required it is optional, so that a generated client can always be given one."""
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}] if required else [{"key": []}, {}]
    for path in HEALTH_PATHS:
        document["paths"][path]["get"]["security"] = []
