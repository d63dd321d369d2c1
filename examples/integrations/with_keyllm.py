"""KeyLLM with keyphrases in the place of a chat model."""

from pathlib import Path

from keybert import KeyLLM

from mudy.integrations.keyllm import KeyphraseLLM

text = Path(__file__).parents[1].joinpath("floodplain.txt").read_text(encoding="utf-8")
print(KeyLLM(KeyphraseLLM(speed="quick")).extract_keywords(text))
