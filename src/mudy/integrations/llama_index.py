"""A LlamaIndex metadata extractor, in the place of its KeywordExtractor, that asks no chat model."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations import from_extra
from mudy.integrations.extraction import check_plain_settings, results_of

with from_extra("llama-index"):
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.extractors import BaseExtractor
    from llama_index.core.schema import BaseNode, MetadataMode

METADATA_KEY = "excerpt_keywords"  # as KeywordExtractor names it


class KeyphraseExtractor(BaseExtractor):  # type: ignore[misc]  # not followed by mypy
    """Adds the keyphrases of each node to its metadata as one text, with commas between them.

    `settings` are further ones of `Extractor` and `extract`. All are fields, which the ingestion cache looks at.
    """

    method: str = Field(default=DEFAULT_METHOD, description="The method, see `mudy methods`.")
    speed: str | None = Field(default=None, description="How exactly to compute: quick, fast or exact.")
    top_n: int | float | Literal["auto"] | None = Field(default=5, description="How many keyphrases.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Further settings.")

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        check_plain_settings(self._plain_settings())

    @classmethod
    def class_name(cls) -> str:
        return "KeyphraseExtractor"

    async def aextract(self, nodes: Sequence[BaseNode]) -> list[dict[str, str]]:
        return await asyncio.to_thread(self._metadata, nodes)

    def _metadata(self, nodes: Sequence[BaseNode]) -> list[dict[str, str]]:
        """The metadata of each node; none for those without text."""
        texts = [node.get_content(MetadataMode.NONE) for node in nodes]
        results = results_of([text for text in texts if text], self._plain_settings())
        return [{METADATA_KEY: ", ".join(k.text for k in next(results))} if text else {} for text in texts]

    def _plain_settings(self) -> dict[str, Any]:
        return {"method": self.method, "speed": self.speed, "top_n": self.top_n, **self.settings}
