"""A chat model behind an address: any server that speaks OpenAI's chat completions over HTTP.

The key is read from OPENAI_API_KEY. It goes into one header of the request, to the address given alone (redirects are
not followed), and into nothing else: no message, no result, no log.
"""

from __future__ import annotations

import json
import os
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from math import isfinite
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from mudy.errors import EndpointError, EndpointRefused, SettingError
from mudy.text import squeeze

KEY = "OPENAI_API_KEY"
PATH = "/chat/completions"
LARGEST_ANSWER = 4_000_000  # bytes
LONGEST_PAUSE = 60.0  # seconds, where the server asks for no longer one
THOUGHT = 8_192  # tokens beside the answer, for models that count what they think
LONGEST_QUOTE = 200  # characters of a server's message in ours


class Endpoint:
    """Asks for one answer at a time, at temperature 0.

    Parameters that newer models reject are left out or renamed once the server says so: without a temperature, the same
    prompt may get another answer. What may pass (no connection, no answer in time, 408, 429, 5xx, an answer of another
    shape) is tried again after a pause that doubles, or as long as the server asks for; at most `tries` times, and
    within `patience` seconds in all.
    """

    room = None

    def __init__(
        self,
        url: str,
        name: str,
        *,
        key: str = "",
        timeout: float = 300.0,
        patience: float = 900.0,
        tries: int = 5,
        pause: float = 1.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url, self.name = address(url), name
        self.timeout, self.patience, self.tries, self.pause, self.sleep = timeout, patience, tries, pause, sleep
        self._key = key.strip()
        if not self._key.isascii() or not self._key.isprintable():
            raise SettingError(f"{KEY} holds characters that no key has. Set it again; white space around it is fine.")
        self._opener = build_opener(_NoRedirects)
        self._temperature, self._limit = True, "max_tokens"

    @classmethod
    def of(cls, url: str, name: str) -> Endpoint:
        """With the key of the environment, if there is one."""
        return cls(url, name, key=os.environ.get(KEY, ""))

    def length(self, system: str, user: str) -> int:
        raise NotImplementedError("An endpoint tells neither its room nor what takes it.")

    def write(self, system: str, user: str, max_new_tokens: int) -> str:
        started = time.monotonic()
        for tried in range(1, self.tries + 1):
            left = self.patience - (time.monotonic() - started)
            try:
                return self._try(system, user, max_new_tokens, min(self.timeout, max(left, 0.001)))
            except _Passing as error:
                passing = error
            pause = max(passing.wait or 0.0, self._pause(tried))
            left = self.patience - (time.monotonic() - started)
            if tried == self.tries or pause > left:
                break
            self.sleep(pause)
        asked = f" It asks to wait for {passing.wait:,.0f} s." if passing.wait else ""
        times = "once" if tried == 1 else f"{tried} times"
        raise EndpointError(
            f"{self._shown} was asked {times} and gave no answer of use: {passing}.{asked} A server that speaks "
            f"OpenAI's chat completions is needed; see that it runs there and has time, then try again."
        ) from passing

    def _pause(self, tried: int) -> float:
        """Doubles from try to try; a random part of it keeps many callers from returning all at once."""
        return min(LONGEST_PAUSE, self.pause * float(2 ** (tried - 1))) * random.uniform(0.5, 1.0)

    def _try(self, system: str, user: str, max_new_tokens: int, seconds: float) -> str:
        while True:
            status, headers, body = self._send(self._request(system, user, max_new_tokens), seconds)
            if 200 <= status < 300:
                return self._answer(body, max_new_tokens)
            problem = Problem.of(body)
            if status in (400, 422) and self._gives_way(problem):
                continue
            if status == 400 and problem.code == "content_filter":
                return ""  # how Azure declines
            self._fail(status, headers, problem)

    def _request(self, system: str, user: str, max_new_tokens: int) -> Request:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": "system", "content": readable(system)}, {"role": "user", "content": readable(user)}],
            self._limit: max_new_tokens if self._limit == "max_tokens" else max_new_tokens + THOUGHT,
        }
        if self._temperature:
            body["temperature"] = 0
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "mudy"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return Request(self.url, json.dumps(body).encode(), headers, method="POST")

    def _send(self, request: Request, seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body, whatever they are."""
        until = time.monotonic() + seconds
        try:
            try:
                response = self._opener.open(request, timeout=seconds)
            except HTTPError as error:
                response = error
            with response:
                return response.status, response.headers, self._body(response, until)
        except (OSError, HTTPException, UnicodeError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise EndpointRefused(
                    f"{self._shown} shows a certificate that is not trusted: {reason.verify_message}. "
                    "Check the address, or add the certificate to those that are (SSL_CERT_FILE)."
                ) from error
            late = isinstance(reason, TimeoutError)
            raise _Passing(f"no answer within {seconds:,.3g} s" if late else self._quoted(described(reason))) from error

    def _body(self, response: Any, until: float) -> bytes:
        """All of it, within its time and size even if it comes byte by byte."""
        found = bytearray()
        while part := response.read1(65_536):
            found += part
            if len(found) > LARGEST_ANSWER:
                raise EndpointError(
                    f"{self._shown} sent more than {LARGEST_ANSWER:,} bytes, which is no answer of a chat model. "
                    f"Check the address."
                )
            if time.monotonic() > until:
                raise TimeoutError
        return bytes(found)

    def _gives_way(self, problem: Problem) -> bool:
        """Leave out or rename what the server rejects, each once."""
        if self._limit == "max_tokens" and problem.names("max_tokens"):
            self._limit = "max_completion_tokens"
            return True
        if self._temperature and problem.names("temperature"):
            self._temperature = False
            return True
        return False

    def _answer(self, body: bytes, max_new_tokens: int) -> str:
        """The text of an answer; empty where the model declined."""
        found = completion(body)
        if found is None:
            raise _Passing(f"its answer is no chat completion but {self._quoted(Problem.of(body).message)!r}")
        text, ended = found
        if not text.strip() and ended == "length":
            raise EndpointError(
                f"{self.name} at {self._shown} wrote nothing within its limit of tokens: it may have spent all of them "
                f"on thought. max_new_tokens is {max_new_tokens:,}; raise it."
            )
        return text

    def _fail(self, status: int, headers: Mapping[str, str], problem: Problem) -> None:
        said = f" ({self._quoted(problem.message)})" if problem.message else ""
        if status in (408, 429) or status >= 500:
            raise _Passing(f"HTTP {status}{said}", waiting(headers.get("Retry-After")))
        if status == 401:  # some servers repeat the key here
            state = "was not accepted" if self._key else "is not set"
            raise EndpointRefused(f"{self._shown} asks for a key (HTTP 401), and {KEY} {state}. Set it to a valid key.")
        if status == 403:
            raise EndpointRefused(f"{self._shown} forbids this (HTTP 403{said}). A key with access is needed in {KEY}.")
        if status == 404:
            raise EndpointRefused(
                f"{self._shown} is not there, or has no model {self.name!r} (HTTP 404{said}). Give an address such as "
                "http://localhost:8080/v1, and a model that is served there."
            )
        if status < 400:
            raise EndpointRefused(f"{self._shown} points elsewhere (HTTP {status}). Give the address it points to.")
        raise EndpointError(
            f"{self._shown} does not take this request (HTTP {status}{said}). If the text is too long for "
            f"{self.name}, limit it with max_words."
        )

    @property
    def _shown(self) -> str:
        return self.url.partition("?")[0]  # some addresses hold a key behind it

    def _quoted(self, text: str) -> str:
        """What a server says, short, and without the key."""
        text = squeeze(text.replace(self._key, "***") if self._key else text)
        return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "..."


class _Passing(Exception):
    """A failure that another try may not meet."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait  # seconds that the server asks for


class _NoRedirects(HTTPRedirectHandler):
    """Redirects are answers like others: followed, they would take the key elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Problem:
    """What a server says is wrong, in the words of OpenAI's errors or in others."""

    def __init__(self, message: str, parameter: str = "", code: str = "") -> None:
        self.message, self.parameter, self.code = message, parameter, code

    @classmethod
    def of(cls, body: bytes) -> Problem:
        raw = body[:2_000].decode("utf-8", "replace")
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return cls(raw)
        error = found.get("error") or found.get("detail") or found.get("message") if isinstance(found, dict) else None
        if isinstance(error, dict):
            parts = (error.get(name) for name in ("message", "param", "code"))
            return cls(*("" if part is None else str(part) for part in parts))
        return cls(error if isinstance(error, str) else raw)

    def names(self, parameter: str) -> bool:
        """Whether it is about a parameter of the request."""
        if self.parameter:
            return self.parameter == parameter
        return bool(re.search(rf"\b{parameter}\b", self.message))


def completion(body: bytes) -> tuple[str, object] | None:
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


def address(url: str) -> str:
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


def waiting(header: str | None) -> float | None:
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


def described(reason: object) -> str:
    """A failure of the network in words."""
    if isinstance(reason, ConnectionRefusedError):
        return "connection refused"
    return f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__


def readable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, replaced one for one."""
    return text.encode("utf-8", "replace").decode()
