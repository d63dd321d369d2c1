"""A Haystack component that adds keyphrases to the metadata of documents."""

from dataclasses import dataclass, replace
from typing import Any

from mudy._support.extras import from_extra
from mudy._support.validation import TopN
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations.extraction import check_plain_settings, phrase_column, plain_settings, shared_extractor

with from_extra("haystack"):
    from haystack import Document as HaystackDocument
    from haystack import component


@component
@dataclass(eq=False, repr=False)
class KeyphraseAnnotator:
    """Copies documents and adds their keyphrases to the metadata, best first. Documents without text are unchanged.

    `settings` are further settings of `Extractor` and `extract`.
    """

    method: str = DEFAULT_METHOD
    speed: str | None = None
    top_n: TopN = 10
    meta_key: str = "keyphrases"
    settings: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        check_plain_settings(plain_settings(self))

    def warm_up(self) -> None:
        """Load the models now instead of with the first document."""
        shared = shared_extractor(plain_settings(self))
        with shared.turn:
            shared.extractor.load_tagger()
            shared.extractor.load()

    @component.output_types(documents=list[HaystackDocument])  # type: ignore[untyped-decorator]
    def run(self, documents: list[HaystackDocument]) -> dict[str, list[HaystackDocument]]:
        documents = list(documents)
        column = phrase_column((document.content for document in documents), plain_settings(self))
        return {
            "documents": [
                document if phrases is None else replace(document, meta={**document.meta, self.meta_key: phrases})
                for document, phrases in zip(documents, column, strict=True)
            ]
        }
