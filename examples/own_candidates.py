"""Rank your own phrases, in any casing; those that do not stand in the text are named."""

from pathlib import Path

from mudy import Extractor

text = Path(__file__).with_name("floodplain.txt").read_text()
result = Extractor(model="smollm2-135m").extract(text, candidates=["Beaver Dams", "home insurance", "submarine"])

print(result.as_tuples())
print("not in the text:", result.not_found)
