"""Errors as application/problem+json (RFC 9457): `detail` is for people, `type` for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from mudy.errors import InputError, MissingExtra, ModelError, SettingError, UnsupportedModel

MEDIA_TYPE = "application/problem+json"
CLIENT_GONE = 499  # for logs and metrics only
MAX_ERRORS, MAX_WHERE_CHARACTERS = 20, 80


class Problem(NamedTuple):
    """A kind of problem, with the detail and the Retry-After that it has unless others are given."""

    status: int
    title: str
    detail: str = ""
    retry_after: int | None = None


PROBLEMS = {
    "not-valid": Problem(422, "Invalid request"),
    "text-too-long": Problem(422, "Text too long"),
    "too-many-texts": Problem(422, "Too many texts"),
    "unknown-setting": Problem(422, "Invalid method or setting"),
    "unsuitable-text": Problem(422, "Unsuitable text or phrase"),
    "unsuitable-model": Problem(422, "Method not supported by the model"),
    "reader-missing": Problem(422, "Unsupported file type"),
    "key-needed": Problem(401, "API key required"),
    "wrong-origin": Problem(403, "Origin not allowed"),
    "not-found": Problem(404, "Not found"),
    "method-not-allowed": Problem(405, "Method not allowed"),
    "body-too-slow": Problem(408, "Request body timed out"),
    "body-too-large": Problem(413, "Request body too large"),
    "wrong-type": Problem(415, "Unsupported Content-Type"),
    "wrong-encoding": Problem(415, "Unsupported Content-Encoding"),
    "wrong-host": Problem(421, "Host not allowed"),
    "client-gone": Problem(CLIENT_GONE, "Client disconnected", "The client disconnected before the answer was sent."),
    "fault": Problem(500, "Internal error", "An unexpected error occurred; it is logged under this request's id."),
    "queue-full": Problem(503, "Queue full", "Too many requests are waiting. Try again later."),
    "time-limit": Problem(503, "Request timed out", "It took too long. Send less text, or try again later.", 1),
    "shutting-down": Problem(503, "Service shutting down", "The service is shutting down. Try again later.", 5),
    "not-ready": Problem(503, "Model loading", "The model is being loaded.", 1),
    "model-unavailable": Problem(503, "Model unavailable"),
}
BY_STATUS = {404: "not-found", 405: "method-not-allowed"}
BY_ERROR = {
    SettingError: "unknown-setting",
    InputError: "unsuitable-text",
    UnsupportedModel: "unsuitable-model",
    MissingExtra: "reader-missing",
    ModelError: "model-unavailable",
}


class HttpProblem(Exception):
    """An error response: a name from PROBLEMS, and a sentence for people."""

    def __init__(
        self,
        name: str,
        detail: str = "",
        *,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(name)
        problem = PROBLEMS[name]
        self.name, self.status, self.title, self.errors = name, problem.status, problem.title, errors
        self.detail = detail or problem.detail
        self.headers = dict(headers or {})
        if (seconds := retry_after or problem.retry_after) is not None:
            self.headers["Retry-After"] = str(seconds)

    def to_dict(self, request_id: str) -> dict[str, Any]:
        about = {"type": f"/problems/{self.name}", "title": self.title, "status": self.status, "detail": self.detail}
        errors = [{"where": where, "message": message} for where, message in self.errors]
        return {**about, "request_id": request_id, **({"errors": errors} if errors else {})}

    def response(self, request_id: str) -> Response:
        body = json.dumps(self.to_dict(request_id)).encode()
        return Response(body, self.status, self.headers, MEDIA_TYPE)


def invalid(where: str, message: str) -> HttpProblem:
    return HttpProblem("not-valid", f"{where}: {message}", errors=[(where, message)])


def problem_of(error: BaseException) -> HttpProblem:
    """The problem for an exception; an unexpected one reveals nothing."""
    match error:
        case HttpProblem():
            return error
        case RequestValidationError():
            return _not_valid(error.errors())
        case HTTPException(status_code=404 | 405 as status):
            return HttpProblem(BY_STATUS[status], f"{error.detail}. See /docs.", headers=error.headers)
        case HTTPException(status_code=400):  # raised by FastAPI for a body that it cannot parse
            return HttpProblem("not-valid", "The body is not JSON in UTF-8.", errors=[("body", "not JSON in UTF-8")])
    name = next((name for kind, name in BY_ERROR.items() if isinstance(error, kind)), None)
    return HttpProblem(name, str(error)) if name else HttpProblem("fault")


def problem_of_text(error: BaseException, where: str) -> HttpProblem:
    """The problem for an exception that one text of a request raised, or that the settings for all its texts did."""
    problem = problem_of(error)
    place = {"unsuitable-text": where, "unknown-setting": "settings"}.get(problem.name)
    return HttpProblem(problem.name, problem.detail, errors=[(place, problem.detail)] if place else ())


def _not_valid(errors: Sequence[Any]) -> HttpProblem:
    """Where the errors are, and which; never the values themselves."""
    if errors[0]["type"] == "json_invalid":
        reason = _lower_first(str(errors[0]["ctx"]["error"])).removesuffix(" at")  # of json, which quotes nothing
        messages = [("body", f"not JSON: {reason} at character {errors[0]['loc'][-1]}")]
    else:
        messages = [(_where(error["loc"]), _message(error)) for error in errors[:MAX_ERRORS]]
    more = len(errors) - len(messages)
    detail = "; ".join(f"{where}: {message}" for where, message in messages[:3])
    return HttpProblem("not-valid", detail + (f"; and {more:,} more" if more else ""), errors=messages)


def _where(places: Sequence[str | int]) -> str:
    named = ".".join(str(place) for place in places if place != "body") or "body"
    return "".join(c if c.isprintable() else "\ufffd" for c in named)[:MAX_WHERE_CHARACTERS]


def _message(error: Mapping[str, Any]) -> str:
    known = {"missing": "is missing", "model_attributes_type": "must be a JSON object"}
    return known.get(error["type"]) or _lower_first(str(error["msg"]).removeprefix("Value error, "))


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]
