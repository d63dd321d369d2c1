"""The backend for the real KeyLLM. Run by `make test-integrations`."""

from typing import Any

import pytest

from mudy import Extractor
from tests.integrations.texts import PARAGRAPHS

pytestmark = [pytest.mark.heavy_package, pytest.mark.filterwarnings("ignore")]


def backend(**settings: Any) -> Any:
    from mudy.integrations.keyllm import KeyphraseLLM

    return KeyphraseLLM("yake", top_n=3, **settings)


def test_keyllm_gives_the_keyphrases_of_each_text_and_all_stand_in_it() -> None:
    from keybert import KeyLLM

    wanted = [[k.text for k in result] for result in Extractor("yake").extract_many(PARAGRAPHS, top_n=3)]
    assert KeyLLM(backend()).extract_keywords(PARAGRAPHS) == wanted
    assert KeyLLM(backend()).extract_keywords(PARAGRAPHS, check_vocab=True) == wanted


def test_candidates_of_keyllm_are_ranked() -> None:
    from keybert import KeyLLM

    candidates = [["river", "concrete walls"], ["submarine"]]
    lists = KeyLLM(backend()).extract_keywords(PARAGRAPHS[:2], candidate_keywords=candidates)
    assert set(lists[0]) <= {"river", "concrete walls"}
    assert lists[1] == []


def test_a_backend_is_one_of_keyberts_and_can_be_shown() -> None:
    from keybert.llm import BaseLLM

    assert isinstance(backend(), BaseLLM)
    assert "yake" in repr(backend())


def test_the_front_takes_the_same_arguments_as_keybert() -> None:
    from inspect import signature

    from keybert import KeyBERT

    from mudy.integrations.keybert import KeyBERT as Front

    original, front = (signature(kind.extract_keywords).parameters for kind in (KeyBERT, Front))
    assert list(front) == list(original)
    changed = {name for name in original if front[name].default != original[name].default}
    assert changed == {"keyphrase_ngram_range"}


def test_the_real_keybert_ranks_the_columns_of_the_vectorizer() -> None:
    from keybert import KeyBERT
    from keybert.backend import BaseEmbedder
    from numpy.random import default_rng

    from mudy.integrations.sklearn import KeyphraseVectorizer

    class RandomEmbedder(BaseEmbedder):  # type: ignore[misc]
        def embed(self, documents: Any, verbose: bool = False) -> Any:  # noqa: ARG002
            return default_rng(0).normal(size=(len(documents), 8))

    pairs = KeyBERT(RandomEmbedder()).extract_keywords(PARAGRAPHS[0], vectorizer=KeyphraseVectorizer("yake"))
    phrases = {k.text.lower() for k in Extractor("yake").extract(PARAGRAPHS[0])}
    assert {phrase for phrase, _ in pairs} <= phrases
