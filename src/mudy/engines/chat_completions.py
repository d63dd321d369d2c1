"""The form of OpenAI's chat completions over HTTP: addresses, requests, answers and errors."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from mudy.errors import SettingError

KEY = "OPENAI_API_KEY"
PATH = "/chat/completions"


def completions_url(url: str) -> str:
    """Where to send requests to; what is no address of the web, or holds a password, raises."""
    needed = "An address such as http://localhost:8080/v1 is needed."
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or not url.isascii() or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise SettingError(f"endpoint is {url!r}. {needed}")
    if parts.username is not None or parts.password is not None:
        raise SettingError(f"endpoint holds a user name or password. {needed} Keys go into {KEY}.")
    path = parts.path.rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path if path.endswith(PATH) else path + PATH, parts.query, ""))


class ErrorBody:
    """What a server says is wrong, in the form of OpenAI's errors or in another."""

    def __init__(self, message: str, parameter: str = "", code: str = "") -> None:
        self.message, self.parameter, self.code = message, parameter, code

    @classmethod
    def of(cls, body: bytes) -> ErrorBody:
        raw = body[:2_000].decode("utf-8", "replace")
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            return cls(raw)
        error: Any = None
        if isinstance(content, dict):
            error = content.get("error") or content.get("detail") or content.get("message")
        if isinstance(error, dict):
            parts = (error.get(name) for name in ("message", "param", "code"))
            return cls(*("" if part is None else str(part) for part in parts))
        return cls(error if isinstance(error, str) else raw)

    def names(self, parameter: str) -> bool:
        """Whether it is about a parameter of the request."""
        if self.parameter:
            return self.parameter == parameter
        return bool(re.search(rf"\b{parameter}\b", self.message))


def parse_completion(body: bytes) -> tuple[str, object] | None:
    """What a model wrote, empty where it declined, and why it ended; None where the body is no chat completion."""
    try:
        choice = json.loads(body)["choices"][0]
        message, ended = choice["message"], choice.get("finish_reason")
        if message.get("refusal") or ended == "content_filter":
            return "", ended
        written = message.get("content") or ""
        return (written if isinstance(written, str) else "".join(part.get("text") or "" for part in written)), ended
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def retry_after(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number of them, or a date; None where it says neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except (ValueError, TypeError):
            return None
        seconds = ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if isfinite(seconds) else None
