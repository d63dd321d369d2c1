"""The document transformer, with the real LangChain."""

import asyncio

import pytest
from langchain_core.documents import Document

from mudy import Extractor, SettingError
from mudy.integrations.langchain import KeyphraseTransformer
from tests.integrations.texts import PARAGRAPHS

DOCUMENTS = [Document(page_content=text, metadata={"page": page}, id=str(page)) for page, text in enumerate(PARAGRAPHS)]


def test_metadata_list_the_keyphrases_and_keep_what_they_had() -> None:
    changed = KeyphraseTransformer("yake", top_n=3).transform_documents(DOCUMENTS)
    results = Extractor("yake").extract_many(PARAGRAPHS, top_n=3)
    for document, original, result in zip(changed, DOCUMENTS, results, strict=True):
        assert document.metadata == {**original.metadata, "keywords": [keyphrase.text for keyphrase in result]}
        assert (document.page_content, document.id) == (original.page_content, original.id)


def test_an_iterator_gives_what_a_list_gives() -> None:
    transformer = KeyphraseTransformer("yake")
    assert transformer.transform_documents(iter(DOCUMENTS)) == transformer.transform_documents(DOCUMENTS)


def test_the_documents_given_stay_as_they_were() -> None:
    before = [document.model_copy(deep=True) for document in DOCUMENTS]
    KeyphraseTransformer("yake").transform_documents(DOCUMENTS)
    assert before == DOCUMENTS


def test_the_key_can_be_chosen() -> None:
    (changed,) = KeyphraseTransformer("yake", metadata_key="tags").transform_documents(DOCUMENTS[:1])
    assert changed.metadata["tags"]


def test_the_inherited_asynchronous_call_gives_the_same() -> None:
    transformer = KeyphraseTransformer("yake")
    assert asyncio.run(transformer.atransform_documents(DOCUMENTS)) == transformer.transform_documents(DOCUMENTS)


def test_no_documents_give_none() -> None:
    assert KeyphraseTransformer("yake").transform_documents([]) == []


def test_wrong_settings_raise_at_once() -> None:
    with pytest.raises(SettingError, match="Did you mean"):
        KeyphraseTransformer("yake", windo=2)
