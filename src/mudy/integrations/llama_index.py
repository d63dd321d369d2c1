"""A LlamaIndex metadata extractor that replaces its KeywordExtractor and needs no chat model."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from mudy._support.extras import from_extra
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations.extraction import check_plain_settings, phrase_column, plain_settings

with from_extra("llama-index"):
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.extractors import BaseExtractor
    from llama_index.core.schema import BaseNode, MetadataMode

METADATA_KEY = "excerpt_keywords"  # as KeywordExtractor names it


class KeyphraseExtractor(BaseExtractor):  # type: ignore[misc]  # not followed by mypy
    """Adds the keyphrases of each node to its metadata as one text, separated by commas.

    `settings` are further settings of `Extractor` and `extract`. All are fields, so that the ingestion cache
    takes them into account.
    """

    method: str = Field(default=DEFAULT_METHOD, description="The method, see `mudy methods`.")
    speed: str | None = Field(default=None, description="How exactly to compute: quick, fast or exact.")
    top_n: int | float | Literal["auto"] | None = Field(default=5, description="How many keyphrases.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Further settings.")

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        check_plain_settings(plain_settings(self))

    @classmethod
    def class_name(cls) -> str:
        return "KeyphraseExtractor"

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, str]]:
        """The metadata of each node; empty for nodes without text."""
        texts = [node.get_content(MetadataMode.NONE) or None for node in nodes]
        column = await asyncio.to_thread(phrase_column, texts, plain_settings(self))
        return [{} if phrases is None else {METADATA_KEY: ", ".join(phrases)} for phrases in column]
