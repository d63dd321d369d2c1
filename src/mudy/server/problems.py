"""What went wrong, as application/problem+json (RFC 9457): for people in `detail`, for programs in `type`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from mudy.errors import InputError, MissingExtra, ModelError, SettingError, UnsupportedModel
from mudy.server.jobs import ClientGone, Failed, ShuttingDown, TimeLimit
from mudy.server.queue import QueueFull

MEDIA_TYPE = "application/problem+json"
CLIENT_GONE = 499  # seen by no client; in logs and metrics alone
MOST_ERRORS, LONGEST_WHERE = 20, 80

TITLES = {
    "not-valid": (422, "The request is not valid"),
    "text-too-long": (422, "A text is too long"),
    "too-many-texts": (422, "There are too many texts"),
    "unknown-setting": (422, "A method or setting cannot be used"),
    "unsuitable-text": (422, "A text or phrase cannot be used"),
    "unsuitable-model": (422, "The method does not fit the model"),
    "reader-missing": (422, "This service cannot read such files"),
    "key-needed": (401, "A key is needed"),
    "not-found": (404, "There is nothing here"),
    "method-not-allowed": (405, "This address knows other methods"),
    "body-too-slow": (408, "The body came too slowly"),
    "body-too-large": (413, "The body is too large"),
    "wrong-type": (415, "The body is not called what it should be"),
    "wrong-host": (421, "The Host header names another service"),
    "client-gone": (CLIENT_GONE, "The client went away"),
    "fault": (500, "Something went wrong on our side"),
    "queue-full": (503, "Too many requests wait"),
    "time-limit": (503, "The request took too long"),
    "shutting-down": (503, "The service ends"),
    "not-ready": (503, "The model is being loaded"),
    "model-unavailable": (503, "A model cannot be had"),
}
BY_STATUS = {404: "not-found", 405: "method-not-allowed"}


class Problem(Exception):
    """A problem by name, with a sentence for people."""

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
        self.status, self.title = TITLES[name]
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    def to_dict(self, request_id: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "type": f"/problems/{self.name}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "request_id": request_id,
        }
        if self.errors:
            found["errors"] = [{"where": where, "message": message} for where, message in self.errors]
        return found

    def response(self, request_id: str) -> Response:
        body = json.dumps(self.to_dict(request_id)).encode()
        return Response(body, self.status, self.headers, MEDIA_TYPE)


def problem_of(error: BaseException, retry_after: int = 1) -> Problem:
    """Any exception as a problem; one that we did not foresee tells nothing of itself."""
    match error:
        case Problem():
            return error
        case RequestValidationError():
            return _not_valid(error.errors(), error.body)
        case HTTPException():
            return _http(error)
        case Failed():
            return _failed(error)
        case QueueFull():
            return Problem(
                "queue-full", "Too many requests wait already. Try again later.", retry_after=error.retry_after
            )
        case TimeLimit():
            return Problem(
                "time-limit",
                "The request took too long. Send less text at once, or try again later.",
                retry_after=retry_after,
            )
        case ShuttingDown():
            return Problem("shutting-down", "The service is being stopped. Try again later.", retry_after=5)
        case ClientGone():
            return Problem("client-gone", "The client went away before the answer was there.")
        case SettingError():
            return Problem("unknown-setting", str(error))
        case InputError():
            return Problem("unsuitable-text", str(error))
        case UnsupportedModel():
            return Problem("unsuitable-model", str(error))
        case MissingExtra():
            return Problem("reader-missing", str(error))
        case ModelError():
            return Problem("model-unavailable", str(error))
        case _:
            return Problem("fault", "An unexpected error was logged under this request's id.")


def _failed(error: Failed) -> Problem:
    """What is wrong with one text, or with the settings for all."""
    found = problem_of(error.cause)
    where = {"unsuitable-text": error.where, "unknown-setting": "settings"}.get(found.name)
    return Problem(found.name, found.detail, errors=[(where, found.detail)] if where else ())


def _http(error: HTTPException) -> Problem:
    if error.status_code in BY_STATUS:
        return Problem(BY_STATUS[error.status_code], f"{error.detail}. See /docs.", headers=error.headers)
    if error.status_code == 400:  # FastAPI's, of a body that no parser can read
        return Problem("not-valid", "The body is not JSON in UTF-8.", errors=[("body", "not JSON in UTF-8")])
    return Problem("fault", "The request could not be answered.")


def _not_valid(errors: Sequence[Any], body: Any) -> Problem:
    """Where something is wrong and what, but not the value itself."""
    if errors[0]["type"] == "json_invalid" and isinstance(body, str):
        found = [("body", _not_json(errors[0], body))]
    else:
        found = [(_where(error["loc"]), _message(error)) for error in errors[:MOST_ERRORS]]
    more = len(errors) - len(found)
    detail = "; ".join(f"{where}: {message}" for where, message in found[:3])
    return Problem("not-valid", detail + (f"; and {more:,} more" if more else ""), errors=found)


def _not_json(error: Mapping[str, Any], body: str) -> str:
    """What keeps a body from being JSON, and where; json's own words, which quote nothing."""
    position = error["loc"][-1]
    line, column = body.count("\n", 0, position) + 1, position - body.rfind("\n", 0, position)
    reason = _lower_first(str(error["ctx"]["error"])).removesuffix(" at")
    return f"not JSON: {reason} at line {line}, column {column}"


def _where(places: Sequence[str | int]) -> str:
    named = ".".join(str(place) for place in places if place != "body") or "body"
    return "".join(c if c.isprintable() else "\ufffd" for c in named)[:LONGEST_WHERE]


def _message(error: Mapping[str, Any]) -> str:
    known = {"missing": "is missing", "model_attributes_type": "a JSON object is needed"}
    return known.get(error["type"]) or _lower_first(str(error["msg"]).removeprefix("Value error, "))


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]
