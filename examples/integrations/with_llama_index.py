"""Keyphrases in the metadata of LlamaIndex's nodes, without a chat model."""

from pathlib import Path

from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline

from mudy.integrations.llama_index import KeyphraseExtractor

text = Path(__file__).parents[1].joinpath("floodplain.txt").read_text(encoding="utf-8")
(node,) = IngestionPipeline(transformations=[KeyphraseExtractor(speed="quick")]).run(documents=[Document(text=text)])
print(node.metadata["excerpt_keywords"])
