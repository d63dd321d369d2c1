"""KeyBERT's calls, answered by MUDY: only the import changes."""

from pathlib import Path

from mudy.integrations.keybert import KeyBERT

text = Path(__file__).parents[1].joinpath("floodplain.txt").read_text(encoding="utf-8")

kw_model = KeyBERT(speed="quick")
print(kw_model.extract_keywords(text))
print(kw_model.extract_keywords(text, keyphrase_ngram_range=(2, 3), use_mmr=True, diversity=0.7))
