"""Requests -> jobs: within limits, with settings that fit their methods, and with how their answers are written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mudy.cancellation import check
from mudy.explanation import Explanation, gold_places
from mudy.server.config import Config
from mudy.server.jobs import Ask, Job, Key
from mudy.server.problems import Problem
from mudy.server.schemas import ExplainRequest, ExtractRequest, checked

AT_ONCE = 256  # items of a list that are written without a check for cancellation


class NotFinite(ArithmeticError):
    """A score that is no number."""


def extraction(asked: ExtractRequest, config: Config, request: str) -> Job:
    """A job of one text or more for one method."""
    texts = _within(asked.placed, config)
    method = asked.method or config.method
    key = Key(method, checked(method, asked.settings, "settings"))
    asks = [Ask.of(text, key, asked.options(), where) for where, text in texts.items()]
    return Job(asks, _results, request)


def explanation(asked: ExplainRequest, config: Config, request: str) -> Job:
    """A job of one text for one method or more."""
    texts = _within({"text": asked.text}, config)
    methods = asked.methods or [config.method]
    for name in asked.settings:
        if name not in methods:
            message = f"settings were given for {name!r}, which is not among the methods to compare"
            raise Problem("not-valid", f"settings: {message}", errors=[("settings", message)])
    asks = [
        Ask.of(texts["text"], Key(name, checked(name, own, f"settings.{name}")), asked.options())
        for name in methods
        for own in [asked.settings.get(name, {})]
    ]
    return Job(asks, lambda job: _explanation(job, asked.gold), request, one_text=True)


def _within(texts: Mapping[str, str], config: Config) -> Mapping[str, str]:
    if len(texts) > config.max_texts:
        message = f"{len(texts):,} texts were sent, but at most {config.max_texts:,} are allowed"
        raise Problem("too-many-texts", f"{message}. Send several requests.", errors=[("texts", message)])
    for where, text in texts.items():
        if len(text) > config.max_characters:
            message = f"{len(text):,} characters were sent, but at most {config.max_characters:,} are allowed"
            raise Problem("text-too-long", f"{message}. Send its parts.", errors=[(where, message)])
    return texts


def _results(job: Job) -> bytes:
    return _written({"results": [found.result.to_dict() for found in job.in_order]})


def _explanation(job: Job, gold: list[str]) -> bytes:
    assert job.document is not None
    found = Explanation(job.document.text, tuple(job.in_order), gold_places(job.document, gold))
    return _written(found.to_dict())


def _written(answer: dict[str, Any]) -> bytes:
    """JSON in UTF-8; escaped where a text holds half a surrogate pair, which UTF-8 cannot write."""
    try:
        return "".join(_pieces(answer, ensure_ascii=False)).encode()
    except UnicodeEncodeError:
        return "".join(_pieces(answer, ensure_ascii=True)).encode()
    except ValueError as error:
        raise NotFinite from error


def _pieces(value: Any, ensure_ascii: bool) -> Iterator[str]:
    """What json.dumps writes, a few items at a time: an answer of 100 MB would take seconds in one go."""
    if _is_deep(value):
        for number, (name, inner) in enumerate(value.items()):
            yield f"{', ' if number else '{'}{json.dumps(name, ensure_ascii=ensure_ascii)}: "
            yield from _pieces(inner, ensure_ascii)
        yield "}"
    elif isinstance(value, list) and len(value) > AT_ONCE:
        for start in range(0, len(value), AT_ONCE):
            yield ", " if start else "["
            yield "".join(_pieces(value[start : start + AT_ONCE], ensure_ascii))[1:-1]
        yield "]"
    elif isinstance(value, list) and any(map(_is_deep, value)):
        for number, inner in enumerate(value):
            yield ", " if number else "["
            yield from _pieces(inner, ensure_ascii)
        yield "]"
    else:
        check()
        yield json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False)


def _is_deep(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(inner, dict | list) for inner in value.values())
