"""Errors as application/problem+json (RFC 9457): `detail` is for people, `type` for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from mudy.errors import InputError, MissingExtra, ModelError, SettingError, UnsupportedModel
from mudy.server.queue import ClientGone, QueueFull, ShuttingDown, TextFailed, TimeLimit

MEDIA_TYPE = "application/problem+json"
CLIENT_GONE = 499  # for logs and metrics only
MAX_ERRORS, MAX_WHERE_CHARACTERS = 20, 80

PROBLEM_TITLES = {
    "not-valid": (422, "Invalid request"),
    "text-too-long": (422, "Text too long"),
    "too-many-texts": (422, "Too many texts"),
    "unknown-setting": (422, "Invalid method or setting"),
    "unsuitable-text": (422, "Unsuitable text or phrase"),
    "unsuitable-model": (422, "Method not supported by the model"),
    "reader-missing": (422, "Unsupported file type"),
    "key-needed": (401, "API key required"),
    "wrong-origin": (403, "Origin not allowed"),
    "not-found": (404, "Not found"),
    "method-not-allowed": (405, "Method not allowed"),
    "body-too-slow": (408, "Request body timed out"),
    "body-too-large": (413, "Request body too large"),
    "wrong-type": (415, "Unsupported Content-Type"),
    "wrong-encoding": (415, "Unsupported Content-Encoding"),
    "wrong-host": (421, "Host not allowed"),
    "client-gone": (CLIENT_GONE, "Client disconnected"),
    "fault": (500, "Internal error"),
    "queue-full": (503, "Queue full"),
    "time-limit": (503, "Request timed out"),
    "shutting-down": (503, "Service shutting down"),
    "not-ready": (503, "Model loading"),
    "model-unavailable": (503, "Model unavailable"),
}
BY_STATUS = {404: "not-found", 405: "method-not-allowed"}


class HttpProblem(Exception):
    """An error response: a name from PROBLEM_TITLES, and a sentence for people."""

    def __init__(
        self,
        name: str,
        detail: str,
        *,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(name)
        self.name, self.detail, self.errors = name, detail, errors
        self.status, self.title = PROBLEM_TITLES[name]
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    def to_dict(self, request_id: str) -> dict[str, Any]:
        problem: dict[str, Any] = {
            "type": f"/problems/{self.name}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "request_id": request_id,
        }
        if self.errors:
            problem["errors"] = [{"where": where, "message": message} for where, message in self.errors]
        return problem

    def response(self, request_id: str) -> Response:
        body = json.dumps(self.to_dict(request_id)).encode()
        return Response(body, self.status, self.headers, MEDIA_TYPE)


def problem_of(error: BaseException, retry_after: int = 1) -> HttpProblem:
    """The problem for an exception; an unexpected one reveals nothing."""
    match error:
        case HttpProblem():
            return error
        case RequestValidationError():
            return _not_valid(error.errors(), error.body)
        case HTTPException():
            return _http(error)
        case TextFailed():
            return _failed(error)
        case QueueFull():
            return HttpProblem(
                "queue-full", "Too many requests are waiting. Try again later.", retry_after=error.retry_after
            )
        case TimeLimit():
            return HttpProblem(
                "time-limit",
                "The request took too long. Send less text, or try again later.",
                retry_after=retry_after,
            )
        case ShuttingDown():
            return HttpProblem("shutting-down", "The service is shutting down. Try again later.", retry_after=5)
        case ClientGone():
            return HttpProblem("client-gone", "The client disconnected before the answer was sent.")
        case SettingError():
            return HttpProblem("unknown-setting", str(error))
        case InputError():
            return HttpProblem("unsuitable-text", str(error))
        case UnsupportedModel():
            return HttpProblem("unsuitable-model", str(error))
        case MissingExtra():
            return HttpProblem("reader-missing", str(error))
        case ModelError():
            return HttpProblem("model-unavailable", str(error))
        case _:
            return HttpProblem("fault", "An unexpected error occurred; it is logged under this request's id.")


def _failed(error: TextFailed) -> HttpProblem:
    """An error of one text, or of the settings for all."""
    problem = problem_of(error.cause)
    where = {"unsuitable-text": error.where, "unknown-setting": "settings"}.get(problem.name)
    return HttpProblem(problem.name, problem.detail, errors=[(where, problem.detail)] if where else ())


def _http(error: HTTPException) -> HttpProblem:
    if error.status_code in BY_STATUS:
        return HttpProblem(BY_STATUS[error.status_code], f"{error.detail}. See /docs.", headers=error.headers)
    if error.status_code == 400:  # raised by FastAPI for a body that it cannot parse
        return HttpProblem("not-valid", "The body is not JSON in UTF-8.", errors=[("body", "not JSON in UTF-8")])
    return HttpProblem("fault", "The request could not be answered.")


def _not_valid(errors: Sequence[Any], body: Any) -> HttpProblem:
    """Where the errors are, and which; never the values themselves."""
    if errors[0]["type"] == "json_invalid" and isinstance(body, str):
        messages = [("body", _not_json(errors[0], body))]
    else:
        messages = [(_where(error["loc"]), _message(error)) for error in errors[:MAX_ERRORS]]
    more = len(errors) - len(messages)
    detail = "; ".join(f"{where}: {message}" for where, message in messages[:3])
    return HttpProblem("not-valid", detail + (f"; and {more:,} more" if more else ""), errors=messages)


def _not_json(error: Mapping[str, Any], body: str) -> str:
    """Why a body is not JSON, and where; in the words of json, which quote nothing."""
    position = error["loc"][-1]
    line, column = body.count("\n", 0, position) + 1, position - body.rfind("\n", 0, position)
    reason = _lower_first(str(error["ctx"]["error"])).removesuffix(" at")
    return f"not JSON: {reason} at line {line}, column {column}"


def _where(places: Sequence[str | int]) -> str:
    named = ".".join(str(place) for place in places if place != "body") or "body"
    return "".join(c if c.isprintable() else "\ufffd" for c in named)[:MAX_WHERE_CHARACTERS]


def _message(error: Mapping[str, Any]) -> str:
    known = {"missing": "is missing", "model_attributes_type": "a JSON object is needed"}
    return known.get(error["type"]) or _lower_first(str(error["msg"]).removeprefix("Value error, "))


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]
