"""A BERTopic representation: topics named by the keyphrases of their most representative texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mudy.extraction.options import DEFAULT_METHOD
from mudy.extraction.ranking import variant_key
from mudy.extraction.results import Result
from mudy.integrations import from_extra
from mudy.integrations.extraction import results_of

with from_extra("bertopic"):
    from bertopic.representation import BaseRepresentation

if TYPE_CHECKING:
    from bertopic import BERTopic
    from pandas import DataFrame
    from scipy.sparse import csr_matrix

SAMPLED = 500  # texts of a topic among which the representative ones are looked for, as BERTopic does
PHRASES_PER_TEXT = 20
Topics = Mapping[int, Sequence[tuple[str, float]]]


class KeyphraseRepresentation(BaseRepresentation):  # type: ignore[misc]  # BERTopic has no types
    """Phrases for each topic: those that lead the keyphrases of its most representative texts.

    A phrase's weight is the mean of 1 / rank over these texts, between 0 and 1, whatever the method's scores are.
    `settings` are further ones of `Extractor` and `extract`.
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        speed: str | None = None,
        top_n_words: int = 10,
        nr_repr_docs: int = 5,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.speed = speed
        self.top_n_words = top_n_words
        self.nr_repr_docs = nr_repr_docs
        self.settings = settings

    def extract_topics(
        self, topic_model: BERTopic, documents: DataFrame, c_tf_idf: csr_matrix, topics: Topics
    ) -> dict[int, list[tuple[str, float]]]:
        texts, *_ = topic_model._extract_representative_docs(c_tf_idf, documents, topics, SAMPLED, self.nr_repr_docs)
        settings = {"method": self.method, "speed": self.speed, "top_n": PHRASES_PER_TEXT, **(self.settings or {})}
        results = results_of((text for topic in topics for text in texts[topic]), settings)
        return {topic: weighted_phrases([next(results) for _ in texts[topic]])[: self.top_n_words] for topic in topics}


def weighted_phrases(results: Sequence[Result]) -> list[tuple[str, float]]:
    """The phrases of several texts as one ranking; each in the form that its best rank shows."""
    weights: dict[tuple[str, ...], float] = {}
    forms: dict[tuple[str, ...], str] = {}
    found = [(keyphrase, result.language or "en") for result in results for keyphrase in result]
    for keyphrase, language in sorted(found, key=lambda pair: pair[0].rank):
        key = variant_key(keyphrase.text, language)
        forms.setdefault(key, keyphrase.text)
        weights[key] = weights.get(key, 0.0) + 1 / keyphrase.rank / len(results)
    return sorted(((forms[key], weight) for key, weight in weights.items()), key=lambda pair: -pair[1])
