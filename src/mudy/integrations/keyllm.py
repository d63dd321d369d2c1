"""A backend for KeyBERT's KeyLLM: keyphrases instead of the answers of a chat model."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from mudy._support.extras import from_extra
from mudy._support.validation import TopN
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations.extraction import phrase_column, plain_settings

with from_extra("keybert"):
    from keybert.llm import BaseLLM


@dataclass(eq=False, repr=False)
class KeyphraseLLM(BaseLLM):  # type: ignore[misc]  # KeyBERT has no types
    """Returns the keyphrases of each text, or ranks the candidates given for that text.

    `settings` are further settings of `Extractor` and `extract`.
    """

    method: str = DEFAULT_METHOD
    _: KW_ONLY
    speed: str | None = None
    top_n: TopN = 10
    settings: Mapping[str, Any] | None = None

    def extract_keywords(
        self, documents: Sequence[str], candidate_keywords: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        settings = plain_settings(self)
        if candidate_keywords is not None:
            settings["candidates"] = candidate_keywords
        return [phrases or [] for phrases in phrase_column(documents, settings)]
