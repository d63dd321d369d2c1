"""A backend for KeyBERT's KeyLLM: keyphrases in the place of what a chat model would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mudy._support.validation import TopN
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations import from_extra
from mudy.integrations.extraction import results_of

with from_extra("keybert"):
    from keybert.llm import BaseLLM


class KeyphraseLLM(BaseLLM):  # type: ignore[misc]  # KeyBERT has no types
    """Gives KeyLLM the keyphrases of each text, or a ranking of the candidates that it was given for that text.

    `settings` are further ones of `Extractor` and `extract`.
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        speed: str | None = None,
        top_n: TopN = 10,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.speed = speed
        self.top_n = top_n
        self.settings = settings

    def extract_keywords(
        self, documents: Sequence[str], candidate_keywords: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        settings = {"method": self.method, "speed": self.speed, "top_n": self.top_n, **(self.settings or {})}
        if candidate_keywords is not None:
            settings["candidates"] = candidate_keywords
        return [[keyphrase.text for keyphrase in result] for result in results_of(documents, settings)]
