"""Requests -> jobs: checks limits and settings, and writes the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mudy._support.cancellation import check
from mudy.extraction.explanation import Explanation, gold_places
from mudy.server.config import Config
from mudy.server.jobs import ExtractionJob, ExtractorKey, TextRequest
from mudy.server.problems import HttpProblem
from mudy.server.request_schemas import ExplainRequest, ExtractRequest
from mudy.server.setting_schemas import validated_settings

ITEMS_PER_CHECK = 256  # items of a list that are written between two checks for cancellation


class NotFinite(ArithmeticError):
    """A score is not a finite number."""


def extraction_job(request: ExtractRequest, config: Config, request_id: str) -> ExtractionJob:
    """One or more texts for one method."""
    texts = _within_limits(request.by_place, config)
    method = request.method or config.method
    key = ExtractorKey(method, validated_settings(method, request.settings, "settings"))
    options = request.options()
    requested = [TextRequest.of(text, key, options, where) for where, text in texts.items()]
    return ExtractionJob(requested, _write_results, request_id)


def explanation_job(request: ExplainRequest, config: Config, request_id: str) -> ExtractionJob:
    """One text for one or more methods."""
    texts = _within_limits({"text": request.text}, config)
    methods = request.methods or [config.method]
    for name in request.settings:
        if name not in methods:
            message = f"settings were given for {name!r}, which is not one of the methods to compare"
            raise HttpProblem("not-valid", f"settings: {message}", errors=[("settings", message)])
    keys = [
        ExtractorKey(name, validated_settings(name, request.settings.get(name, {}), f"settings.{name}"))
        for name in methods
    ]
    options = request.options()
    requested = [TextRequest.of(texts["text"], key, options) for key in keys]
    return ExtractionJob(requested, lambda job: _write_explanation(job, request.gold), request_id, one_text=True)


def _within_limits(texts: Mapping[str, str], config: Config) -> Mapping[str, str]:
    if len(texts) > config.max_texts:
        message = f"{len(texts):,} texts were sent, but at most {config.max_texts:,} are allowed"
        raise HttpProblem("too-many-texts", f"{message}. Send several requests.", errors=[("texts", message)])
    for where, text in texts.items():
        if len(text) > config.max_characters:
            message = f"{len(text):,} characters were sent, but at most {config.max_characters:,} are allowed"
            raise HttpProblem("text-too-long", f"{message}. Send its parts.", errors=[(where, message)])
    return texts


def _write_results(job: ExtractionJob) -> bytes:
    return _to_json({"results": [explained.result.to_dict() for explained in job.in_order]})


def _write_explanation(job: ExtractionJob, gold: list[str]) -> bytes:
    assert job.document is not None
    explanation = Explanation(job.document.text, tuple(job.in_order), gold_places(job.document, gold))
    return _to_json(explanation.to_dict())


def _to_json(answer: dict[str, Any]) -> bytes:
    """JSON in UTF-8; escaped if a text holds a lone surrogate, which UTF-8 cannot encode."""
    try:
        return "".join(_json_pieces(answer, ensure_ascii=False)).encode()
    except UnicodeEncodeError:
        return "".join(_json_pieces(answer, ensure_ascii=True)).encode()
    except ValueError as error:
        raise NotFinite from error


def _json_pieces(value: Any, ensure_ascii: bool) -> Iterator[str]:
    """The output of json.dumps, a few items at a time: an answer of 100 MB would take seconds without a check."""
    if _is_nested(value):
        for number, (name, inner) in enumerate(value.items()):
            yield f"{', ' if number else '{'}{json.dumps(name, ensure_ascii=ensure_ascii)}: "
            yield from _json_pieces(inner, ensure_ascii)
        yield "}"
    elif isinstance(value, list) and len(value) > ITEMS_PER_CHECK:
        for start in range(0, len(value), ITEMS_PER_CHECK):
            yield ", " if start else "["
            yield "".join(_json_pieces(value[start : start + ITEMS_PER_CHECK], ensure_ascii))[1:-1]
        yield "]"
    elif isinstance(value, list) and any(map(_is_nested, value)):
        for number, inner in enumerate(value):
            yield ", " if number else "["
            yield from _json_pieces(inner, ensure_ascii)
        yield "]"
    else:
        check()
        yield json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(inner, dict | list) for inner in value.values())
