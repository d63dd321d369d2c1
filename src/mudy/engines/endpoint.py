"""A chat model behind an address: any server that speaks OpenAI's chat completions over HTTP.

The key is read from OPENAI_API_KEY. It goes into one header of the request, to the address given alone (redirects are
not followed), and into nothing else: no message, no result, no log.
"""

import json
import logging
import os
import random
import re
import ssl
import time
from math import isfinite
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit, urlunsplit

import httpx

from mudy.errors import EndpointError, EndpointRefused, SettingError
from mudy.reading.document import squeeze

LARGEST_ANSWER = 4_000_000  # bytes
LONGEST_PAUSE = 60.0  # seconds, where the server asks for no longer one
THOUGHT = 8_192  # tokens beside the answer, for models that count what they think
LONGEST_QUOTE = 200  # characters of a server's message in ours
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


class ErrorBody(NamedTuple):
    """What a server says is wrong, in the form of OpenAI's errors or in another."""

    message: str
    parameter: str = ""
    code: str = ""

    @classmethod
    def of(cls, body: bytes) -> Self:
        try:
            content = json.loads(body)
            error = content.get("error") or content.get("detail") or content.get("message")
        except (ValueError, RecursionError, AttributeError):
            error = None
        if isinstance(error, dict):
            return cls(*(str(error.get(name) or "") for name in ("message", "param", "code")))
        return cls(error if isinstance(error, str) else body[:2_000].decode("utf-8", "replace"))

    def names(self, parameter: str) -> bool:
        return self.parameter == parameter if self.parameter else bool(re.search(rf"\b{parameter}\b", self.message))


