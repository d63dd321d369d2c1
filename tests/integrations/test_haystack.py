"""The component for the real Haystack. Run by `make test-integrations`."""

from typing import Any

import pytest

from mudy import Extractor, SettingError
from mudy.integrations.extraction import plain_settings, shared_extractor
from tests.integrations.texts import PARAGRAPHS

pytestmark = [pytest.mark.heavy_package, pytest.mark.filterwarnings("ignore")]


def annotator(**settings: Any) -> Any:
    from mudy.integrations.haystack import KeyphraseAnnotator

    return KeyphraseAnnotator(**{"method": "yake", "top_n": 3, **settings})


def test_documents_come_out_with_keyphrases_in_their_meta_data() -> None:
    from haystack import Document, Pipeline

    documents = [Document(content=text, meta={"page": page}) for page, text in enumerate(PARAGRAPHS)]
    pipeline = Pipeline()
    pipeline.add_component("keyphrases", annotator())
    changed = pipeline.run({"keyphrases": {"documents": documents}})["keyphrases"]["documents"]
    wanted = [[k.text for k in result] for result in Extractor("yake").extract_many(PARAGRAPHS, top_n=3)]
    assert [document.meta["keyphrases"] for document in changed] == wanted
    assert [document.meta["page"] for document in changed] == list(range(len(PARAGRAPHS)))
    assert [document.id for document in changed] == [document.id for document in documents]
    assert all("keyphrases" not in document.meta for document in documents)


def test_an_iterator_gives_what_a_list_gives() -> None:
    from haystack import Document

    documents = [Document(content=text) for text in PARAGRAPHS]
    assert annotator().run(iter(documents)) == annotator().run(documents)


def test_a_document_without_text_stays_as_it_is() -> None:
    from haystack import Document

    picture = Document(content=None, meta={"file": "a.png"})
    assert annotator().run([picture, Document(content=PARAGRAPHS[0])])["documents"][0] == picture


def test_a_pipeline_is_written_and_loaded_again() -> None:
    from haystack import Pipeline

    pipeline = Pipeline()
    pipeline.add_component("keyphrases", annotator(settings={"window": 2}))
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["mudy.integrations.haystack"])
    assert loaded.to_dict() == pipeline.to_dict()


def test_warming_up_twice_loads_what_the_first_document_needs() -> None:
    made = annotator(settings={"window": 7})
    made.warm_up()
    made.warm_up()
    assert "tagger" in shared_extractor(plain_settings(made)).extractor.loaded


def test_wrong_settings_raise_at_once() -> None:
    with pytest.raises(SettingError, match="Did you mean 'yake'"):
        annotator(method="yakke")
