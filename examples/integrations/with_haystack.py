"""Keyphrases in the meta data of Haystack's documents."""

from pathlib import Path

from haystack import Document, Pipeline

from mudy.integrations.haystack import KeyphraseAnnotator

text = Path(__file__).parents[1].joinpath("floodplain.txt").read_text(encoding="utf-8")
pipeline = Pipeline()
pipeline.add_component("keyphrases", KeyphraseAnnotator(speed="quick", top_n=5))
results = pipeline.run({"keyphrases": {"documents": [Document(content=text)]}})
print(results["keyphrases"]["documents"][0].meta["keyphrases"])