def retry_after(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for; None where it names none. Chat servers send no dates."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return max(0.0, seconds) if isfinite(seconds) else None


class Endpoint:
    """Asks for one answer at a time, at temperature 0.

    Parameters that newer models reject are left out or renamed once the server says so: without a temperature, the same
    prompt may get another answer. What may pass (no connection, no answer in time, 408, 429, 5xx, an answer of another
    shape) is tried again after a pause that doubles, or as long as the server asks for; at most `tries` times, and
    within `patience` seconds in all.
    """

    room = None
    timeout, patience, pause = 300.0, 900.0, 1.0  # seconds: for one answer, for all tries, and before the second try
    tries, sleep = 5, staticmethod(time.sleep)

    def __init__(self, url: str, name: str, key: str | None = None) -> None:
        self.url, self.name = completions_url(url), name
        self._key = (os.environ.get(KEY, "") if key is None else key).strip()
        if not self._key.isascii() or not self._key.isprintable():
            raise SettingError(f"{KEY} holds characters that no key has. Set it again; white space around it is fine.")
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "mudy"}
        self._client = httpx.Client(
            headers=headers | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
            verify=ssl.create_default_context(),  # the system's certificates, or those of SSL_CERT_FILE
            follow_redirects=False,  # they would take the key elsewhere
            limits=httpx.Limits(max_keepalive_connections=0),  # an answer takes seconds, a connection none
        )
        logging.getLogger("httpx").addFilter(_without_queries)
        self._temperature, self._limit = True, "max_tokens"

    def length(self, system: str, user: str) -> int:
        raise NotImplementedError("An endpoint tells neither its room nor what takes it.")

    def write(self, system: str, user: str, max_new_tokens: int) -> str:
        end = time.monotonic() + self.patience
        for tried in range(1, self.tries + 1):
            try:
                return self._try(system, user, max_new_tokens, min(self.timeout, max(end - time.monotonic(), 0.001)))
            except _Passing as error:
                passing = error
            doubled = min(LONGEST_PAUSE, self.pause * 2.0 ** (tried - 1))
            pause = max(passing.wait or 0.0, doubled * random.uniform(0.5, 1.0))  # many callers return one by one
            if tried == self.tries or time.monotonic() + pause > end:
                break
            self.sleep(pause)
        asked = f" It asks to wait for {passing.wait:,.0f} s." if passing.wait else ""
        times = "once" if tried == 1 else f"{tried} times"
        raise EndpointError(
            f"{self._shown} was asked {times} and gave no answer of use: {passing}.{asked} A server that speaks "
            f"OpenAI's chat completions is needed; see that it runs there and has time, then try again."
        ) from passing

    def _try(self, system: str, user: str, max_new_tokens: int, seconds: float) -> str:
        turns = (("system", system), ("user", user))
        request: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": role, "content": text.encode(errors="replace").decode()} for role, text in turns],
            self._limit: max_new_tokens if self._limit == "max_tokens" else max_new_tokens + THOUGHT,
        }
        if self._temperature:
            request["temperature"] = 0
        status, wait, body = self._post(request, seconds)
        if 200 <= status < 300:
            return self._answer(body, max_new_tokens)
        problem = ErrorBody.of(body)
        if status in (400, 422):
            if self._limit == "max_tokens" and problem.names("max_tokens"):
                self._limit = "max_completion_tokens"
                return self._try(system, user, max_new_tokens, seconds)
            if self._temperature and problem.names("temperature"):
                self._temperature = False
                return self._try(system, user, max_new_tokens, seconds)
            if problem.code == "content_filter":
                return ""  # how Azure declines
        raise self._failure(status, wait, problem)

    def _post(self, request: dict[str, Any], seconds: float) -> tuple[int, str | None, bytes]:
        """Status, Retry-After and body of an answer, within its time and size even if it comes byte by byte."""
        until, body = time.monotonic() + seconds, bytearray()
        try:
            with self._client.stream("POST", self.url, json=request, timeout=seconds) as response:
                for chunk in response.iter_raw():
                    body += chunk
                    if len(body) > LARGEST_ANSWER:
                        raise EndpointError(
                            f"{self._shown} sent more than {LARGEST_ANSWER:,} bytes, which is no answer of a chat "
                            "model. Check the address."
                        )
                    if time.monotonic() > until:
                        raise TimeoutError
                return response.status_code, response.headers.get("Retry-After"), bytes(body)
        except (httpx.TimeoutException, TimeoutError) as error:
            raise _Passing(f"no answer within {seconds:,.3g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise EndpointRefused(
                    f"{self._shown} shows a certificate that is not trusted: {error}. "
                    "Check the address, or add the certificate to those that are (SSL_CERT_FILE)."
                ) from error
            refused = isinstance(error, httpx.ConnectError) and "refused" in str(error)
            raise _Passing("connection refused" if refused else self._quoted(repr(error))) from error

    def _answer(self, body: bytes, max_new_tokens: int) -> str:
        """What a model wrote; empty where it declined."""
        try:
            choice = json.loads(body)["choices"][0]
            message, ended = choice["message"], choice.get("finish_reason")
            if message.get("refusal") or ended == "content_filter":
                return ""
            content = message.get("content") or ""
            text = content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            text = None
        if text is None:  # outside of the block: its exception holds the body, and that perhaps the key
            raise _Passing(f"its answer is no chat completion but {self._quoted(ErrorBody.of(body).message)!r}")
        if not text.strip() and ended == "length":
            raise EndpointError(
                f"{self.name} at {self._shown} wrote nothing within its limit of tokens: it may have spent all of them "
                f"on thought. max_new_tokens is {max_new_tokens:,}; raise it."
            )
        return text

    def _failure(self, status: int, wait: str | None, problem: ErrorBody) -> Exception:
        quote = f" ({self._quoted(problem.message)})" if problem.message else ""
        if status in (408, 429) or status >= 500:
            return _Passing(f"HTTP {status}{quote}", retry_after(wait))
        refused = {
            401: f"asks for a key (HTTP 401), and {KEY} {'was not accepted' if self._key else 'is not set'}. "
            "Set it to a valid key.",  # without the quote: some servers repeat the key here
            403: f"forbids this (HTTP 403{quote}). A key with access is needed in {KEY}.",
            404: f"is not there, or has no model {self.name!r} (HTTP 404{quote}). "
            "Give an address such as http://localhost:8080/v1, and a model that is served there.",
        }
        if status < 400 or status in refused:
            elsewhere = f"points elsewhere (HTTP {status}). Give the address it points to."
            return EndpointRefused(f"{self._shown} {refused.get(status, elsewhere)}")
        return EndpointError(
            f"{self._shown} does not take this request (HTTP {status}{quote}). If the text is too long for "
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


def _without_queries(record: logging.LogRecord) -> bool:
    """A filter for httpx's log, which holds the address of every request: some addresses hold a key in their query."""
    if isinstance(record.args, tuple):
        record.args = tuple(arg.copy_with(query=None) if isinstance(arg, httpx.URL) else arg for arg in record.args)
    return True
