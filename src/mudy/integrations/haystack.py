"""A Haystack component that adds keyphrases to the meta data of documents."""

from dataclasses import replace
from typing import Any

from mudy._support.validation import TopN
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations import from_extra
from mudy.integrations.extraction import check_plain_settings, results_of, shared_extractor

with from_extra("haystack"):
    from haystack import Document as HaystackDocument
    from haystack import component


@component
class KeyphraseAnnotator:
    """Copies of documents whose meta data list their keyphrases, best first. Documents without text stay as they are.

    `settings` are further ones of `Extractor` and `extract`.
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        speed: str | None = None,
        top_n: TopN = 10,
        meta_key: str = "keyphrases",
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.speed = speed
        self.top_n = top_n
        self.meta_key = meta_key
        self.settings = settings
        check_plain_settings(self._plain_settings())

    def warm_up(self) -> None:
        """Load the models now; else they are loaded with the first document."""
        shared = shared_extractor(self._plain_settings())
        with shared.turn:
            shared.extractor.load_tagger()
            shared.extractor.load()

    @component.output_types(documents=list[HaystackDocument])  # type: ignore[untyped-decorator]
    def run(self, documents: list[HaystackDocument]) -> dict[str, list[HaystackDocument]]:
        documents = list(documents)
        texts = [document.content for document in documents if document.content is not None]
        results = results_of(texts, self._plain_settings())
        return {
            "documents": [
                document
                if document.content is None
                else replace(document, meta={**document.meta, self.meta_key: [k.text for k in next(results)]})
                for document in documents
            ]
        }

    def _plain_settings(self) -> dict[str, Any]:
        return {"method": self.method, "speed": self.speed, "top_n": self.top_n, **(self.settings or {})}
