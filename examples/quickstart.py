"""The keyphrases of a text, with where they stand and why."""

from pathlib import Path

from mudy import Extractor

text = Path(__file__).with_name("floodplain.txt").read_text()
result = Extractor().extract(text, top_n=5)

for keyphrase in result.keyphrases:
    best = keyphrase.occurrences[0]
    print(keyphrase.rank, repr(text[best.start : best.end]), round(keyphrase.score, 3), dict(best.parts))
