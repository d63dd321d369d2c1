"""A backend for KeyBERT's KeyLLM: keyphrases in the place of what a chat model would write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mudy.extractor import DEFAULT_METHOD
from mudy.integrations import from_extra
from mudy.integrations.extraction import check_plain_settings, results_of
from mudy.validation import TopN

with from_extra("keybert"):
    from keybert.llm._base import BaseLLM


class KeyphraseLLM(BaseLLM):  # type: ignore[misc]  # KeyBERT has no types
    """Gives KeyLLM the keyphrases of each text, or a ranking of the candidates that it was given for that text.

    Further `settings` are those of `Extractor` and `extract`.
    """

    def __init__(self, method: str = DEFAULT_METHOD, *, top_n: TopN = 10, **settings: Any) -> None:
        self.settings = {"method": method, "top_n": top_n, **settings}
        check_plain_settings(self.settings)

    def extract_keywords(
        self, documents: Sequence[str], candidate_keywords: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        results = results_of(documents, {**self.settings, "candidates": candidate_keywords})
        return [[keyphrase.text for keyphrase in result] for result in results]
