"""Topics of BERTopic, named by the keyphrases of their texts. The topics are given here, to need no embeddings."""

import json
from pathlib import Path

import numpy as np
from bertopic import BERTopic
from bertopic.backend import BaseEmbedder
from bertopic.cluster import BaseCluster
from bertopic.dimensionality import BaseDimensionalityReduction

from mudy.integrations.bertopic import KeyphraseRepresentation

lines = Path(__file__).parents[1].joinpath("abstracts.jsonl").read_text(encoding="utf-8").splitlines()
texts = [json.loads(line)["text"] for line in lines]
manual = {
    "embedding_model": BaseEmbedder(),
    "umap_model": BaseDimensionalityReduction(),
    "hdbscan_model": BaseCluster(),
}
model = BERTopic(representation_model=KeyphraseRepresentation(speed="quick"), **manual)
model.fit(texts, embeddings=np.zeros((len(texts), 2)), y=list(range(len(texts))))
print([phrase for phrase, weight in model.get_topic(0)][:5])
