"""A LangChain document transformer that adds keyphrases to the metadata of documents."""

from collections.abc import Iterable
from typing import Any

from mudy._support.extras import from_extra
from mudy._support.validation import TopN
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations.extraction import check_plain_settings, phrase_column

with from_extra("langchain"):
    from langchain_core.documents import BaseDocumentTransformer
    from langchain_core.documents import Document as LangChainDocument


class KeyphraseTransformer(BaseDocumentTransformer):  # type: ignore[misc]  # not followed by mypy
    """Copies documents and adds their keyphrases to the metadata, best first.

    Further `settings` are those of `Extractor` and `extract`.
    """

    def __init__(
        self, method: str = DEFAULT_METHOD, *, top_n: TopN = 10, metadata_key: str = "keywords", **settings: Any
    ) -> None:
        self.settings = {"method": method, "top_n": top_n, **settings}
        self.metadata_key = metadata_key
        check_plain_settings(self.settings)

    def transform_documents(
        self,
        documents: Iterable[LangChainDocument],
        **kwargs: Any,  # noqa: ARG002 (as LangChain calls it)
    ) -> list[LangChainDocument]:
        documents = list(documents)  # an iterator can be read only once
        column = phrase_column((document.page_content for document in documents), self.settings)
        return [
            document.model_copy(update={"metadata": {**document.metadata, self.metadata_key: phrases}})
            for document, phrases in zip(documents, column, strict=True)
        ]
