"""The tool that `llm -T extract_keyphrases` gives to a chat model, called by hand."""

from pathlib import Path

import llm

text = Path(__file__).parents[1].joinpath("floodplain.txt").read_text(encoding="utf-8")
tool = llm.get_tools()["extract_keyphrases"]
print([keyphrase["text"] for keyphrase in tool.implementation(text, top_n=5)])
