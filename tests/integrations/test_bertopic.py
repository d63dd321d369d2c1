"""Topics of the real BERTopic: its representation and its vectorizer. Run by `make test-integrations`."""

from typing import Any

import numpy as np
import pytest

from mudy import Extractor

pytestmark = [pytest.mark.heavy_package, pytest.mark.filterwarnings("ignore")]

SUBJECTS = [
    "river dam", "spring flood", "flood wall", "water gauge", "rain storm", "lake shore", "canal lock", "tidal gate",
]  # fmt: skip
FOODS = [
    "apple cake", "rye bread", "butter dough", "cherry pie", "oat biscuit", "honey tart", "plum jam", "nut cream",
]  # fmt: skip
TEXTS = [f"The {noun} of our town is old. Everybody knows the {noun}." for noun in SUBJECTS] + [
    f"The baker sells {noun}. Children like {noun} with milk." for noun in FOODS
]
TOPICS = [0] * len(SUBJECTS) + [1] * len(FOODS)


def fitted(**options: Any) -> Any:
    """A model whose topics are known beforehand: BERTopic calls this manual topic modelling."""
    from bertopic import BERTopic
    from bertopic.backend import BaseEmbedder
    from bertopic.cluster import BaseCluster
    from bertopic.dimensionality import BaseDimensionalityReduction

    model = BERTopic(
        embedding_model=BaseEmbedder(),
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=BaseCluster(),
        calculate_probabilities=False,
        **options,
    )
    return model.fit(TEXTS, embeddings=np.zeros((len(TEXTS), 2)), y=TOPICS)


def test_topics_are_named_by_keyphrases_of_their_own_texts() -> None:
    from mudy.integrations.bertopic import KeyphraseRepresentation

    model = fitted(representation_model=KeyphraseRepresentation("yake", top_n_words=5))
    for topic, nouns in ((0, SUBJECTS), (1, FOODS)):
        pairs = model.get_topic(topic)
        assert 1 <= len(pairs) <= 5
        own = " ".join(text for text, label in zip(TEXTS, TOPICS, strict=True) if label == topic)
        assert all(phrase in own and 0 < weight <= 1 for phrase, weight in pairs)
        assert [weight for _, weight in pairs] == sorted((weight for _, weight in pairs), reverse=True)
        assert any(phrase in nouns for phrase, _ in pairs)


def test_a_weight_is_the_mean_of_reciprocal_ranks() -> None:
    from mudy.integrations.bertopic import weighted_phrases

    results = list(Extractor("yake").extract_many(["River dams hold. Water flows.", "Water flows."], top_n=2))
    ranks = [{k.text: k.rank for k in result} for result in results]
    wanted = (1 / ranks[0]["Water"] + 1 / ranks[1]["Water"]) / 2
    assert dict(weighted_phrases(results))["Water"] == pytest.approx(wanted)


def test_a_representation_can_be_cloned_and_shown() -> None:
    from sklearn.base import clone

    from mudy.integrations.bertopic import KeyphraseRepresentation

    made = KeyphraseRepresentation("yake", nr_repr_docs=3)
    assert clone(made).get_params() == made.get_params()
    assert "yake" in repr(made)


def test_the_vectorizer_gives_topics_of_whole_phrases() -> None:
    from mudy.integrations.sklearn import KeyphraseVectorizer

    model = fitted(vectorizer_model=KeyphraseVectorizer("yake", top_n=None))
    assert any(phrase in FOODS for phrase, _ in model.get_topic(1))
    assert {phrase for phrase, _ in model.get_topic(0)}.isdisjoint(FOODS)
