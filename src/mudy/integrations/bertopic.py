"""A BERTopic representation: topics named by the keyphrases of their most representative texts."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from mudy._support.extras import from_extra
from mudy.extraction.options import DEFAULT_METHOD
from mudy.extraction.ranking import variant_key
from mudy.extraction.results import Result
from mudy.integrations.extraction import results_of

with from_extra("bertopic"):
    from bertopic import BERTopic
    from bertopic.representation import BaseRepresentation
    from pandas import DataFrame
    from scipy.sparse import csr_matrix

SAMPLED = 500  # texts of a topic from which the representative ones are chosen, as BERTopic does
PHRASES_PER_TEXT = 20
Topics = Mapping[int, Sequence[tuple[str, float]]]


@dataclass(eq=False, repr=False)
class KeyphraseRepresentation(BaseRepresentation):  # type: ignore[misc]  # BERTopic has no types
    """Represents each topic by the top keyphrases of its most representative texts.

    A phrase's weight is the mean of 1 / rank over these texts, between 0 and 1, whatever the method's scores are.
    `settings` are further settings of `Extractor` and `extract`.
    """

    method: str = DEFAULT_METHOD
    _: KW_ONLY
    speed: str | None = None
    top_n_words: int = 10
    nr_repr_docs: int = 5
    settings: Mapping[str, Any] | None = None

    def extract_topics(
        self, topic_model: BERTopic, documents: DataFrame, c_tf_idf: csr_matrix, topics: Topics
    ) -> dict[int, list[tuple[str, float]]]:
        texts, *_ = topic_model._extract_representative_docs(c_tf_idf, documents, topics, SAMPLED, self.nr_repr_docs)
        settings = {"method": self.method, "speed": self.speed, "top_n": PHRASES_PER_TEXT, **(self.settings or {})}
        results = results_of((text for topic in topics for text in texts[topic]), settings)
        return {topic: weighted_phrases([next(results) for _ in texts[topic]])[: self.top_n_words] for topic in topics}


def weighted_phrases(results: Sequence[Result]) -> list[tuple[str, float]]:
    """One ranking of the phrases of several texts; each phrase in the form of its best rank."""
    weights: dict[tuple[str, ...], float] = {}
    forms: dict[tuple[str, ...], str] = {}
    keyphrases = [(keyphrase, result.language or "en") for result in results for keyphrase in result]
    for keyphrase, language in sorted(keyphrases, key=lambda pair: pair[0].rank):
        key = variant_key(keyphrase.text, language)
        forms.setdefault(key, keyphrase.text)
        weights[key] = weights.get(key, 0.0) + 1 / keyphrase.rank / len(results)
    return sorted(((forms[key], weight) for key, weight in weights.items()), key=lambda pair: -pair[1])
