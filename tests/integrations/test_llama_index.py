"""The extractor for the real LlamaIndex. Run by `make test-integrations`."""

from typing import Any

import pytest

from mudy import Extractor
from tests.integrations.texts import PARAGRAPHS

pytestmark = [pytest.mark.heavy_package, pytest.mark.filterwarnings("ignore")]


def extractor(**fields: Any) -> Any:
    from mudy.integrations.llama_index import KeyphraseExtractor

    return KeyphraseExtractor(**{"method": "yake", "top_n": 3, **fields})


def nodes() -> list[Any]:
    from llama_index.core.schema import TextNode

    return [TextNode(text=text, metadata={"file": "a.txt"}) for text in PARAGRAPHS]


def test_nodes_get_their_keyphrases_where_keyword_extractor_puts_them() -> None:
    wanted = [", ".join(k.text for k in r) for r in Extractor("yake").extract_many(PARAGRAPHS, top_n=3)]
    changed = extractor()(nodes())
    assert [node.metadata for node in changed] == [{"file": "a.txt", "excerpt_keywords": text} for text in wanted]


def test_it_works_in_an_ingestion_pipeline_whose_cache_sees_its_settings() -> None:
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.ingestion.pipeline import get_transformation_hash

    pipeline = IngestionPipeline(transformations=[extractor()])
    assert all(node.metadata["excerpt_keywords"] for node in pipeline.run(nodes=nodes()))
    same, other = extractor(), extractor(settings={"window": 2})
    assert get_transformation_hash(nodes(), same) != get_transformation_hash(nodes(), other)


def test_documents_count_as_nodes_and_those_without_text_get_nothing() -> None:
    from llama_index.core.schema import Document, Node

    nothing, metadata = extractor().extract([Node(), Document(text=PARAGRAPHS[0])])
    assert nothing == {}
    assert metadata["excerpt_keywords"]


def test_it_is_made_again_from_its_dictionary() -> None:
    made = extractor(settings={"window": 2})
    copy = type(made).from_dict(made.to_dict())
    assert copy.to_dict() == made.to_dict()
    assert made.class_name() == "KeyphraseExtractor"


def test_wrong_settings_raise_at_once() -> None:
    with pytest.raises(ValueError, match="Did you mean 'yake'"):  # pydantic's, with the words of ours
        extractor(method="yakke")
