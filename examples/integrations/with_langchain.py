"""Keyphrases in the metadata of LangChain's documents."""

from pathlib import Path

from langchain_core.documents import Document

from mudy.integrations.langchain import KeyphraseTransformer

text = Path(__file__).parents[1].joinpath("floodplain.txt").read_text(encoding="utf-8")
(document,) = KeyphraseTransformer(speed="quick", top_n=5).transform_documents([Document(page_content=text)])
print(document.metadata["keywords"])
